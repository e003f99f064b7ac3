// What a shutdown by systemd-logind does: the lock, the order, the way back, and what is said without logind.

import { describe, expect, test } from "bun:test";
import type { Files } from "../../../src/host/files.ts";
import { memberOf, parseJson } from "../../../src/lib/json.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { ShutdownInhibitor } from "../../../src/node/shutdown/shutdown-inhibitor.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeLogind } from "../../fakes/fake-logind.ts";

const SECOND = 1000;

class World implements Disposable {
  readonly clock = new VirtualClock();
  readonly logind = new FakeLogind();
  readonly lines: string[] = [];
  readonly files = new Map<string, string>();
  /** What was asked of the node's shutdown. */
  readonly acts: string[] = [];
  pods: readonly string[] = ["default/web"];
  readonly #process = new AbortController();

  constructor(config: Partial<ConstructorParameters<typeof ShutdownInhibitor>[0]["config"]> = {}) {
    const { clock, logind } = this;
    const log = createLogger({
      clock,
      level: "info",
      write: (line) => this.lines.push(String(memberOf(parseJson(line), "msg"))),
    });
    const files = {
      makeDirectory: () => undefined,
      writeAtomic: (path: string, bytes: Uint8Array) =>
        void this.files.set(path, new TextDecoder().decode(bytes)),
    } as unknown as Files;
    const view = () => ({ active: true, known: true, pods: this.pods, seconds: 0 });
    const act = (what: string) => () => {
      this.acts.push(what);
      return view();
    };
    const inhibitor = new ShutdownInhibitor({
      edges: { clock, log, files, logind },
      config: { shutdownGracePeriod: 4 * SECOND, shutdownGracePeriodByPodPriority: [], ...config },
      shutdown: { begin: act("begin"), cancel: act("cancel"), view },
    });
    void inhibitor.run(this.#process.signal);
  }

  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * SECOND);
  }

  [Symbol.dispose](): void {
    this.#process.abort();
  }
}

describe("with a period and systemd-logind", () => {
  test("one lock is held, and released when the last pod is gone", async () => {
    using world = new World();
    await world.pass(1);
    expect(world.logind.locks).toBe(1);
    world.logind.prepare();
    await world.pass(2);
    expect(world.acts).toEqual(["begin"]);
    expect(world.logind.locks).toBe(1);
    world.pods = [];
    await world.pass(1);
    expect(world.logind.locks).toBe(0);
    // None is granted while the machine goes off.
    await world.pass(600);
    expect(world.acts).toEqual(["begin"]);
    expect(world.logind.locks).toBe(0);
  });

  test("it is released when the period is over, whatever is left", async () => {
    using world = new World();
    await world.pass(1);
    world.logind.prepare();
    await world.pass(3);
    expect(world.logind.locks).toBe(1);
    await world.pass(2);
    expect(world.logind.locks).toBe(0);
  });

  test("a shutdown that is taken back at once lets the pods run on", async () => {
    using world = new World();
    await world.pass(1);
    world.logind.prepare();
    await world.pass(1);
    world.logind.cancel();
    await world.pass(1);
    expect(world.acts).toEqual(["begin", "cancel"]);
    expect(world.logind.locks).toBe(1);
  });

  test("one that fails after all pods have ended lets them run again, and is followed by another", async () => {
    using world = new World();
    await world.pass(1);
    world.logind.prepare();
    world.pods = [];
    await world.pass(30);
    expect(world.acts).toEqual(["begin"]);
    world.logind.cancel();
    await world.pass(300);
    expect(world.acts).toEqual(["begin", "cancel"]);
    expect(world.logind.locks).toBe(1);
    world.logind.prepare();
    await world.pass(1);
    expect(world.acts).toEqual(["begin", "cancel", "begin"]);
  });

  test("a lost lock is taken again, and stops nothing", async () => {
    using world = new World();
    await world.pass(1);
    world.logind.lose();
    await world.pass(5);
    expect(world.logind.locks).toBe(1);
    expect(world.acts).toEqual([]);
  });
});

describe("logind's own limit", () => {
  test("is raised for a longer period, as the kubelet does", async () => {
    using world = new World({ shutdownGracePeriod: 45 * SECOND });
    world.logind.nextLimitMs = 45 * SECOND;
    await world.pass(3);
    expect([...world.files]).toEqual([
      [
        "/etc/systemd/logind.conf.d/99-agent.conf",
        "# Written by the agent, whose shutdownGracePeriod asks for it.\n[Login]\nInhibitDelayMaxSec=45\n",
      ],
    ]);
    expect(world.logind.reloads).toBe(1);
    expect(world.lines).toEqual([
      "systemd-logind waits longer for the pods",
      "a shutdown of the machine waits for the pods",
    ]);
  });

  test("that stays too short is a warning, and the lock is held all the same", async () => {
    using world = new World({
      shutdownGracePeriod: 0,
      shutdownGracePeriodByPodPriority: [
        { priority: 0, shutdownGracePeriodSeconds: 40 },
        { priority: 10, shutdownGracePeriodSeconds: 20 },
      ],
    });
    await world.pass(3);
    expect(world.files.get("/etc/systemd/logind.conf.d/99-agent.conf")).toContain("=60\n");
    expect(world.lines[0]).toBe(
      "systemd-logind does not wait as long as the configuration asks for",
    );
    expect(world.logind.locks).toBe(1);
  });

  test("is left alone when it is long enough", async () => {
    using world = new World();
    await world.pass(3);
    expect(world.files.size).toBe(0);
    expect(world.logind.reloads).toBe(0);
  });
});

test("without a period nothing is held and nothing is said", async () => {
  using world = new World({ shutdownGracePeriod: 0 });
  await world.pass(600);
  expect(world.logind.locks).toBe(0);
  expect(world.lines).toEqual([]);
});

test("without systemd a period is a warning, once", async () => {
  using world = new World();
  world.logind.isThere = false;
  await world.pass(6000);
  expect(world.lines).toEqual(["a shutdown of the machine does not wait for the pods"]);
});
