// An agent that dies between ending a container and starting the next one in its place.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { DesiredPod } from "../../src/api/pod/desired-pod.ts";
import type { Probe } from "../../src/api/v1/probe.ts";
import { configDigests } from "../../src/runtime/decide/config-digest.ts";
import { aContainer } from "../fakes/a-pod.ts";
import { localObjects } from "../fakes/local-objects.ts";
import { PodWorld, pod } from "./pod-world.ts";
import type { Container } from "../../src/api/v1/container.ts";

const PROBE: Probe = {
  handler: { type: "exec", command: ["alive"] },
  initialDelaySeconds: 0,
  periodSeconds: 60,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 1,
};

/** Programs that take five seconds to obey SIGTERM, and then say that all is well. */
class KillWorld implements Disposable {
  readonly world: PodWorld;
  isSick = false;
  value = "1";
  /** How long what follows the first instance runs; absent = until it is told to end. */
  runsMs: number | undefined;

  constructor() {
    const objects = () => localObjects({ configMaps: { web: { KEY: this.value } } });
    const digest = (text: string): string => `v1:key:${text}`;
    this.world = new PodWorld(
      {
        program: ({ config }) => ({
          stopsAfterMs: 5_000,
          stopCode: 0,
          ...(this.runsMs === undefined || config.metadata?.attempt === 0
            ? {}
            : { exitsAfterMs: this.runsMs }),
        }),
        exec: () => ({ exitCode: this.isSick ? 1 : 0 }),
      },
      {
        world: { objects, configDigest: digest },
        objects: {
          version: () => Number(this.value),
          digests: (desired) =>
            configDigests(desired.pod, { objects: objects(), isSettled: true, digest }),
        },
      },
    );
  }

  /** A second into the stop of `web/a/0`, which the probe or the edit ordered. */
  async untilKilled(web: DesiredPod, why: "probe" | "edit"): Promise<void> {
    await this.world.start();
    await this.world.desire([web]);
    expect(this.world.running()).toEqual(["web/a/0"]);
    if (why === "probe") this.isSick = true;
    else this.value = "2";
    this.world.runner.workers.notify(web.uid);
    for (let second = 0; second < 120 && this.#stops() === 0; second += 1)
      await this.world.clock.advance(1_000);
    expect(this.#stops()).toBe(1);
    expect(this.world.running()).toEqual(["web/a/0"]);
    this.isSick = false;
  }

  /** `SELECT` on the database as it lies on the disk, or a change of it. */
  sql(text: string): readonly unknown[] {
    const sqlite = new Sqlite(join(this.world.directory, "agent.db"));
    try {
      if (text.startsWith("SELECT")) return sqlite.prepare(text).all();
      sqlite.exec(text);
      return [];
    } finally {
      sqlite.close();
    }
  }

  rows(): readonly unknown[] {
    return this.sql("SELECT uid, container FROM killed");
  }

  phase(): string | undefined {
    return this.world.pods.statuses.get("web-1")?.status.phase;
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }

  #stops(): number {
    return this.world.runtime.calls.filter(({ call }) => call === "stopContainer").length;
  }
}

const well: Container = aContainer("a", {
  livenessProbe: PROBE,
  envFrom: [{ type: "configMap", name: "web", prefix: "", optional: false }],
});
const web = pod("web", "1", { restartPolicy: "OnFailure", containers: [well] });
const ROW = { uid: "web-1", container: "a" };

describe.each(["probe", "edit"] as const)("an OnFailure container ended by a %s", (why) => {
  test("is followed by another if the agent dies while it stops", async () => {
    using it = new KillWorld();
    await it.untilKilled(web, why);
    await it.world.kill();
    await it.world.clock.advance(10_000);
    expect(it.world.running()).toEqual([]);
    await it.world.start();
    await it.world.desire([web]);
    expect(it.world.running()).toEqual(["web/a/1"]);
    expect(it.phase()).toBe("Running");
    expect(it.rows()).toEqual([]);
  });

  test("is followed by another if the agent is back before it has ended", async () => {
    using it = new KillWorld();
    await it.untilKilled(web, why);
    await it.world.restart();
    await it.world.desire([web]);
    expect(it.rows()).toEqual([ROW]);
    await it.world.clock.advance(30_000);
    expect(it.world.running()).toEqual(["web/a/1"]);
    expect(it.rows()).toEqual([]);
  });

  test("is followed by one whose own end counts, also in the next process", async () => {
    using it = new KillWorld();
    it.runsMs = 20_000;
    await it.untilKilled(web, why);
    await it.world.restart();
    await it.world.desire([web]);
    await it.world.clock.advance(60_000);
    expect([it.world.running(), it.phase()]).toEqual([[], "Succeeded"]);
    await it.world.restart();
    await it.world.desire([web]);
    await it.world.clock.advance(60_000);
    expect([it.world.running(), it.phase()]).toEqual([[], "Succeeded"]);
  });

  test("is ended and followed by another although the disk is full", async () => {
    using it = new KillWorld();
    await it.world.start();
    it.sql("CREATE TRIGGER full BEFORE INSERT ON killed BEGIN SELECT RAISE(FAIL, 'full'); END");
    await it.world.kill();
    await it.untilKilled(web, why);
    expect(it.rows()).toEqual([]);
    await it.world.clock.advance(30_000);
    expect(it.world.running()).toEqual(["web/a/1"]);
    const said = it.world.lines.filter((line) => line.includes("cannot store which containers"));
    expect(said).toHaveLength(1);
  });
});

test("an OnFailure container that has ended well while the runtime was away does not run again for an edit", async () => {
  using it = new KillWorld();
  const { clock, runtime } = it.world;
  await it.world.start();
  await it.world.desire([web]);
  const [id = ""] = it.world.ids();
  runtime.stop();
  await clock.advance(1_000);
  runtime.exit(id, 0);
  it.value = "2";
  it.world.runner.workers.notify(web.uid);
  await clock.advance(60_000);
  expect(it.rows()).toEqual([]);
  runtime.start();
  await clock.advance(120_000);
  expect([it.world.running(), it.phase()]).toEqual([[], "Succeeded"]);
});

test("an instance that was made and never started strikes out no row", async () => {
  using it = new KillWorld();
  const { faults } = it.world.runtime;
  await it.untilKilled(web, "probe");
  faults.order("startContainer", { type: "hang" });
  await it.world.clock.advance(10_000);
  await it.world.kill();
  // The next process takes that one away, and dies before it has made another.
  faults.clear("startContainer");
  faults.order("createContainer", { type: "hang" });
  await it.world.start();
  await it.world.desire([web]);
  await it.world.kill();
  expect(it.rows()).toEqual([ROW]);
  faults.clear("createContainer");
  await it.world.start();
  await it.world.desire([web]);
  await it.world.clock.advance(120_000);
  expect(it.world.running()).toHaveLength(1);
  expect(it.rows()).toEqual([]);
});

test("an Always container needs no row", async () => {
  using it = new KillWorld();
  const always = pod("web", "1", { containers: [well] });
  await it.untilKilled(always, "probe");
  expect(it.rows()).toEqual([]);
  await it.world.clock.advance(10_000);
  expect(it.world.running()).toEqual(["web/a/1"]);
});

test("a pod that is removed while it waits for another container leaves no row", async () => {
  using it = new KillWorld();
  await it.untilKilled(web, "probe");
  expect(it.rows()).toEqual([ROW]);
  await it.world.desire([]);
  await it.world.clock.advance(30_000);
  expect(it.rows()).toEqual([]);
});

test("a pod that is replaced leaves no row", async () => {
  using it = new KillWorld();
  await it.untilKilled(web, "probe");
  await it.world.restart();
  await it.world.desire([pod("web", "2", { containers: [aContainer("a")] })]);
  await it.world.clock.advance(60_000);
  expect(it.world.running()).toEqual(["web/a/0"]);
  expect(it.rows()).toEqual([]);
});

test("a killed container whose record the runtime lost leaves no row", async () => {
  using it = new KillWorld();
  await it.untilKilled(web, "probe");
  await it.world.kill();
  await it.world.clock.advance(10_000);
  it.world.runtime.containers.clear();
  it.world.runtime.sandboxes.clear();
  await it.world.start();
  await it.world.desire([web]);
  await it.world.clock.advance(10_000);
  expect(it.world.running()).toHaveLength(1);
  expect(it.rows()).toEqual([]);
});

test("containers ended with their sandbox are followed by others", async () => {
  using it = new KillWorld();
  const host = pod("web", "1", { restartPolicy: "OnFailure", hostNetwork: true });
  await it.world.start();
  await it.world.desire([host]);
  await it.world.kill();
  // Made for the host's network: not what the same pod asks for now.
  const own: DesiredPod = {
    ...host,
    pod: { ...host.pod, spec: { ...host.pod.spec, hostNetwork: false } },
  };
  await it.world.start();
  await it.world.desire([own]);
  await it.world.clock.advance(1_000);
  expect(it.rows()).toEqual([ROW]);
  await it.world.kill();
  await it.world.clock.advance(10_000);
  expect(it.world.running()).toEqual([]);
  await it.world.start();
  await it.world.desire([own]);
  await it.world.clock.advance(30_000);
  expect(it.world.running()).toEqual(["web/a/1"]);
  expect(it.rows()).toEqual([]);
});
