// The hosts files of several pods on a real disk, while pods come, go and move.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DesiredService } from "../../../src/api/v1/object/service.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { HostsFiles } from "../../../src/runtime/names/hosts-files.ts";
import type { AddressedPod } from "../../../src/runtime/names/named-pods.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

let directory: string;
let clock: VirtualClock;
let hosts: HostsFiles;
let pods: AddressedPod[] | undefined;
let services: DesiredService[];
let logged: string[];
let writes: number;
/** There is no space for this file. */
let fullFor: string;

const addressed = (name: string, ip: string, spec: Partial<Pod["spec"]> = {}): AddressedPod => {
  const pod = aPod(spec);
  const desired = aDesiredPod({
    ...pod,
    metadata: { ...pod.metadata, name, uid: `uid-${name}-${ip}` },
  });
  return { desired, ips: ip === "" ? [] : [ip], isReady: true, isNamed: true };
};
const pathOf = ({ desired }: AddressedPod): string => join(directory, desired.uid, "etc-hosts");
const textOf = (one: AddressedPod): string => readFileSync(pathOf(one), "utf8");
/** The address of a name, as a resolver reads it. */
function lookUp(reader: AddressedPod, name: string): string | undefined {
  const lines = textOf(reader)
    .split("\n")
    .map((line) => line.split("\t"));
  return lines.find(([, ...names]) => names.includes(name))?.[0];
}
function start(one: AddressedPod): void {
  hosts.write(one.desired, one.ips);
}

beforeEach(() => {
  directory = mkdtempSync("/tmp/agent-hosts-");
  clock = new VirtualClock();
  logged = [];
  pods = [];
  services = [];
  writes = 0;
  fullFor = "";
  const real = realFiles();
  const files = {
    ...real,
    writeInPlace: (...args: Parameters<typeof real.writeInPlace>) => {
      writes += 1;
      if (args[0] === fullFor) throw new Error("no space left on device");
      real.writeInPlace(...args);
    },
  };
  hosts = new HostsFiles({
    files,
    clock,
    log: createLogger({ clock, level: "warn", write: (line) => void logged.push(line) }),
    path: ({ uid }) => join(directory, uid, "etc-hosts"),
    helper: { clusterDomain: "", nodeHosts: () => "127.0.0.1\tlocalhost\n127.0.1.1\tpi\n" },
    pods: () => pods,
    services: () => services,
  });
});
afterEach(() => {
  hosts[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

describe("the names in a hosts file", () => {
  test("are there when a container starts, and follow what comes later", async () => {
    const [web, db] = [addressed("web", "10.0.0.1"), addressed("db", "10.0.0.2")];
    pods = [web];
    start(web);
    expect(lookUp(web, "web")).toBe("10.0.0.1");
    pods = [web, db];
    start(db);
    expect(lookUp(db, "web")).toBe("10.0.0.1");
    expect(lookUp(web, "db")).toBeUndefined();
    await clock.advance(1000);
    expect(lookUp(web, "db")).toBe("10.0.0.2");
  });

  test("change in the file that running containers have mounted", async () => {
    const [web, db, moved] = [
      addressed("web", "10.0.0.1"),
      addressed("db", "10.0.0.2"),
      addressed("db", "10.0.0.7"),
    ];
    pods = [web, db];
    start(web);
    const { ino } = statSync(pathOf(web));
    expect(lookUp(web, "db")).toBe("10.0.0.2");
    pods = [web];
    hosts.changed();
    await clock.advance(1000);
    expect(lookUp(web, "db")).toBeUndefined();
    pods = [web, moved];
    hosts.changed();
    await clock.advance(1000);
    expect(lookUp(web, "db")).toBe("10.0.0.7");
    expect(statSync(pathOf(web)).ino).toBe(ino);
  });

  test("do not depend on what the runtime shows late of a pod that has just started", async () => {
    const [web, db] = [addressed("web", "10.0.0.1"), addressed("db", "")];
    pods = [web, db];
    start(web);
    hosts.write(db.desired, ["10.0.0.2"]);
    await clock.advance(1000);
    expect(lookUp(web, "db")).toBe("10.0.0.2");
    expect(lookUp(db, "db")).toBe("10.0.0.2");
  });

  test("leave alone the pod's own names, its hostAliases, and names of the node", async () => {
    const web = addressed("web", "10.0.0.1", {
      hostname: "db",
      hostAliases: [{ ip: "192.0.2.7", hostnames: ["cache"] }],
    });
    const onHost = addressed("host", "192.0.2.1", { hostNetwork: true });
    pods = [web, onHost, ...["db", "cache", "pi"].map((name, n) => addressed(name, `10.0.1.${n}`))];
    for (const one of pods) start(one);
    await clock.advance(1000);
    expect(lookUp(web, "db")).toBe("10.0.0.1");
    expect(lookUp(web, "cache")).toBe("192.0.2.7");
    expect(lookUp(web, "pi")).toBe("10.0.1.2");
    expect(lookUp(onHost, "pi")).toBe("127.0.1.1");
    expect(lookUp(onHost, "web")).toBe("10.0.0.1");
    expect(lookUp(web, "host")).toBe("192.0.2.1");
  });
});

test("the name of a Service follows its pods, and its own coming and going", async () => {
  const [web, db] = [addressed("web", "10.0.0.1"), addressed("db", "10.0.0.2")];
  const labels = { app: "db" };
  const { pod } = db.desired;
  const labelled = aDesiredPod({ ...pod, metadata: { ...pod.metadata, labels } });
  const ready = { ...db, desired: labelled };
  const settle = async (): Promise<string | undefined> => {
    hosts.changed();
    await clock.advance(1000);
    return lookUp(web, "data");
  };
  pods = [web, { ...ready, isReady: false }];
  services = [
    {
      kind: "Service",
      namespace: "default",
      name: "data",
      selector: labels,
      publishesNotReady: false,
      source: "file",
      sourceRef: "a.yaml#0",
    },
  ];
  start(web);
  expect(await settle()).toBeUndefined();
  pods = [web, ready];
  expect(await settle()).toBe("10.0.0.2");
  expect(lookUp(web, "data.default.svc")).toBe("10.0.0.2");
  writes = 0;
  expect(await settle()).toBe("10.0.0.2");
  expect(writes).toBe(0);
  services = [];
  expect(await settle()).toBeUndefined();
});

test("nothing is written while no name changes, also by an agent that has just started", async () => {
  const all = [1, 2, 3].map((n) => addressed(`web-${n}`, `10.0.0.${n}`));
  pods = all;
  for (const one of all) start(one);
  await clock.advance(1000);
  writes = 0;
  for (let n = 0; n < 10; n += 1) {
    hosts.changed();
    await clock.advance(1000);
  }
  pods = all.map((one) => ({ ...one, isReady: false }));
  hosts.changed();
  await clock.advance(1000);
  expect(writes).toBe(0);
});

test("of fifty pods a replaced one is found in all files within a second, at one write for each file", async () => {
  const fifty = Array.from({ length: 50 }, (_, n) => addressed(`web-${n}`, `10.0.0.${n}`));
  pods = [];
  // Four start in the time in which changes are gathered.
  for (const one of fifty) {
    pods = [...pods, one];
    start(one);
    await clock.advance(62);
  }
  await clock.advance(1000);
  for (const one of fifty) expect(lookUp(one, "web-49")).toBe("10.0.0.49");
  // A file is written once for each such time in which it exists, 25 at most.
  expect(writes).toBeLessThan((fifty.length * (fifty.length / 4 + 1)) / 2 + fifty.length);
  writes = 0;
  const moved = addressed("web-49", "10.0.1.49");
  const others = fifty.slice(0, 49);
  pods = [...others, { ...moved, ips: [] }];
  hosts.changed();
  start(moved);
  await clock.advance(1000);
  for (const one of others) expect(lookUp(one, "web-49")).toBe("10.0.1.49");
  expect(writes).toBe(others.length);
});

test("before every pod is known, no name is taken away", async () => {
  const [web, db] = [addressed("web", "10.0.0.1"), addressed("db", "10.0.0.2")];
  pods = [web, db];
  start(web);
  pods = undefined;
  hosts.changed();
  await clock.advance(1000);
  expect(lookUp(web, "db")).toBe("10.0.0.2");
});

test("a pod that has no hosts file gets none before a container needs it", async () => {
  pods = [addressed("web", "10.0.0.1"), addressed("db", "10.0.0.2")];
  hosts.changed();
  await clock.advance(1000);
  expect(realFiles().list(directory)).toEqual([]);
});

test("a file that cannot be written is reported, and written later; the others are written", async () => {
  const [web, db, api] = ["web", "db", "api"].map((name, n) => addressed(name, `10.0.0.${n}`));
  if (web === undefined || db === undefined || api === undefined) throw new Error("three");
  pods = [web, db];
  start(web);
  start(db);
  fullFor = pathOf(web);
  pods = [web, db, api];
  hosts.changed();
  await clock.advance(1000);
  expect(lookUp(db, "api")).toBe("10.0.0.2");
  expect(lookUp(web, "api")).toBeUndefined();
  expect(logged.join()).toContain("default/web");
  fullFor = "";
  await clock.advance(60_000);
  expect(lookUp(web, "api")).toBe("10.0.0.2");
  expect(logged).toHaveLength(1);
});

test("no link is written through", async () => {
  const web = addressed("web", "10.0.0.1");
  const target = join(directory, "node-file");
  pods = [web];
  start(web);
  rmSync(pathOf(web));
  writeFileSync(target, "precious");
  symlinkSync(target, pathOf(web));
  pods = [web, addressed("db", "10.0.0.2")];
  hosts.changed();
  await clock.advance(1000);
  start(web);
  expect(readFileSync(target, "utf8")).toBe("precious");
  expect(lookUp(web, "db")).toBe("10.0.0.2");
});
