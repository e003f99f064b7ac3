import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LABEL } from "../../../src/api/pod/labels.ts";
import type { CallName } from "../../fakes/fake-cri-faults.ts";
import { FULL, NAMES, nameOf, versionOf, WorkerWorld, type Name } from "./worker-world.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const MINUTE = 60_000;

/** All there is to know: what is wanted, and which wanted pods have had their one run. */
class Model {
  readonly desired = new Map<Name, number>();
  readonly over = new Set<Name>();
  /** Containers of lives that are over: what they do concerns nobody. */
  readonly past = new Set<string>();

  pods = () => [...this.desired].map(([name, version]) => versionOf(name, version));

  newLife(name: Name, real: WorkerWorld): void {
    this.over.delete(name);
    for (const { id } of real.containers(name)) this.past.add(id);
  }

  expected(name: Name): readonly string[] {
    return this.desired.has(name) && !this.over.has(name) ? FULL[name] : [];
  }
}

type Command = fc.AsyncCommand<Model, WorkerWorld>;

function command(text: string, run: (model: Model, real: WorkerWorld) => Promise<void>): Command {
  return {
    check: () => true,
    toString: () => text,
    run: async (model, real) => {
      await run(model, real);
      expect(real.sins).toEqual([]);
    },
  };
}

const set = (name: Name, version: number): Command =>
  command(`set ${name} ${version}`, async (model, real) => {
    if (model.desired.get(name) !== version) model.newLife(name, real);
    model.desired.set(name, version);
    await real.desire(model.pods());
  });

const drop = (name: Name): Command =>
  command(`drop ${name}`, async (model, real) => {
    model.newLife(name, real);
    model.desired.delete(name);
    await real.desire(model.pods());
  });

/** The file is gone and back before anybody could look. */
const replace = (name: Name): Command =>
  command(`drop and add ${name}`, async (model, real) => {
    model.newLife(name, real);
    const version = model.desired.get(name) ?? 1;
    model.desired.delete(name);
    const without = model.pods();
    model.desired.set(name, version);
    await real.desire(model.pods(), without);
  });

const exit = (name: Name, code: number): Command =>
  command(`${name} exits with ${code}`, async (model, real) => {
    for (const { id } of real.alive(name)) {
      if (name === "job" && !model.past.has(id)) model.over.add(name);
      real.world.runtime.exit(id, code);
    }
    await real.world.clock.settle();
  });

const lose = (name: Name): Command =>
  command(`${name} in an unknown state`, async (model, real) => {
    for (const { id } of real.alive(name)) {
      if (name === "job" && !model.past.has(id)) model.over.add(name);
      real.world.runtime.lose(id);
    }
    await real.world.clock.advance(MINUTE * 2);
  });

const killSandbox = (name: Name): Command =>
  command(`${name} loses its sandbox`, async (model, real) => {
    for (const { id } of real.alive(name))
      if (name === "job" && !model.past.has(id)) model.over.add(name);
    for (const { id } of real.sandboxes(name)) real.world.runtime.killSandbox(id);
    await real.world.clock.settle();
  });

const verdict = (isWell: boolean): Command =>
  command(isWell ? "web is well" : "web is sick", async (_, real) => {
    if (isWell) real.sick.delete("web");
    else real.sick.add("web");
    await real.world.clock.advance(MINUTE);
  });

const CALLS: readonly CallName[] = [
  "runPodSandbox",
  "createContainer",
  "startContainer",
  "stopContainer",
  "stopPodSandbox",
  "removePodSandbox",
  "listContainers",
  "containerStatus",
];

const fault = (call: CallName, isDone: boolean): Command =>
  command(`${call} ${isDone ? "is done, but says it failed" : "fails"}`, async (_, real) => {
    const said = { code: GrpcCode.UNKNOWN, details: "broken pipe" };
    const done = isDone ? ({ effect: "happens" } as const) : {};
    real.world.runtime.faults.order(call, { type: "fail", ...said, ...done });
  });

const tick = (ms: number): Command =>
  command(`${ms} ms pass`, async (_, real) => real.world.clock.advance(ms));

const restart = command("the agent restarts", async (_, real) => real.restart());

const name = fc.constantFrom(...NAMES);
const version = fc.integer({ min: 1, max: 3 });
const code = fc.constantFrom(0, 1);
const commands = [
  fc.tuple(name, version).map(([of, to]) => set(of, to)),
  fc.tuple(name, version).map(([of, to]) => set(of, to)),
  name.map(drop),
  name.map(replace),
  fc.tuple(name, code).map(([of, with_]) => exit(of, with_)),
  name.map(lose),
  name.map(killSandbox),
  fc.boolean().map(verdict),
  fc.tuple(fc.constantFrom(...CALLS), fc.boolean()).map(([call, isDone]) => fault(call, isDone)),
  fc.constantFrom(50, 700, 4_000, 30_000).map(tick),
  fc.constant(restart),
];

/** Nothing goes wrong any more: what runs is what is wanted, and when nothing is wanted nothing happens. */
async function settle(model: Model, real: WorkerWorld): Promise<void> {
  const { clock, runtime, pods } = real.world;
  runtime.faults.clear();
  real.sick.clear();
  await clock.advance(20 * MINUTE);
  for (const one of NAMES) {
    const alive = real.alive(one);
    const expected = model.expected(one);
    expect(alive.map(nameOf).toSorted()).toEqual([...expected]);
    const uid = `${one}-${model.desired.get(one)}`;
    expect(new Set(alive.map(({ config }) => config.labels[LABEL.podUID]))).toEqual(
      new Set(expected.length === 0 ? [] : [uid]),
    );
    if (model.over.has(one)) expect(pods.statuses.status(uid)?.phase).toMatch(/Succeeded|Failed/);
  }
  await real.desire([]);
  await clock.advance(2 * MINUTE);
  expect([runtime.sandboxes.size, runtime.containers.size]).toEqual([0, 0]);
  expect(pods.workers.all()).toEqual([]);
  runtime.calls.length = 0;
  await clock.advance(10 * MINUTE);
  // A terminated worker never syncs again: only the relist is left.
  const calls = new Set(runtime.callNames());
  expect([...calls].toSorted()).toEqual(["listContainers", "listPodSandbox"]);
  expect(real.sins).toEqual([]);
}

describe("pod workers", () => {
  test("bring about what is wanted, whatever happens on the way, and then rest", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 30, size: "max" }), async (list) => {
        using real = new WorkerWorld();
        const model = new Model();
        await real.world.start();
        await fc.asyncModelRun(() => ({ model, real }), list);
        await settle(model, real);
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});
