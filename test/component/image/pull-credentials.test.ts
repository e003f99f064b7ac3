import { describe, expect, test } from "bun:test";
import type { NewEvent } from "../../../src/api/v1/events.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { ImageLedger } from "../../../src/image/pull-results.ts";
import { ImagePuller } from "../../../src/image/image-puller.ts";
import { imagePulls } from "../../../src/image/container-image.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import type { PullImageArgs } from "../../../src/cri/cri-client.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import { NO_PULL_EDGE } from "../../fakes/fake-pull-edge.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";
import { localObjects, type WrittenObjects } from "../../fakes/local-objects.ts";
import { laterRefusal } from "../../fakes/refusal.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const DENIED = { type: "fail", code: GrpcCode.PERMISSION_DENIED, details: "denied" } as const;
const NO_REGISTRY = {
  type: "fail",
  code: GrpcCode.UNKNOWN,
  details: "dial tcp: lookup r.test: no such host",
} as const;
const container = aContainer("a", { image: "r.test/team/app:1" });
const user = (username: string) => ({ username, password: `${username}-secret` });

class World {
  readonly clock = new VirtualClock();
  readonly cri = new FakeRuntime({ clock: this.clock });
  readonly lines: string[] = [];
  readonly events: NewEvent[] = [];
  written: WrittenObjects = {};
  readonly #images = imagePulls({
    edges: {
      cri: this.cri,
      pulls: NO_PULL_EDGE,
      files: realFiles(),
      runProgram: () => Promise.reject(new Error("there is no program")),
      clock: this.clock,
      random: { next: () => 0.5, hex: () => "" },
      log: createLogger({
        clock: this.clock,
        level: "debug",
        write: (line) => this.lines.push(line),
      }),
    },
    config: {
      registryAuthFile: "/nonexistent/registry-auth.json",
      pullLimits: { parallel: 3, perSecond: 0, burst: 0 },
    },
    record: (event) => void this.events.push(event),
    objects: () => localObjects(this.written),
    isOfFile: () => false,
    pinned: () => undefined,
    observed: () => undefined,
    ledger: new ImageLedger(() => 0),
  });

  /** Secrets by name, each with one user per registry. */
  declare(secrets: Readonly<Record<string, Readonly<Record<string, string>>>>): void {
    const type = "kubernetes.io/dockerconfigjson";
    const data = Object.entries(secrets).map(([name, users]) => {
      const entries = Object.entries(users).map(([host, name]) => [host, user(name)] as const);
      const auths: Readonly<Record<string, unknown>> = Object.fromEntries(entries);
      return [name, { ".dockerconfigjson": JSON.stringify({ auths }) }] as const;
    });
    this.written = { secrets: Object.fromEntries(data), type };
  }

  ensure(pod: Pod): Promise<unknown> {
    return this.#images.ensure(pod, container, new AbortController().signal);
  }

  /** What each pull was asked with. */
  asked(): readonly unknown[] {
    return this.cri.calls
      .filter(({ call }) => call === "pullImage")
      .map(({ args }) => (args[0] as PullImageArgs).auth);
  }
}

const podWith = (...imagePullSecrets: readonly string[]): Pod => aPod({ imagePullSecrets });

describe("a pull", () => {
  test("is made as anybody where no secret fits", async () => {
    const world = new World();
    world.declare({ other: { "other.test": "eve" } });
    await world.ensure(podWith("other"));
    expect(world.asked()).toEqual([undefined]);
  });

  test("is made with what fits", async () => {
    const world = new World();
    world.declare({ own: { "r.test": "ann", "other.test": "eve" } });
    await world.ensure(podWith("own"));
    expect(world.asked()).toEqual([user("ann")]);
  });

  test("that is refused is tried with the next that fits", async () => {
    const world = new World();
    world.declare({ one: { "r.test/team": "ann" }, two: { "r.test": "bob" } });
    world.cri.faults.order("pullImage", DENIED);
    await world.ensure(podWith("two", "one"));
    expect(world.asked()).toEqual([user("ann"), user("bob")]);
  });

  test("whose registry is away is not tried by another name", async () => {
    const world = new World();
    world.declare({ one: { "r.test/team": "ann" }, two: { "r.test": "bob" } });
    world.cri.faults.order("pullImage", NO_REGISTRY);
    expect((await laterRefusal(world.ensure(podWith("one", "two"))))?.reason).toBe("ErrImagePull");
    expect(world.asked()).toEqual([user("ann")]);
  });

  test("that failed as anybody does not hold up one with credentials", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", DENIED);
    expect((await laterRefusal(world.ensure(podWith())))?.reason).toBe("ErrImagePull");
    world.declare({ own: { "r.test": "ann" } });
    await world.ensure(podWith("own"));
    expect(world.asked()).toEqual([undefined, user("ann")]);
  });

  test("with a new password does not wait for the back-off of the old one", async () => {
    const world = new World();
    world.declare({ own: { "r.test": "old" } });
    world.cri.faults.order("pullImage", DENIED);
    expect((await laterRefusal(world.ensure(podWith("own"))))?.reason).toBe("ErrImagePull");
    expect((await laterRefusal(world.ensure(podWith("own"))))?.reason).toBe("ImagePullBackOff");
    world.declare({ own: { "r.test": "new" } });
    await world.ensure(podWith("own"));
    expect(world.asked()).toEqual([user("old"), user("new")]);
  });

  test("is shared by those who may, and by nobody else", async () => {
    const world = new World();
    world.declare({ own: { "r.test": "ann" }, other: { "r.test": "bob" } });
    await Promise.all([
      world.ensure(podWith("own")),
      world.ensure(podWith("own")),
      world.ensure(podWith("other")),
    ]);
    expect(world.asked()).toEqual([user("ann"), user("bob")]);
  });

  test("tells nobody a password, whatever becomes of it", async () => {
    const world = new World();
    world.declare({ own: { "r.test": "ann" } });
    world.cri.faults.order("pullImage", DENIED);
    const said = await laterRefusal(world.ensure(podWith("own")));
    await world.clock.advance(60_000);
    await world.ensure(podWith("own"));
    expect(said?.message).toContain("denied");
    expect(JSON.stringify([said, world.lines, world.events])).not.toContain("ann-secret");
  });
});

test("a plugin that had no credentials is asked again once the registry has denied access without them", async () => {
  const access = { asked: 0, refused: 0 };
  const clock = new VirtualClock();
  const cri = new FakeRuntime({ clock });
  const log = createLogger({ clock, level: "debug", write: () => undefined });
  const puller = new ImagePuller({
    cri,
    pulls: NO_PULL_EDGE,
    clock,
    random: { next: () => 0.5, hex: () => "" },
    log,
    limits: { parallel: 3, perSecond: 0, burst: 0 },
    board: new ImageLedger(() => 0).pulls,
  });
  const ensure = () =>
    puller.ensure("r.test/app:1", "IfNotPresent", {
      signal: new AbortController().signal,
      access: () => ({
        key: "plugin",
        async *list() {
          access.asked += 1;
          yield* [];
        },
        refused: () => void (access.refused += 1),
      }),
    });
  cri.faults.order("pullImage", NO_REGISTRY);
  await laterRefusal(ensure());
  expect(access).toEqual({ asked: 1, refused: 0 });
  await clock.advance(60_000);
  cri.faults.order("pullImage", DENIED);
  await laterRefusal(ensure());
  expect(access).toEqual({ asked: 2, refused: 1 });
});

test("a failed pull is shown for a few seconds, and then that it waits", async () => {
  const world = new World();
  world.cri.faults.order("pullImage", DENIED);
  const failure = async () => {
    const thrown: unknown = await world.ensure(podWith()).catch((error: unknown) => error);
    if (!(thrown instanceof AgentError)) throw new Error("it did not fail");
    return [thrown.reason, (thrown.retryAt ?? 0) - world.clock.monotonic()];
  };
  expect(await failure()).toEqual(["ErrImagePull", 5_000]);
  await world.clock.advance(5_000);
  expect(await failure()).toEqual(["ImagePullBackOff", 5_000]);
  expect(world.asked()).toHaveLength(1);
});

describe("a secret that is not there", () => {
  test("is named, and the pull is tried all the same", async () => {
    const world = new World();
    await world.ensure(podWith("gone", "lost"));
    expect(world.asked()).toEqual([undefined]);
    const said = world.events.filter(({ reason }) => reason === "FailedToRetrieveImagePullSecret");
    expect(said.map(({ message }) => message)).toEqual([
      "Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.",
    ]);
  });

  test("is nobody's concern while the image is here", async () => {
    const world = new World();
    world.cri.addImage(container.image);
    await world.ensure(podWith("gone"));
    const reasons = world.events.map(({ reason }) => reason);
    expect(reasons).toEqual(["Pulled"]);
  });
});
