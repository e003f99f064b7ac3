import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, lchownSync, renameSync, symlinkSync } from "node:fs";
import { anAck, containing, FleetStage } from "./fleet-stage.ts";

let stage: FleetStage;

beforeEach(() => {
  stage = new FleetStage();
});

afterEach(() => stage[Symbol.dispose]());

const SAYS_WILDCARD = "no nodes are named, so the broker is asked for all there are";
const aPodLine = (fields: Readonly<Record<string, unknown>> = {}): object => ({
  namespace: "default",
  name: "web",
  uid: "u1",
  source: "node",
  specHash: "0123456789abcdef",
  phase: "Running",
  ready: "1/1",
  restarts: 2,
  since: "2026-11-21T07:00:00Z",
  ...fields,
});

describe("get nodes", () => {
  test("shows who is there, whatever else lies on the broker", async () => {
    stage.state("pi-1");
    stage.report("pi-1", { pods: [aPodLine()] });
    stage.state("pi-2", "lost");
    stage.broker.publish("agent/v1/node/pi-3/reported", "rubbish");
    const { code, stdout, stderr } = await stage.fleet("get nodes");
    expect(stdout).toBe(
      [
        "NAME   STATE     READY     AGENT    PODS     REPORTED",
        "pi-1   online    Ready     1.2.3    1        60s ago",
        "pi-2   lost      Unknown   1.2.3    <none>   never",
        "pi-3   unknown   Unknown   <none>   <none>   never",
        "",
      ].join("\n"),
    );
    expect(stderr).toContain(SAYS_WILDCARD);
    expect(code).toBe(0);
  });

  test("has more columns with -o wide, and everything as it was said with -o json", async () => {
    stage.report("pi-1");
    const wide = await stage.fleet("get nodes -o wide");
    expect(wide.stdout).toContain("192.0.2.7   Debian 12");
    const json = await stage.fleet("get nodes -o json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      nodes: [{ name: "pi-1", state: null, reported: { kind: "ReportedState", seq: 1 } }],
    });
  });

  test("escapes what would command the terminal", async () => {
    const evil = "\u001B]0;owned\u0007";
    stage.broker.publish("agent/v1/node/pi-1/state", { state: evil, session: 1, agent: evil });
    stage.report("pi-1", { pods: [aPodLine({ reason: evil, namespace: evil })] });
    for (const verb of [
      "get nodes",
      "get nodes -o yaml",
      "get pods",
      "get pods -o json",
      "status",
    ]) {
      const { stdout } = await stage.fleet(verb);
      expect(stdout).not.toContain("\u001B");
      expect(stdout).toContain("owned");
    }
  });
});

test("with named nodes only their topics are asked for, and those that are silent are shown", async () => {
  using exact = new FleetStage({ wildcards: false });
  exact.state("pi-1");
  const file = exact.file("fleet.yaml", "mqtt: {url: mqtt://broker.test}\nnodes: [pi-1, pi-2]\n");
  const { stdout, stderr } = await exact.run(["get", "nodes", "--nodes", file]);
  expect(stdout).toMatch(/^pi-1 +online/m);
  expect(stdout).toMatch(/^pi-2 +unknown/m);
  expect(stderr).toBe("");
  expect(exact.broker.subscribes.flat().filter((filter) => filter.includes("+"))).toEqual([]);
});

test("get pods marks the pods of a node that is away", async () => {
  stage.state("pi-1");
  stage.report("pi-1", {
    pods: [aPodLine(), aPodLine({ name: "db", reason: "CrashLoopBackOff" })],
  });
  stage.state("pi-2", "lost");
  stage.report("pi-2", { pods: [aPodLine()] });
  const { stdout } = await stage.fleet("get pods");
  expect(stdout.split("\n").map((line) => line.split(/ {3,}/).join(" | "))).toEqual([
    "NODE | NAMESPACE | NAME | READY | STATUS | RESTARTS | AGE",
    "pi-1 | default | web | 1/1 | Running | 2 | 60m",
    "pi-1 | default | db | 1/1 | CrashLoopBackOff | 2 | 60m",
    "pi-2 | default | web | 1/1 | Running (node lost) | 2 | 60m",
    "",
  ]);
});

test("get pods -o json holds the whole status where it is retained", async () => {
  stage.report("pi-1", { pods: [aPodLine()] });
  stage.broker.publish("agent/v1/node/pi-1/reported/pod/default/web", {
    status: { podIP: "10.0.0.2" },
  });
  const { stdout } = await stage.fleet("get pods -o json");
  expect(JSON.parse(stdout)).toMatchObject({
    pods: [{ node: "pi-1", name: "web", status: { podIP: "10.0.0.2" } }],
  });
});

describe("get events", () => {
  const batch = (message: string): object => ({
    incarnation: "i1",
    session: 1,
    events: [
      {
        n: 1,
        time: "2026-11-21T08:00:00Z",
        type: "Warning",
        reason: "BackOff",
        object: { kind: "Pod", namespace: "default", name: "web" },
        message,
      },
    ],
  });

  test("shows them as they come until Ctrl-C", async () => {
    const tell = (message: string): void =>
      stage.broker.publish("agent/v1/node/pi-1/event", batch(message), false);
    const { code, stdout } = await stage.fleet("get events -w", {
      2000: () => tell("one"),
      40_000: () => tell("\u001B[2Jtwo"),
      41_000: () => stage.interrupt.abort(),
    });
    expect(stdout.split("\n").map((line) => line.split(/ {3,}/).join(" | "))).toEqual([
      "NODE | LAST SEEN | TYPE | REASON | OBJECT | MESSAGE",
      "pi-1 | 2s | Warning | BackOff | pod/web | one",
      "pi-1 | 40s | Warning | BackOff | pod/web | \\u001b[2Jtwo",
      "",
    ]);
    expect(code).toBe(0);
  });

  test("ends by itself without -w", async () => {
    const { code, stderr } = await stage.fleet("get events --timeout 5s");
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: containing("No events came; a broker keeps none, -w waits for them."),
    });
  });
});

test("status is one line on each node and a sum", async () => {
  stage.state("pi-1");
  const rejected = { digest: "d", code: 400, message: "bad", at: "", count: 1 };
  stage.report("pi-1", {
    desired: [
      anAck({ source: "static", generation: 0 }),
      anAck({ generation: 7, lastRejected: rejected }),
      anAck({
        source: "group/kiosks",
        generation: 3,
        phase: "Degraded",
        code: 424,
        message: "pod web",
      }),
    ],
  });
  stage.state("pi-2", "offline");
  stage.report("pi-2", { clockTrusted: false });
  stage.state("pi-3");
  stage.report("pi-3", { desired: [anAck({ phase: "Held", code: 423, message: "pod web" })] });
  const { stdout } = await stage.fleet("status");
  expect(stdout.split("\n").map((line) => line.split(/ {3,}/).join(" | "))).toEqual([
    "NODE | STATE | AGENT | CLOCK | REPORTED | DOCUMENTS",
    "pi-1 | online | 1.2.3 | trusted | 60s ago | static Healthy 200; node 7 Healthy 200 (refused 400: bad); group/kiosks 3 Degraded 424: pod web",
    "pi-2 | offline | 1.2.3 | untrusted | 60s ago | <none>",
    "pi-3 | online | 1.2.3 | trusted | 60s ago | node 1 Held 423: pod web",
    "3 nodes: 2 online, 1 away; 1 in trouble",
    "",
  ]);
});

describe("the broker", () => {
  test("that does not answer is named", async () => {
    stage.broker.faults.refuse = "unreachable";
    const { code, stderr } = await stage.fleet("status");
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        "Error: no connection to broker; check the address of the broker and the credentials\n",
    });
  });

  test("that is silent is given up", async () => {
    stage.broker.faults.refuse = "silent";
    expect(await stage.fleet("status")).toMatchObject({ code: 1 });
  });

  test("that speaks only 3.1.1 is understood", async () => {
    stage.broker.faults.versions = [4];
    stage.state("pi-1");
    expect((await stage.fleet("status")).stdout).toContain("1 node: 1 online");
  });

  test("that is never silent holds up nobody", async () => {
    stage.state("pi-1");
    const talk = (): void => {
      stage.state("pi-1");
      stage.clock.after(100, talk);
    };
    talk();
    const { code } = await stage.fleet("status");
    expect(code).toBe(0);
    expect(stage.clock.monotonic()).toBeLessThan(stage.began + 3_000);
  });

  test("on which somebody invents topics holds up nobody for long", async () => {
    let count = 0;
    const talk = (): void => {
      stage.state(`pi-${count++}`);
      stage.clock.after(100, talk);
    };
    talk();
    expect((await stage.fleet("status")).code).toBe(0);
    expect(stage.clock.monotonic()).toBeLessThan(stage.began + 12_000);
  });

  test("that answers nothing is told", async () => {
    stage.broker.faults.loseSubacks = true;
    const { code, stderr } = await stage.fleet("status");
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: containing("the broker has not answered a subscription within 30 s"),
    });
  });

  test("that hides a topic is told", async () => {
    stage.broker.faults.subackCodes.set("agent/v1/node/+/reported", 0x87);
    const { code, stderr } = await stage.fleet("status");
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: containing("refused the subscription to agent/v1/node/+/reported"),
    });
  });

  test("is met as a stranger who leaves nothing", async () => {
    await stage.fleet("status");
    const [connect] = [...stage.broker.connectOptions.values()];
    expect(connect).toMatchObject({ clean: true, sessionExpirySeconds: 0 });
    expect(connect?.clientId).toMatch(/^fleet-[0-9a-f]{16}$/);
    expect(connect?.will).toBeUndefined();
  });

  test("that nobody named is a mistake of usage", async () => {
    const { code, stderr } = await stage.run(["status"]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: containing("name it with --url"),
    });
  });

  test("is reached with what fleet.yaml says, files beside it", async () => {
    stage.file("pw", "sesame\n");
    const file = stage.file(
      "fleet.yaml",
      "mqtt: {url: mqtt://broker.test, username: op, passwordFile: pw, topicRoot: acme/x}\nnodes: [pi-1]\n",
    );
    await stage.run(["status", "--nodes", file]);
    expect([...stage.broker.connectOptions.values()]).toMatchObject([
      { username: "op", password: "sesame" },
    ]);
    expect(stage.broker.subscribes.flat()).toContain("acme/x/node/pi-1/state");
  });
});

describe("./fleet.yaml, which no flag names,", () => {
  const FILE = "mqtt: {url: mqtt://broker.test}\nnodes: [pi-1]\n";
  const before = process.cwd();
  afterEach(() => process.chdir(before));

  function inDirectory(): string {
    const path = stage.file("fleet.yaml", FILE);
    process.chdir(stage.directory);
    return path;
  }

  test("is named with its broker", async () => {
    const path = inDirectory();
    const { stdout, stderr } = await stage.run(["status"]);
    expect(stdout).toContain("pi-1");
    expect(stderr).toStartWith(`using ${path}: broker mqtt://broker.test\n`);
  });

  const changes: Readonly<Record<string, readonly [change: (path: string) => void, what: string]>> =
    {
      "of another user": [(path) => chownSync(path, 4242, 4242), "belongs to user 4242"],
      "that all users can write": [(path) => chmodSync(path, 0o666), "is writable by all users"],
      "that its group can write": [(path) => chmodSync(path, 0o664), "is writable by its group"],
      "that is another user's link": [
        (path) => {
          renameSync(path, `${path}.own`);
          symlinkSync(`${path}.own`, path);
          lchownSync(path, 4242, 4242);
        },
        "belongs to user 4242",
      ],
    };
  test.each(Object.entries(changes))("%s is refused", async (_case, [change, what]) => {
    const path = inDirectory();
    change(path);
    const { code, stderr } = await stage.run(["status"]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: containing(`${path} is not used: it ${what}`),
    });
    expect(stage.broker.connectOptions.size).toBe(0);
    const named = await stage.run(["status", "--nodes", "fleet.yaml"]);
    expect(named.stdout).toContain("pi-1");
    expect(named.stderr).not.toContain("using");
  });
});
