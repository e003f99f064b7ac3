// Exec probes wait for a place: how many run at once, whose turn it is, and that waiting is no failure.

import { describe, expect, test } from "bun:test";
import type { Probe } from "../../../src/api/v1/probe.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import type { ProbeExec } from "../../../src/prober/run-probe.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import { probesOf, ProbeWorld, running } from "./probe-world.ts";

const EXEC: Partial<Probe> = { handler: { type: "exec", command: ["check"] } };

/** The most that the manager delays a probe to run it together with others. */
const TURN_MS = 50;

function aPodOf(uid: string, containers = 1, probe: Partial<Probe> = {}): Pod {
  const names = Array.from({ length: containers }, (_, index) => `c${index}`);
  const liveness = { ...EXEC, ...probe };
  return aPod(
    { containers: names.map((name) => aContainer(name, probesOf({ liveness }))) },
    { uid, name: uid },
  );
}

/** Commands that run until the test lets them end. */
class Commands {
  readonly running = new Map<string, () => void>();
  readonly begun: string[] = [];
  most = 0;

  readonly exec: ProbeExec = async (id, _command, { timeoutSeconds, signal }) => {
    this.begun.push(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.running.set(id, resolve);
    this.most = Math.max(this.most, this.running.size);
    signal.addEventListener("abort", () => resolve());
    const isOver = await this.#within(promise, timeoutSeconds);
    this.running.delete(id);
    if (!isOver) throw new AgentError({ reason: "Timeout", message: "timed out" });
    return { exitCode: 0, output: "" };
  };

  /** Set by the test: `clock.sleep`. */
  sleep: (ms: number) => Promise<void> = () => Promise.resolve();

  endAll(): void {
    for (const end of this.running.values()) end();
  }

  async #within(ended: Promise<void>, seconds: number): Promise<boolean> {
    return Promise.race([ended.then(() => true), this.sleep(seconds * 1000).then(() => false)]);
  }
}

async function aWorld(isStatic: (uid: string) => boolean = () => true) {
  const commands = new Commands();
  const world = await ProbeWorld.make({ exec: commands.exec, isStatic });
  commands.sleep = (ms) => world.clock.sleep(ms);
  const see = (pod: Pod): void =>
    world.see(
      pod,
      pod.spec.containers.map(({ name }) => ({
        ...running(0, name),
        id: `${pod.metadata.uid}/${name}`,
      })),
    );
  return { commands, world, see };
}

describe("exec probes", () => {
  test("of 110 pods run sixteen at a time, each has its turn, and none fails for waiting", async () => {
    const { commands, world, see } = await aWorld();
    const uids = Array.from({ length: 110 }, (_, index) => `pod-${index}`);
    for (const uid of uids) see(aPodOf(uid, 1, { failureThreshold: 1 }));
    await world.clock.advance(0);
    for (let round = 0; round < 7; round += 1) {
      await world.clock.advance(900);
      commands.endAll();
      await world.clock.advance(0);
    }
    expect(commands.most).toBe(16);
    expect(new Set(commands.begun).size).toBe(110);
    expect(world.changes).toEqual([]);
    expect(world.events).toEqual([]);
  });

  test("that hang hold their places until their timeout only", async () => {
    const { commands, world, see } = await aWorld();
    for (let index = 0; index < 16; index += 1) see(aPodOf(`hung-${index}`));
    await world.clock.advance(0);
    see(aPodOf("quick"));
    await world.clock.advance(900);
    expect(commands.begun).not.toContain("quick/c0");
    await world.clock.advance(200);
    expect(commands.begun).toContain("quick/c0");
    expect(world.said("quick/c0", "quick")).toBe("liveness=Success");
  });

  test("of one pod never take all places", async () => {
    const { commands, world, see } = await aWorld();
    see(aPodOf("greedy", 20, { timeoutSeconds: 3600 }));
    await world.clock.advance(0);
    see(aPodOf("other"));
    await world.clock.advance(TURN_MS);
    expect(commands.begun.filter((id) => id.startsWith("greedy/"))).toHaveLength(4);
    expect(commands.begun).toContain("other/c0");
  });

  test("of documents do not delay those of files", async () => {
    const { commands, world, see } = await aWorld((uid) => uid === "file");
    for (let index = 0; index < 30; index += 1)
      see(aPodOf(`document-${index}`, 1, { timeoutSeconds: 3600 }));
    await world.clock.advance(0);
    expect(commands.running.size).toBe(16);
    see(aPodOf("file"));
    await world.clock.advance(TURN_MS);
    expect(commands.begun).toContain("file/c0");
  });

  test("that wait leave with their pod", async () => {
    const { commands, world, see } = await aWorld();
    for (let index = 0; index < 20; index += 1) see(aPodOf(`pod-${index}`));
    await world.clock.advance(0);
    for (let index = 16; index < 20; index += 1) world.manager.forget(`pod-${index}`);
    commands.endAll();
    await world.clock.advance(0);
    expect(commands.begun).toHaveLength(16);
  });
});
