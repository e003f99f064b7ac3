// Updates that must not brick a device: the whole agent in a simulated world, killed before each of its acts, and the
// machine booted in between. It ends at the new revision or at the last good one, and says which.

import { describe, expect, test } from "bun:test";
import type { Ack } from "../../src/protocol/reported-state.ts";
import { AnswerStage, aSpec, DB, documentOf, NEXT, WEB } from "./answer-stage.ts";
import { counted } from "../fakes/counted.ts";
import { IMAGE } from "./pod-world.ts";
import { READS_NOTHING } from "./sim-reads.ts";
import { writtenPod } from "./sim-manifest.ts";
import type { SimSpec } from "./sim-specs.ts";
import type { SimAct } from "./sim-steps.ts";
import { TOPIC } from "./sim-authority.ts";

const POLICY = { minReadySeconds: 5, progressDeadlineSeconds: 60 };
const CRASHES = aSpec("web", 4, IMAGE, {
  program: { stopsAfterMs: 0, exitsAfterMs: 50, exitCode: 3 },
});
const NEVER_HERE = aSpec("web", 5, "NOT/an image");
const READINESS = {
  type: "readiness",
  failureThreshold: 3,
  grace: undefined,
  written: { exec: { command: ["probe", "readiness"] }, periodSeconds: 1 },
} as const;
const PROBED = aSpec("web", 6, IMAGE, { probes: [READINESS] });
const PROBED_TOO = aSpec("web", 7, IMAGE, { probes: [READINESS] });
const MISSES = aSpec("web", 8, IMAGE, {
  reads: {
    ...READS_NOTHING,
    env: [{ variable: "A", object: "conf", key: "a", optional: false }],
  },
});
const SPECS = [CRASHES, NEVER_HERE, PROBED, PROBED_TOO, MISSES];
/** Longer than any judgement here, with what a report takes. */
const OVER_MS = 180_000;
/** An update here, or one that is taken back, with its report. */
const UPDATE_MS = 30_000;
/** Of whoever was killed in between. */
const RECOVERY_MS = 90_000;

const publish = (
  stage: AnswerStage,
  generation: number,
  { pods, pause, policy }: { pods: readonly SimSpec[]; pause?: number; policy?: object },
): Promise<void> =>
  stage.publish(documentOf(generation, pods, { policy: { ...POLICY, ...policy } }), pause);

/** Generation 1 runs and has proved itself. */
async function good(pods: readonly SimSpec[] = [WEB]): Promise<AnswerStage> {
  const stage = new AnswerStage({ specs: SPECS });
  await stage.start();
  await publish(stage, 1, { pods });
  expect(stage.answer).toMatchObject({ generation: 1, phase: "Healthy", code: 200 });
  return stage;
}

const names = (stage: AnswerStage): readonly string[] =>
  stage.running().map((one) => one.replace(/ .*$/, ""));

const BACK = { generation: 2, observedGeneration: 1, phase: "RolledBack", code: 424 } as const;

describe("a bad update is taken back", () => {
  test.each<[string, SimSpec, string]>([
    ["that crashes", CRASHES, "CrashLoopBackOff"],
    ["of an image that cannot be", NEVER_HERE, "InvalidImageName"],
    ["that is never ready", PROBED, "ProgressDeadlineExceeded"],
  ])("%s", async (_name, spec, reason) => {
    using stage = await good();
    if (spec === PROBED) await stage.act({ type: "Health", name: "web", healthy: false }, 0);
    const before = stage.running();
    await publish(stage, 2, { pods: [spec], pause: OVER_MS });
    expect(names(stage)).toEqual(["web-1"]);
    expect(stage.answer).toMatchObject({ ...BACK, lastGood: { generation: 1 } });
    expect(stage.answer?.message).toContain(reason);
    if (spec === NEVER_HERE) expect(stage.running()).toEqual(before);
    expect(counted(stage.agent.facts.meter(), "agent_rollbacks_total")).toEqual([
      `agent_rollbacks_total{reason="${reason}"} 1`,
    ]);
    await stage.stays(BACK);
    // The same again, by a newer generation: it is known.
    await publish(stage, 3, { pods: [spec] });
    expect(stage.answer?.message).toContain("known bad");
    await stage.stays({ ...BACK, generation: 3 });
    // By now another process.
    expect(counted(stage.agent.facts.meter(), "agent_rollbacks_total")).toEqual([]);
    // Another one is tried.
    await publish(stage, 4, { pods: [NEXT], pause: OVER_MS });
    expect(names(stage)).toEqual(["web-2"]);
    await stage.stays({ generation: 4, observedGeneration: 4, phase: "Healthy", code: 200 });
  });

  test("and stays so when the database is lost", async () => {
    using stage = await good();
    await publish(stage, 2, { pods: [CRASHES], pause: OVER_MS });
    const before = stage.running();
    await stage.act({ type: "Kill", acts: 0 }, 0);
    await stage.act({ type: "Database", how: "lost" }, 0);
    await stage.act({ type: "Start" }, OVER_MS);
    expect(stage.running()).toEqual(before);
    expect(stage.answer).toMatchObject({ generation: 2, phase: "RolledBack", code: 424 });
  });

  test("for all pods of an atomic document", async () => {
    using stage = await good([WEB, DB]);
    const pods = [CRASHES, aSpec("db", 1, IMAGE)];
    await publish(stage, 2, { pods, pause: OVER_MS, policy: { atomic: true } });
    expect(names(stage)).toEqual(["db-1", "web-1"]);
    await stage.stays(BACK);
  });
});

describe("a new revision that is evicted while it is judged", () => {
  const starve = (stage: AnswerStage, short: boolean, pause: number): Promise<void> =>
    stage.act({ type: "Pressure", of: "memory", short }, pause);
  const evicted = async (progressDeadlineSeconds: number): Promise<AnswerStage> => {
    const stage = await good();
    const policy = { minReadySeconds: 100, progressDeadlineSeconds };
    await publish(stage, 2, { pods: [NEXT], pause: UPDATE_MS, policy });
    expect(stage.answer).toMatchObject({ generation: 2, code: 202 });
    await starve(stage, true, 90_000);
    expect(names(stage)).toEqual([]);
    return stage;
  };

  test("goes on when it is back", async () => {
    using stage = await evicted(600);
    expect(stage.answer).toMatchObject({ generation: 2, code: 202 });
    await starve(stage, false, 6 * 60_000);
    expect(names(stage)).toEqual(["web-2"]);
    expect(stage.answer).toMatchObject({ generation: 2, phase: "Healthy", code: 200 });
  });

  test("fails when its time is over, and what was good returns after the pressure", async () => {
    using stage = await evicted(150);
    await stage.pass(120_000);
    expect(stage.answer).toMatchObject(BACK);
    expect(stage.answer?.message).toContain("Evicted");
    await starve(stage, false, 6 * 60_000);
    expect(names(stage)).toEqual(["web-1"]);
  });
});

test("a first install that fails keeps trying, and says 424 without a generation to go back to", async () => {
  using stage = new AnswerStage({ specs: SPECS });
  await stage.start();
  await publish(stage, 1, { pods: [CRASHES], pause: OVER_MS });
  const { answer } = stage;
  expect(answer).toMatchObject({ generation: 1, phase: "Degraded", code: 424 });
  expect(answer).not.toHaveProperty("lastGood");
});

describe("onFailure", () => {
  test("keep leaves the new one trying", async () => {
    using stage = await good();
    await publish(stage, 2, { pods: [CRASHES], pause: OVER_MS, policy: { onFailure: "keep" } });
    expect(stage.answer).toMatchObject({ phase: "Degraded", code: 424 });
    expect(names(stage)).not.toContain("web-1");
  });

  test("hold stops and waits", async () => {
    using stage = await good();
    await publish(stage, 2, { pods: [CRASHES], pause: OVER_MS, policy: { onFailure: "hold" } });
    expect(stage.answer).toMatchObject({ phase: "Degraded", code: 424 });
    expect(names(stage)).toEqual([]);
  });
});

test("what was taken back has had its last word before a newer document comes", async () => {
  using stage = await good();
  await publish(stage, 2, { pods: [CRASHES], pause: OVER_MS });
  expect(stage.answer).toMatchObject(BACK);
  await stage.act({ type: "Health", name: "web", healthy: false }, 0);
  await publish(stage, 3, { pods: [PROBED], pause: 20_000 });
  expect(stage.answer).toMatchObject({ generation: 3, code: 202 });
  expect(stage.reported.desired.map(({ phase }) => phase)).not.toContain("Superseded");
});

describe("a hold", () => {
  test("keeps what runs over a restart, is told as 423, and ends with a release", async () => {
    using stage = await good();
    stage.agent.facts.changeHold("hold", { namespace: "default", name: "web" });
    await publish(stage, 2, { pods: [NEXT], pause: OVER_MS });
    expect(names(stage)).toEqual(["web-1"]);
    await stage.stays({ generation: 2, observedGeneration: 1, phase: "Held", code: 423 });
    stage.agent.facts.changeHold("release", { namespace: "default", name: "web" });
    await stage.pass(OVER_MS);
    expect(names(stage)).toEqual(["web-2"]);
    expect(stage.answer).toMatchObject({ generation: 2, observedGeneration: 2, code: 200 });
  });
});

test("a newer document takes over while an older one is applied, which is told as superseded", async () => {
  using stage = await good();
  await stage.act({ type: "Health", name: "web", healthy: false }, 0);
  await publish(stage, 2, { pods: [PROBED], pause: 20_000 });
  const before = stage.answer;
  const policy = { progressDeadlineSeconds: 600 };
  await publish(stage, 3, { pods: [PROBED_TOO], pause: 20_000, policy });
  const superseded = {
    source: "node",
    epoch: "",
    generation: 2,
    observedGeneration: 1,
    digest: before?.digest,
    signed: false,
    phase: "Superseded",
    code: 410,
    message: "generation 3 took its place before it had converged",
  };
  const told = (): readonly Ack[] => stage.reported.desired.slice(1);
  expect(told()).toMatchObject([{ generation: 3, phase: "Progressing" }, superseded]);
  // Killed and started again, it says the same.
  const said = told()[1];
  const events = (): readonly string[] =>
    stage.agent.facts
      .events()
      .filter(({ reason }) => reason === "Superseded")
      .map(({ message }) => message);
  expect(events()).toEqual([
    "generation 2 of mqtt:node was superseded by generation 3 before it had converged",
  ]);
  await stage.restart();
  expect(told()[1]).toEqual(said);
  expect(told()[0]).toMatchObject({ generation: 3, phase: "Progressing" });
  await publish(stage, 4, { pods: [NEXT], pause: OVER_MS });
  expect(names(stage)).toEqual(["web-2"]);
  expect(stage.answer).toMatchObject({ generation: 4, observedGeneration: 4, code: 200 });
  expect(told()).toHaveLength(1);
  expect(events()).toEqual([
    "generation 3 of mqtt:node was superseded by generation 4 before it had converged",
  ]);
});

/** Kills the agent before the n-th of its acts from the publication on, for every n there is. */
async function killedEverywhere(
  next: SimSpec,
  mustEnd: (stage: AnswerStage) => void,
): Promise<number> {
  for (let acts = 1; ; acts += 1) {
    using stage = await good();
    await stage.act({ type: "Kill", acts }, 0);
    await publish(stage, 2, { pods: [next], pause: UPDATE_MS });
    if (stage.world.agent?.alive === true) return acts;
    await stage.act({ type: "Start" }, RECOVERY_MS);
    mustEnd(stage);
  }
}

describe("killed before every act", () => {
  test("an update ends at the new revision", async () => {
    const acts = await killedEverywhere(NEXT, (stage) => {
      expect(names(stage)).toEqual(["web-2"]);
      expect(stage.answer).toMatchObject({ generation: 2, observedGeneration: 2, code: 200 });
    });
    expect(acts).toBeGreaterThan(30);
  }, 300_000);

  test("a rollback ends at the last good revision", async () => {
    const acts = await killedEverywhere(CRASHES, (stage) => {
      expect(names(stage)).toEqual(["web-1"]);
      expect(stage.answer).toMatchObject({ ...BACK, lastGood: { generation: 1 } });
    });
    expect(acts).toBeGreaterThan(30);
  }, 300_000);
});

describe("an update that reads what nobody has", () => {
  test("ends nothing, and is taken back when its time is over", async () => {
    using stage = await good();
    const before = stage.running();
    await publish(stage, 2, { pods: [MISSES], pause: 30_000 });
    expect(stage.running()).toEqual(before);
    expect(stage.answer).toMatchObject({ generation: 2, phase: "Applying", code: 202 });
    expect(stage.answer?.message).toContain('configmap "conf" not found');
    await stage.pass(OVER_MS);
    expect(stage.running()).toEqual(before);
    expect(stage.answer).toMatchObject({ ...BACK, lastGood: { generation: 1 } });
    expect(stage.answer?.message).toContain("ProgressDeadlineExceeded");
    expect(stage.answer?.message).toContain('configmap "conf" not found');
    await stage.stays(BACK);
  });

  test("leaves what was good running also when the machine boots meanwhile, and its time goes on", async () => {
    using stage = await good();
    await publish(stage, 2, { pods: [MISSES], pause: 10_000 });
    await stage.act({ type: "Reboot" }, 0);
    await stage.act({ type: "Start" }, 20_000);
    expect(names(stage)).toEqual(["web-1"]);
    expect(stage.answer).toMatchObject({ generation: 2, code: 202 });
    await stage.pass(OVER_MS);
    expect(names(stage)).toEqual(["web-1"]);
    expect(stage.answer).toMatchObject({ ...BACK, lastGood: { generation: 1 } });
  });
});

test("crashes of before do not count against a new content that comes before the runtime is known", async () => {
  using stage = new AnswerStage({ specs: SPECS });
  // Without the judges, who know only what the simulation itself writes.
  const { machine } = stage.world;
  const act = (what: SimAct, pause: number): Promise<void> =>
    stage.world.perform({ ...what, pause });
  const publishContent = async (generation: number, a: string): Promise<void> => {
    const metadata = { name: "conf", namespace: "default" };
    const conf = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a } };
    const resources = [conf, writtenPod(MISSES, 1)];
    machine.broker.publish(
      TOPIC.desired,
      documentOf(generation, [], { policy: POLICY, resources }),
    );
    await machine.clock.advance(UPDATE_MS);
  };
  await act({ type: "Start" }, UPDATE_MS);
  await publishContent(1, "1");
  expect(stage.answer).toMatchObject({ generation: 1, code: 200 });
  for (let crash = 0; crash < 4; crash += 1) {
    for (const { id } of machine.runtime.running()) machine.runtime.exit(id, 1);
    await machine.clock.advance(OVER_MS);
  }
  await act({ type: "Kill", acts: 0 }, 0);
  await act({ type: "Daemon", up: false }, 0);
  await act({ type: "Start" }, UPDATE_MS);
  await publishContent(2, "2");
  expect(stage.answer).toMatchObject({ generation: 2, code: 202 });
  await act({ type: "Daemon", up: true }, OVER_MS);
  expect(stage.answer).toMatchObject({ generation: 2, observedGeneration: 2, code: 200 });
});

describe("a machine that boots while an update is judged", () => {
  test("once, at any readiness check, ends at the new revision", async () => {
    for (let at = 500; at <= 9_500; at += 1_000) {
      using stage = await good();
      await publish(stage, 2, { pods: [PROBED], pause: at });
      await stage.act({ type: "Reboot" }, 0);
      await stage.act({ type: "Start" }, OVER_MS);
      expect(names(stage)).toEqual(["web-6"]);
      expect(stage.answer).toMatchObject({ generation: 2, observedGeneration: 2, code: 200 });
    }
  }, 120_000);

  test("three times ends at the last good one", async () => {
    using stage = await good();
    await stage.act({ type: "Health", name: "web", healthy: false }, 0);
    await publish(stage, 2, { pods: [PROBED], pause: 10_000 });
    for (let boot = 0; boot < 2; boot += 1) {
      await stage.act({ type: "Reboot" }, 0);
      await stage.act({ type: "Start" }, 10_000);
    }
    expect(names(stage)).toEqual(["web-1"]);
    await stage.pass(OVER_MS);
    expect(stage.answer).toMatchObject({ ...BACK, lastGood: { generation: 1 } });
    expect(stage.answer?.message).toContain("RebootedTooOften");
  });
});
