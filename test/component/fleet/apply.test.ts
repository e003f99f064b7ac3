import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { anAck, containing, FleetStage, POD, SECRET } from "./fleet-stage.ts";

let stage: FleetStage;
let app: string;

beforeEach(() => {
  stage = new FleetStage();
  app = stage.file("app.yaml", POD);
});

afterEach(() => stage[Symbol.dispose]());

function digestOnBroker(node = "pi-1"): string {
  const text = stage.broker.retained(`agent/v1/node/${node}/desired`) ?? "";
  return `sha256:${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;
}

describe("the document", () => {
  test("is complete, names its target and is retained", async () => {
    const map = stage.file(
      "map.json",
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } }),
    );
    const { code, stdout } = await stage.fleet(`apply -f ${app} -f ${map} --node pi-1`);
    expect(code).toBe(0);
    expect(stdout).toBe(`generation 1 of node pi-1 is published, ${digestOnBroker()}\n`);
    expect(stage.desired("pi-1")).toEqual({
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { node: "pi-1" },
      generation: 1,
      issuedAt: "2026-11-21T08:00:02Z",
      resources: [
        {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "web" },
          spec: { containers: [{ name: "main", image: "registry.test/web:1" }] },
        },
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } },
      ],
    });
  });

  test("may come from standard input, and as a whole DesiredState whose other fields stay", async () => {
    stage.input = `kind: DesiredState\napiVersion: agent/v1\ntarget: {node: pi-1}\ngeneration: 3\npolicy: {minReadySeconds: 3}\nresources: []\nallowEmpty: true\n`;
    const { code } = await stage.fleet("apply -f -");
    expect(code).toBe(0);
    expect(stage.desired("pi-1")).toMatchObject({
      generation: 1,
      policy: { minReadySeconds: 3 },
      allowEmpty: true,
      resources: [],
    });
  });

  test("is newer than the retained one and than what the node has, in its epoch", async () => {
    stage.broker.publish("agent/v1/node/pi-1/desired", {
      kind: "DesiredState",
      epoch: "e1",
      generation: 4,
    });
    stage.report("pi-1", { desired: [anAck({ epoch: "e1", generation: 9 })] });
    await stage.fleet(`apply -f ${app} --node pi-1`);
    expect(stage.desired("pi-1")).toMatchObject({ epoch: "e1", generation: 10 });
  });

  test("of a group is newer than what any of its nodes has", async () => {
    const group = { source: "group/kiosks" };
    stage.report("pi-1", { desired: [anAck({ ...group, generation: 5 })] });
    stage.report("pi-2", { desired: [anAck({ ...group, generation: 6 })] });
    stage.report("pi-3", { desired: [anAck({ generation: 40 })] });
    const { code, stdout, stderr } = await stage.fleet(`apply -f ${app} --group kiosks`);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: containing("generation 7 of group kiosks"),
    });
    expect(stderr).toContain("no nodes are named");
  });

  test("holds what no node runs too, with a warning", async () => {
    const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    const path = stage.file("all.yaml", `${service}---\n${POD}`);
    const { code, stderr } = await stage.fleet(`apply -f ${path} --node pi-1`);
    expect(code).toBe(0);
    expect(stderr).toContain(
      'all.yaml:2:1: Service default/web: kind: kind "Service" does not run on this node and is skipped; use hostPort',
    );
    expect(stage.desired("pi-1")).toMatchObject({
      resources: [{ kind: "Service" }, { kind: "Pod" }],
    });
  });

  test("is only shown with --dry-run", async () => {
    const { code, stdout } = await stage.fleet(`apply -f ${app} --node pi-1 --dry-run`);
    expect(code).toBe(0);
    expect(stdout).toStartWith("+ Pod default/web\nwould be generation 1 of node pi-1, sha256:");
    expect(stage.broker.publications).toEqual([]);
  });
});

describe("nothing is published", () => {
  const refused: Readonly<
    Record<string, readonly [content: string, flags: string, sentence: string]>
  > = {
    "for a field that no node knows": [
      POD.replace("containers", "contaners"),
      "--node pi-1",
      "app.yaml:5:3: Pod default/web: spec.contaners: ",
    ],
    "for nothing at all": ["# nothing\n", "--node pi-1", "add --allow-empty"],
    "for a Secret that a whole group could read": [
      SECRET,
      "--group kiosks",
      "Secret default/login: every reader of the group's topic can read it",
    ],
    "for two objects of one name": [`${POD}---\n${POD}`, "--node pi-1", "stands twice"],
    "for nothing but a kind that no node runs": [
      "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: x}\n",
      "--node pi-1",
      "nothing in the document runs on a node, which would remove everything; add --allow-empty",
    ],
    "for a Compose file": ["services: {web: {image: nginx}}\n", "--node pi-1", "a Compose file"],
    "without a target": [POD, "", "name a node with --node"],
    "for two targets": [POD, "--node a --group b", "exclude each other"],
    "for a name that no node can have": [POD, "--node A/b", '"A/b" cannot be a name'],
    "for a document of somebody else": [
      "apiVersion: agent/v1\nkind: DesiredState\ntarget: {node: pi-2}\ngeneration: 1\nresources: []\n",
      "--node pi-1",
      "the document is for node pi-2, not for node pi-1",
    ],
    "for too much": [
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {a: "${"x".repeat(49_152)}"}\n`,
      "--node pi-1",
      "at most 49152 are accepted",
    ],
  };

  test.each(Object.entries(refused))("%s", async (_, [content, flags, sentence]) => {
    stage.file("app.yaml", content);
    const { code, stderr } = await stage.fleet(`apply -f ${app} ${flags}`.trim());
    expect(stderr).toContain(sentence);
    expect(code).toBe(2);
    expect(stage.broker.publications).toEqual([]);
  });

  test("when nodes are in different epochs", async () => {
    for (const [node, epoch] of [
      ["pi-1", "e1"],
      ["pi-2", "e2"],
    ] as const)
      stage.report(node, { desired: [anAck({ source: "group/kiosks", epoch })] });
    const before = stage.broker.publications.length;
    const { code, stderr } = await stage.fleet(`apply -f ${app} --group kiosks`);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: containing("choose one with --epoch"),
    });
    expect(stage.broker.publications).toHaveLength(before);
  });
});

test("a plain Secret for a group goes out when that was asked for", async () => {
  const secret = stage.file("secret.yaml", SECRET);
  const { code } = await stage.fleet(`apply -f ${secret} --group kiosks --allow-plain-secrets`);
  expect(code).toBe(0);
});

test("a generation that leaves no room stops nobody who begins a new epoch", async () => {
  stage.broker.publish("agent/v1/node/pi-1/desired", {
    kind: "DesiredState",
    epoch: "e1",
    generation: 2 ** 53 - 1,
  });
  expect(await stage.fleet(`apply -f ${app} --node pi-1`)).toMatchObject({
    code: 1,
    stderr: containing("the retained document reports generation 9007199254740991"),
  });
  expect(await stage.fleet(`apply -f ${app} --node pi-1 --epoch e2`)).toMatchObject({ code: 0 });
  expect(stage.desired("pi-1")).toMatchObject({
    epoch: "e2",
    previousEpoch: "e1",
    generation: 1,
  });
});

test("a broker that never takes what was published is told", async () => {
  stage.broker.faults.losePubacks = true;
  const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1`);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: containing("has not answered what was published on agent/v1/node/pi-1/desired within"),
  });
});

test("a document that no longer names a group of the node says so", async () => {
  const whole = (generation: number, ...groups: readonly string[]): object => ({
    apiVersion: "agent/v1",
    kind: "DesiredState",
    generation,
    groups: groups.map((name) => ({ name })),
    resources: [],
    allowEmpty: true,
  });
  stage.broker.publish("agent/v1/node/pi-1/desired", whole(3, "kiosks", "berlin"));
  const stays = stage.file("stays.yaml", JSON.stringify(whole(1, "berlin")));
  expect(await stage.fleet(`apply -f ${stays} --node pi-1`)).toMatchObject({
    code: 0,
    stderr: containing("warning: the node leaves group kiosks and stops what runs of it; to stay,"),
  });
  expect(await stage.fleet(`apply -f ${app} --node pi-1`)).toMatchObject({
    code: 0,
    stderr: containing("warning: the node leaves group berlin and stops"),
  });
  expect(await stage.fleet(`apply -f ${app} --node pi-1`)).toMatchObject({ code: 0, stderr: "" });
});

test("a broker that keeps nothing is no broker for this", async () => {
  stage.broker.faults.allows = { retainAvailable: false };
  const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1`);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: containing("does not support retained messages"),
  });
});

test("a refusal of the broker is told", async () => {
  stage.broker.faults.pubackCodes.set("agent/v1/node/pi-1/desired", 0x87);
  const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1`);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: containing("publish on agent/v1/node/pi-1/desired (0x87)"),
  });
});

describe("diff", () => {
  test("names objects and fields, and shows nothing of a Secret", async () => {
    const both = stage.file("both.yaml", `${POD}---\n${SECRET}`);
    await stage.fleet(`apply -f ${both} --node pi-1`);
    const next = stage.file(
      "next.yaml",
      `${POD.replace("web:1", "web:2")}---\n${SECRET.replace("sesame", "mellon")}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n`,
    );
    const { code, stdout } = await stage.fleet(`diff -f ${next} --node pi-1 --exit-code`);
    expect(stdout).toBe(
      [
        "+ ConfigMap default/c",
        "~ Pod default/web",
        '    spec.containers[0].image: "registry.test/web:1" → "registry.test/web:2"',
        "~ Secret default/login",
        "    stringData[password]: changed (hidden)",
        "",
      ].join("\n"),
    );
    expect(code).toBe(1);
  });

  test("says when nothing would change", async () => {
    await stage.fleet(`apply -f ${app} --node pi-1`);
    const { code, stdout, stderr } = await stage.fleet(`diff -f ${app} --node pi-1`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toBe("node pi-1 has generation 1 on the broker\nnothing would change\n");
  });
});
