// Fifty pods that find each other by name, while one of them is replaced.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { getPods } from "./support-a-agent.ts";
import { JOURNAL_MOUNT } from "./support-a-pods.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;

const PODS = Array.from({ length: 50 }, (_, index) => `node-${index + 1}`);
const REPLACED = "node-50";
const WATCHER = "node-1";
/** The name of a Service, and the pod behind it. */
const SERVICE = "front";
const BEHIND = "node-2";
const NAMES = [...PODS, SERVICE];

/** The first line of ping names the address: PING node-1 (10.88.0.2): 56 data bytes. */
const LOOK_UP = `look() { ping -c1 -w1 "$1" 2>/dev/null | sed -n '1s/^PING [^(]*(\\([^)]*\\)).*/\\1/p'; }`;
/** `name address` of each, by few processes: fifty pods look at once. */
const LOOK_UP_ALL = `for n in ${NAMES.join(" ")}; do ping -c1 -w1 $n; done 2>/dev/null | sed -n 's/^PING \\([^ ]*\\) (\\([^)]*\\)).*/\\1 \\2/p'`;

/** Looks every name up once there is the file `go`; the watcher then follows one name. */
function manifest(name: string, tag: string): object {
  const seen = `${JOURNAL_MOUNT}/seen`;
  const follow = [
    `last=none`,
    `while :; do now=$(look ${REPLACED}); [ "$now" = "$last" ] || echo "$now" >>${seen}; last=$now; sleep 0.1; done`,
  ];
  const script = [
    LOOK_UP,
    `until [ -e ${JOURNAL_MOUNT}/go ]; do sleep 0.3; done`,
    `${LOOK_UP_ALL} >${JOURNAL_MOUNT}/${name}.part`,
    `mv ${JOURNAL_MOUNT}/${name}.part ${JOURNAL_MOUNT}/${name}.${tag}`,
    ...(name === WATCHER ? follow : []),
  ];
  const labels = name === BEHIND ? { app: SERVICE } : {};
  return stage.manifest({ name, tag, script, graceSeconds: 1, labels });
}

async function addresses(): Promise<ReadonlyMap<string, string>> {
  const pods = await getPods(agent);
  return new Map(pods.map(({ metadata, status }) => [metadata.name, status.podIP ?? ""]));
}

/** What a pod found, in the order of the names. */
function found(name: string, tag: string): readonly string[] | undefined {
  const path = join(stage.journals, `${name}.${tag}`);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : undefined;
}

/** Which file each pod has, and when it was written last. */
function writtenAt(): readonly string[] {
  const pods = join(agent.paths.state, "pods");
  return readdirSync(pods).map((uid) => {
    const { ino, mtimeMs } = statSync(join(pods, uid, "etc-hosts"));
    return `${uid} ${ino} ${mtimeMs}`;
  });
}

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent();
  agent.writeManifest("front.yaml", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: SERVICE },
    spec: { selector: { app: SERVICE }, ports: [{ port: 80 }] },
  });
  for (const name of PODS) agent.writeManifest(`${name}.yaml`, manifest(name, "a"));
  await agent.startReady();
}, 180_000);

afterAll(() => stage.close(), 180_000);

e2e(
  "every one of fifty pods finds every other one and a Service, and a replaced one under its new address",
  async () => {
    const known = await eventually(
      "fifty pods have an address",
      async () => {
        const all = await addresses();
        const hasAll = PODS.every((name) => (all.get(name) ?? "") !== "");
        return hasAll ? all : undefined;
      },
      { timeout: 120_000 },
    );
    expect(new Set(known.values()).size).toBe(PODS.length);
    await untilEachKnows(NAMES);

    writeFileSync(join(stage.journals, "go"), "");
    const front = `${SERVICE} ${known.get(BEHIND)}`;
    const expected = [...PODS.map((name) => `${name} ${known.get(name)}`), front];
    for (const name of PODS) {
      const lines = await eventually(`${name} has looked everything up`, () => found(name, "a"), {
        timeout: 150_000,
      });
      expect(lines).toEqual(expected);
    }

    const quiet = writtenAt();
    const old = known.get(REPLACED) ?? "";
    await eventually("the watcher has seen the first address", () => seen().at(-1) === old);
    expect(writtenAt()).toEqual(quiet);

    agent.writeManifest(`${REPLACED}.yaml`, manifest(REPLACED, "b"));
    const next = await eventually("the replaced pod has found all others", async () => {
      const address = (await addresses()).get(REPLACED);
      return found(REPLACED, "b") === undefined || address === old ? undefined : address;
    });
    await eventually("a running pod finds the new address", () => seen().at(-1) === next);
    expect(found(REPLACED, "b")).toEqual([
      ...PODS.map((name) => `${name} ${name === REPLACED ? next : known.get(name)}`),
      front,
    ]);
    // Never an address that was neither the old nor the new one.
    expect(seen().filter((one) => one !== "" && one !== old && one !== next)).toEqual([]);
  },
  300_000,
);

function seen(): readonly string[] {
  const path = join(stage.journals, "seen");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
}

/** The last pod to start becomes known to the first ones a moment after it runs. */
async function untilEachKnows(names: readonly string[]): Promise<void> {
  const pods = join(agent.paths.state, "pods");
  await eventually("each hosts file has each name", () =>
    readdirSync(pods).every((uid) => {
      const words = new Set(readFileSync(join(pods, uid, "etc-hosts"), "utf8").split(/\s+/));
      return names.every((name) => words.has(name));
    }),
  );
}
