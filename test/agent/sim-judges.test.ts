// What the judges of the simulation once took for a mistake of the agent, and is none.

import { expect, test } from "bun:test";
import { AnswerStage, aSpec, DB, WEB } from "./answer-stage.ts";
import { edits, losesKey, misses, spoils, withdraws } from "./sim-final-scenes.ts";
import { wrongUpstream } from "./sim-final-upstream.ts";
import { uidOfWritten } from "./sim-manifest.ts";
import { IMAGE } from "./pod-world.ts";
import { READS_NOTHING } from "./sim-reads.ts";
import type { SimSpec } from "./sim-specs.ts";

const READS_CONF = {
  ...READS_NOTHING,
  env: [{ variable: "CONF", object: "conf", key: "a", optional: false }],
} as const;
const EDITED = {
  type: "EditObject",
  object: "conf",
  keys: "both",
  how: "rename",
  immutable: false,
} as const;

async function written(): Promise<AnswerStage> {
  const stage = new AnswerStage();
  await stage.world.settleForeigners();
  await stage.start();
  await stage.act({ type: "Write", name: WEB.name, version: 1, how: "rename" });
  // Of another owner, who has both UIDs, and its own.
  expect(keys(stage)).toEqual(["db-1", "web-1", "web-1"]);
  return stage;
}

function keys({ world }: AnswerStage): readonly string[] {
  const { ledger } = world.judge;
  const uids = ledger.runtime.running().map(({ config }) => config.labels["io.kubernetes.pod.uid"]);
  return uids.map((uid) => ledger.key(uid)).toSorted();
}

test("a shutdown on a full disk stops no container of another owner", async () => {
  using stage = await written();
  await stage.act({ type: "Disk", failures: 1_000 }, 0);
  await stage.act({ type: "Shutdown", begin: true }, 5_000);
  expect(keys(stage)).toEqual(["db-1", "web-1"]);
  const { leaving } = stage.world.judge.ledger;
  expect([leaving.has(WEB.uid), leaving.has(DB.uid)]).toEqual([true, false]);
});

test("a process that is dead orders no pod to stop", async () => {
  using stage = await written();
  const running = stage.running();
  await stage.act({ type: "Kill", acts: 1 }, 0);
  await stage.act({ type: "Shutdown", begin: true });
  expect([...stage.world.judge.ledger.leaving]).toEqual([]);
  for (const id of running.map((one) => one.split(" ")[1] ?? ""))
    stage.world.machine.runtime.exit(id, 1);
  await stage.start();
  expect(stage.running()).toHaveLength(1);
  expect(stage.running()).not.toEqual(running);
});

test("a container that a dead process told to start may start while it is removed", async () => {
  using stage = new AnswerStage({ latencyMs: { startContainer: 200, removeContainer: 200 } });
  await stage.start();
  await stage.act({ type: "Write", name: "web", version: 1, how: "rename" }, 100);
  await stage.act({ type: "Kill", acts: 0 }, 0);
  await stage.start();
  const lines = stage.world.judge.history.flatMap(
    (line) => / (starts|is ended) web-1\/a\/0/.exec(line)?.[1] ?? [],
  );
  expect(lines).toEqual(["starts", "is ended", "starts"]);
});

test("a pod counts its restarts anew when the row of its removal is lost", async () => {
  using stage = await written();
  await stage.act({ type: "Exit", index: 0, exitCode: 1 }, 60_000);
  const slow = { type: "Fault", call: "removePodSandbox", kind: "delay" } as const;
  await stage.act({ ...slow, times: 1, ms: 30_000 }, 0);
  await stage.act({ type: "Delete", name: "web", how: "delete" }, 20_000);
  await stage.act({ type: "Kill", acts: 0 }, 60_000);
  expect(keys(stage)).toEqual(["db-1", "web-1"]);
  await stage.act({ type: "Database", how: "lost" }, 0);
  await stage.act({ type: "Write", name: "web", version: 1, how: "rename" }, 0);
  await stage.start();
  expect(stage.running()).toHaveLength(1);
});

test("an update on trial is taken back when the document no longer has what it needs", async () => {
  const reads = {
    ...READS_NOTHING,
    env: [{ variable: "CRED", object: "cred", key: "a", optional: false }],
  } as const;
  const spec: SimSpec = { ...aSpec("web", 4, IMAGE, { reads }), restartPolicy: "Never" };
  const once = { ...spec, uid: uidOfWritten(spec) };
  using stage = new AnswerStage({ specs: [once] });
  const { world } = stage;
  world.authority.policy = { ...world.policy, onFailure: "rollback", progressDeadlineSeconds: 20 };
  await stage.start();
  await stage.act({ type: "Publish", versions: [1, 0] });
  // It is good when it has come to its end.
  await stage.act({ type: "Publish", versions: [4, 0], objects: ["cred"] });
  expect(keys(stage)).toEqual(["web-4"]);
  expect(await withdraws(world, "cred", "mqtt")).toBeUndefined();
  const starts = world.judge.history.flatMap((line) => / starts (web-\d)/.exec(line)?.[1] ?? []);
  expect(starts).toEqual(["web-1", "web-4", "web-1", "web-4"]);
});

test("a pod whose time on the node ends while the key is lost is not what it was before", async () => {
  const spec: SimSpec = { ...aSpec("web", 4, IMAGE), activeDeadlineSeconds: 120 };
  const short = { ...spec, uid: uidOfWritten(spec) };
  using stage = new AnswerStage({ specs: [short] });
  await stage.start();
  await stage.act({ type: "Write", name: "web", version: 4, how: "rename" });
  expect(keys(stage)).toEqual(["web-4"]);
  expect(await losesKey(stage.world)).toBeUndefined();
  expect(keys(stage)).toEqual([]);
});

test("a failed pod of a document does not make it ill when a file has its name", async () => {
  const program = { stopsAfterMs: 0, exitsAfterMs: 50, exitCode: 1 };
  const specs = [
    { ...aSpec("web", 4, IMAGE), cpu: 3 },
    { ...aSpec("db", 4, IMAGE), cpu: 3 },
    { ...aSpec("db", 5, IMAGE, { program }), restartPolicy: "Never" as const },
  ].map((spec): SimSpec => ({ ...spec, uid: uidOfWritten(spec) }));
  using stage = new AnswerStage({ specs });
  await stage.start();
  await stage.act({ type: "Publish", versions: [0, 5] });
  await stage.act({ type: "Write", name: "web", version: 4, how: "rename" });
  expect(stage.answer).toMatchObject({ phase: "Degraded" });
  // It has no room: what is shown under its name is the document's.
  await stage.act({ type: "Write", name: "db", version: 4, how: "rename" }, 600_000);
  expect(stage.answer).toMatchObject({ phase: "Healthy" });
  expect(wrongUpstream(stage.world, stage.agent)).toBeUndefined();
});

test("a pod that was taken back reads what was good while an object is written wrongly", async () => {
  const written = { exec: { command: ["probe", "readiness"] }, periodSeconds: 5 };
  const probes = [{ type: "readiness", failureThreshold: 1, grace: undefined, written }] as const;
  using stage = new AnswerStage({ specs: [aSpec("web", 4, IMAGE, { reads: READS_CONF, probes })] });
  const { world } = stage;
  world.authority.policy = { ...world.policy, onFailure: "rollback", progressDeadlineSeconds: 20 };
  await stage.start();
  await stage.act(EDITED);
  await stage.act({ type: "Publish", versions: [4, 0] });
  expect(stage.answer).toMatchObject({ phase: "Healthy" });
  await stage.act({ type: "Health", name: "web", healthy: false }, 0);
  await stage.act(EDITED, 120_000);
  await stage.act({ type: "Health", name: "web", healthy: true });
  expect(stage.answer).toMatchObject({ phase: "RolledBack" });
  expect(await spoils(world, "conf", "mqtt")).toBeUndefined();
});

test("an object that comes starts a pod later where a lost call keeps a name", async () => {
  const shows = [{ object: "conf", optional: false, items: [] }] as const;
  const volumes = [{ name: "c", type: "content", projected: false, shows, label: false }] as const;
  const plain = aSpec("web", 4, IMAGE);
  const reads = { ...READS_NOTHING, mounts: ["c"] };
  const containers = plain.containers.map((own) => ({ ...own, reads }));
  const spec: SimSpec = { ...plain, containers, volumes };
  using stage = new AnswerStage({ specs: [{ ...spec, uid: uidOfWritten(spec) }] });
  await stage.start();
  await stage.act(EDITED);
  const leaked = { type: "Fault", call: "runPodSandbox", kind: "leaked", ms: 0 } as const;
  await stage.act({ ...leaked, times: 1 }, 0);
  await stage.act({ type: "Write", name: "web", version: 4, how: "rename" }, 300_000);
  expect(keys(stage)).toEqual(["web-4"]);
  expect(await misses(stage.world, "conf", "file")).toBeUndefined();
});

test("a pod of an atomic document reads no edit while another one has failed", async () => {
  const program = { stopsAfterMs: 0, exitsAfterMs: 50, exitCode: 1 };
  const specs = [
    aSpec("web", 4, IMAGE, { reads: READS_CONF }),
    { ...aSpec("db", 4, IMAGE, { reads: READS_CONF, program }), restartPolicy: "Never" as const },
  ].map((spec): SimSpec => ({ ...spec, uid: uidOfWritten(spec) }));
  using stage = new AnswerStage({ specs });
  const { world } = stage;
  Object.assign(world.policy, { atomic: true });
  await stage.start();
  await stage.act(EDITED);
  await stage.act({ type: "Publish", versions: [4, 4] });
  expect(keys(stage)).toEqual(["web-4"]);
  expect(await edits(world, "conf", "mqtt")).toBeUndefined();
});

test("a sidecar whose preStop hook is at work when its pod is removed stops before those it serves", async () => {
  const hooks = { preStop: { how: { sleep: 3 }, written: { sleep: { seconds: 3 } } } };
  const plain = { ...aSpec("web", 4, IMAGE), grace: 5 };
  const [app] = plain.containers;
  if (app === undefined) throw new Error("it has no container");
  const sidecar = { ...app, name: "s0", role: "sidecar", reads: READS_CONF, hooks } as const;
  const spec: SimSpec = { ...plain, containers: [sidecar, app] };
  using stage = new AnswerStage({ specs: [{ ...spec, uid: uidOfWritten(spec) }] });
  await stage.start();
  await stage.act(EDITED);
  await stage.act({ type: "Write", name: "web", version: 4, how: "rename" });
  await stage.act(EDITED, 1_000);
  await stage.act({ type: "Delete", name: "web", how: "delete" });
  const { history } = stage.world.judge;
  const ends = history.flatMap((line) => / is ended web-4\/(\w+)/.exec(line)?.[1] ?? []);
  expect(ends).toEqual(["s0", "a"]);
});
