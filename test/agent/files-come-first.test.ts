// Pods of files take their place from pods of documents: the whole agent in a simulated world, whose judges also watch that
// nothing runs beside what it does not fit with, and that nobody makes room for nothing.

import { describe, expect, test } from "bun:test";
import { AnswerStage, aSpec, DB, documentOf, signedDocument } from "./answer-stage.ts";
import { wrongPods } from "./sim-final-pods.ts";
import { counted } from "../fakes/counted.ts";
import { uidOfWritten } from "./sim-manifest.ts";
import { IMAGE } from "./pod-world.ts";
import type { SimContainer, SimName, SimSpec } from "./sim-specs.ts";

function specOf(
  name: SimName,
  version: number,
  {
    app = {},
    image = IMAGE,
    ...more
  }: Partial<SimSpec> & { app?: Partial<SimContainer>; image?: string },
): SimSpec {
  const spec = { ...aSpec(name, version, image, app), ...more };
  return { ...spec, uid: uidOfWritten(spec) };
}

/** Ignores SIGTERM. */
const DEAF = { app: { program: { stopsAfterMs: Number.POSITIVE_INFINITY } } };
const HOUR = 3600;

const BIG_WEB = specOf("web", 4, { cpu: 3 });
const SMALL_WEB = specOf("web", 5, { cpu: 1 });
const UNPULLED_WEB = specOf("web", 6, { cpu: 3, image: "NOT/an image" });
const PORT_WEB = specOf("web", 7, { hostPort: 8_090 });
const BIG_DB = specOf("db", 4, { cpu: 3 });
const DEAF_DB = specOf("db", 5, { ...DEAF, cpu: 3, hostPort: 8_090, grace: HOUR });
const DEAF_WEB = specOf("web", 8, { ...DEAF, grace: HOUR });
const WAITING_WEB = specOf("web", 9, { dependsOn: { name: "db", state: "Running" } });
const JOB_WEB = specOf("web", 10, {
  restartPolicy: "Never",
  app: { program: { stopsAfterMs: 0, exitsAfterMs: 50, exitCode: 0 } },
});
const SPECS = [
  JOB_WEB,
  BIG_WEB,
  SMALL_WEB,
  UNPULLED_WEB,
  PORT_WEB,
  BIG_DB,
  DEAF_DB,
  DEAF_WEB,
  WAITING_WEB,
];

async function nodeWith(...pods: readonly SimSpec[]): Promise<AnswerStage> {
  const stage = new AnswerStage({ specs: SPECS });
  await stage.start();
  await stage.publish(documentOf(1, pods));
  expect(names(stage)).toEqual(pods.map(({ key }) => key).toSorted());
  return stage;
}

const names = (stage: AnswerStage): readonly string[] =>
  stage.running().map((one) => one.replace(/ .*$/, ""));

const put = (stage: AnswerStage, { name, key }: SimSpec, pause?: number): Promise<void> =>
  stage.act({ type: "Write", name, version: Number(key.split("-")[1]), how: "rename" }, pause);

const refusals = (stage: AnswerStage): readonly string[] =>
  stage.agent.desired.rejected.map(({ source, name, code }) => `${source} ${name} ${code}`);

/** The world's story, without what ran before. */
const story = (stage: AnswerStage, words: RegExp): readonly string[] =>
  stage.world.judge.history.filter((line) => words.test(line)).map((line) => line.trim());

describe("a file's pod without room", () => {
  test("takes that of a document's pod, which waits until the file is gone", async () => {
    using stage = await nodeWith(BIG_DB);
    await put(stage, BIG_WEB);
    expect(names(stage)).toEqual(["web-4"]);
    expect(refusals(stage)).toEqual(["mqtt:node db OutOfcpu"]);
    expect(counted(stage.agent.facts.meter(), "kubelet_preemptions")).toEqual([
      'kubelet_preemptions{preemption_signal="cpu"} 1',
    ]);
    const [refusal] = stage.agent.desired.rejected;
    expect(refusal?.message).toContain("pods of files come first: default/web of file");
    const before = stage.running();
    await stage.restart();
    await stage.pass(600_000);
    expect(stage.running()).toEqual(before);
    await stage.act({ type: "Delete", name: "web", how: "delete" });
    expect(names(stage)).toEqual(["db-4"]);
    expect(refusals(stage)).toEqual([]);
  });

  test("stops nobody while there is room", async () => {
    using stage = await nodeWith(BIG_DB);
    const before = stage.running();
    await put(stage, SMALL_WEB);
    expect(names(stage)).toEqual(["db-4", "web-5"]);
    expect(stage.running()).toContain(before[0] ?? "");
  });

  test("stops nobody before its own images are here", async () => {
    using stage = await nodeWith(BIG_DB);
    await put(stage, UNPULLED_WEB, 300_000);
    expect(names(stage)).toEqual(["db-4"]);
    expect(refusals(stage)).toEqual([]);
    await put(stage, BIG_WEB);
    expect(names(stage)).toEqual(["web-4"]);
  });

  test("waits for that of another file's, also when the agent restarts", async () => {
    using stage = new AnswerStage({ specs: SPECS });
    await stage.start();
    await put(stage, BIG_WEB);
    const before = stage.running();
    await put(stage, BIG_DB);
    await stage.restart();
    await stage.pass(600_000);
    expect(stage.running()).toEqual(before);
    expect(refusals(stage)).toEqual(["file db OutOfcpu"]);
  });

  test("starts first where none of both has begun", async () => {
    using stage = new AnswerStage({ specs: SPECS });
    await put(stage, BIG_WEB, 0);
    stage.world.machine.broker.publish("agent/v1/node/sim-1/desired", documentOf(1, [BIG_DB]));
    await stage.start();
    expect(names(stage)).toEqual(["web-4"]);
  });
});

describe("a file's pod whose file was deleted while no agent ran, and whose room another has taken", () => {
  /** The document's pod of the name has no room either, so that what is there under the name stays. */
  async function withdrawn(exits: boolean): Promise<AnswerStage> {
    const stage = new AnswerStage({ specs: SPECS });
    await stage.start();
    await put(stage, BIG_DB);
    await stage.publish(documentOf(1, [DEAF_DB]));
    expect(names(stage)).toEqual(["db-4"]);
    await stage.act({ type: "Kill", acts: 0 }, 0);
    await stage.act({ type: "Delete", name: "db", how: "delete" }, 0);
    if (exits) await stage.act({ type: "Exit", index: 0, exitCode: 1 }, 0);
    await put(stage, BIG_WEB);
    await stage.start();
    expect(stage.world.judge.ledger.sandboxesOf(BIG_DB.uid)).toHaveLength(1);
    return stage;
  }

  test("does not start beside it when its file is back, and starts when there is room", async () => {
    using stage = await withdrawn(true);
    await put(stage, BIG_DB, 600_000);
    expect(names(stage)).toEqual(["web-4"]);
    expect(refusals(stage)).toContain("file db OutOfcpu");
    await stage.act({ type: "Delete", name: "web", how: "delete" });
    expect(names(stage)).toEqual(["db-4"]);
  });

  test("is not stopped while it runs, and not started again when it has ended", async () => {
    using stage = await withdrawn(false);
    const running = stage.running();
    await put(stage, BIG_DB, 600_000);
    expect(stage.running()).toEqual(running);
    expect(names(stage)).toEqual(["db-4", "web-4"]);
    const { runtime } = stage.world.machine;
    runtime.exit(running[0]?.split(" ")[1] ?? "", 1);
    await stage.pass(600_000);
    expect(names(stage)).toEqual(["web-4"]);
  });

  test("goes on as it is when there is room", async () => {
    using stage = await withdrawn(false);
    const [before = ""] = stage.running();
    await put(stage, BIG_DB);
    await put(stage, SMALL_WEB);
    expect(names(stage)).toEqual(["db-4", "web-5"]);
    expect(refusals(stage)).toEqual(["mqtt:node db Shadowed"]);
    expect(stage.running()).toContain(before);
  });
});

describe("a file's pod waits for one of a document no longer than 30 s, whatever grace that one asks for", () => {
  test.each<[string, SimSpec, SimSpec]>([
    ["its port", DEAF_DB, PORT_WEB],
    ["its room", DEAF_DB, BIG_WEB],
    ["its name", DEAF_WEB, SMALL_WEB],
  ])("%s", async (_what, old, own) => {
    using stage = await nodeWith(old);
    await put(stage, own, 20_000);
    expect(names(stage)).toEqual([old.key]);
    await stage.pass(20_000);
    expect(names(stage)).toEqual([own.key]);
    expect(story(stage, /stopContainer/)).toHaveLength(1);
    expect(story(stage, /stopContainer/)[0]).toEndWith(" 30 s");
  });

  test("also where the agent is killed meanwhile", async () => {
    using stage = await nodeWith(DEAF_DB);
    await put(stage, PORT_WEB, 15_000);
    expect(names(stage)).toEqual(["db-5"]);
    await stage.world.process.restart();
    // It knows the old pod's name by now, and not its ports.
    await stage.pass(10_000);
    expect(names(stage)).toEqual(["db-5"]);
    await stage.pass(30_000);
    expect(names(stage)).toEqual(["web-7"]);
  });

  test("also where the document dropped the pod before", async () => {
    using stage = await nodeWith(DEAF_DB);
    await stage.publish(documentOf(2, [SMALL_WEB]));
    await stage.pass(600_000);
    expect(story(stage, /row db-5/)).toHaveLength(1);
    expect(names(stage)).toEqual(["db-5", "web-5"]);
    await put(stage, PORT_WEB);
    expect(names(stage)).toEqual(["web-7"]);
  });

  test("also where the document's pod was the very same", async () => {
    using stage = await nodeWith(DEAF_WEB);
    const [before = ""] = stage.running();
    await stage.publish(documentOf(2, [DB]));
    await stage.pass(600_000);
    expect(stage.running()).toContain(before);
    await put(stage, DEAF_WEB);
    expect(names(stage)).toEqual(["db-1", "web-8"]);
    expect(stage.running()).not.toContain(before);
  });

  test("but a file's own pod has all of its time", async () => {
    using stage = new AnswerStage({ specs: SPECS });
    await stage.start();
    await put(stage, DEAF_WEB);
    await put(stage, SMALL_WEB, 600_000);
    expect(names(stage)).toEqual(["web-8"]);
  });
});

test("a file's pod begins anew where a document's very same pod has come to its end", async () => {
  using stage = new AnswerStage({ specs: SPECS });
  await stage.start();
  await stage.publish(documentOf(1, [JOB_WEB]));
  const starts = (): number => story(stage, / starts web-10/).length;
  expect([starts(), names(stage)]).toEqual([1, []]);
  await put(stage, JOB_WEB);
  expect([starts(), names(stage)]).toEqual([2, []]);
  await stage.restart();
  expect(starts()).toBe(2);
});

describe("a file's pod that depends on another", () => {
  test("is not started by an unsigned document", async () => {
    using stage = await nodeWith(BIG_DB);
    await put(stage, WAITING_WEB);
    expect(names(stage)).toEqual(["db-4"]);
    const web = stage.agent.facts.pods().find(({ pod }) => pod.metadata.name === "web");
    const [status] = web?.status.containerStatuses ?? [];
    expect(status?.state.waiting).toMatchObject({ reason: "DependencyNotReady" });
    expect(status?.state.waiting?.message).toContain("an unsigned document declares the one");
    await put(stage, BIG_DB);
    expect(names(stage)).toEqual(["db-4", "web-9"]);
  });

  test("is started by a signed one", async () => {
    using stage = new AnswerStage({ specs: SPECS, roots: ["desk"] });
    await stage.start();
    await put(stage, WAITING_WEB);
    await stage.publish(signedDocument(documentOf(1, [BIG_DB]), "desk"));
    expect(names(stage)).toEqual(["db-4", "web-9"]);
  });

  test("leaves the old pods of both names where that one waits for the room of its own", async () => {
    using stage = new AnswerStage({ specs: SPECS });
    await stage.start();
    await put(stage, BIG_WEB);
    await put(stage, DB);
    const before = stage.running();
    await stage.act({ type: "Kill", acts: 0 }, 0);
    await put(stage, BIG_DB, 0);
    await stage.start();
    await put(stage, WAITING_WEB, 900_000);
    expect(stage.running()).toEqual(before);
    expect(refusals(stage)).toEqual(["file db OutOfcpu"]);
    expect(wrongPods(stage.world)).toBeUndefined();
    await put(stage, SMALL_WEB);
    expect(names(stage)).toEqual(["db-4", "web-5"]);
    expect(wrongPods(stage.world)).toBeUndefined();
  });
});
