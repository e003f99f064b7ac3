import { describe, expect, test } from "bun:test";
import type { EventContent } from "../../../src/api/v1/events.ts";
import type { PullLimits } from "../../../src/config/image-config.ts";
import { ImagePuller, type EnsuredImage } from "../../../src/image/image-puller.ts";
import type { PulledBytes } from "../../../src/containerd/pulled-bytes.ts";
import { PullBoard } from "../../../src/image/pull-progress.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { Meter } from "../../../src/lib/meter.ts";
import { counted } from "../../fakes/counted.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../../fakes/fake-runtime.ts";
import type { PullPolicy } from "../../../src/api/v1/image.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const IMAGE = "r.test/app:1";
const NO_REGISTRY = {
  type: "fail",
  code: GrpcCode.UNKNOWN,
  details: "dial tcp: lookup r.test: no such host",
} as const;
const DENIED = { type: "fail", code: GrpcCode.PERMISSION_DENIED, details: "denied" } as const;
const NOT_FOUND = { type: "fail", code: GrpcCode.NOT_FOUND, details: "not found" } as const;

const THREE: PullLimits = { parallel: 3, perSecond: 0, burst: 10 };

class World {
  readonly clock = new VirtualClock();
  readonly cri: FakeRuntime;
  readonly puller: ImagePuller;
  readonly meter = new Meter();
  readonly board = new PullBoard(() => (this.steps += 1));
  steps = 0;
  /** Images of which containerd keeps what has arrived. */
  readonly kept = new Set<string>();
  /** Of the pull that runs; undefined = the runtime does not report it. */
  pulledBytes: PulledBytes | undefined;
  readonly lines: string[] = [];

  constructor(
    options: Partial<FakeRuntimeOptions> = {},
    { random = 0.5, limits = THREE }: { random?: number; limits?: PullLimits } = {},
  ) {
    this.cri = new FakeRuntime({ clock: this.clock, ...options });
    this.puller = new ImagePuller({
      cri: this.cri,
      meter: this.meter,
      limits,
      board: this.board,
      pulls: {
        measure: () => ({ read: () => Promise.resolve(this.pulledBytes) }),
        keep: (image) => {
          this.kept.add(image);
          return Promise.resolve({ "containerd-lease": image });
        },
        forget: (image) => {
          this.kept.delete(image);
          return Promise.resolve();
        },
      },
      clock: this.clock,
      random: { next: () => random, hex: () => "" },
      log: createLogger({
        clock: this.clock,
        level: "debug",
        write: (line) => this.lines.push(line),
      }),
    });
  }

  ensure(
    policy: PullPolicy,
    { image = IMAGE, signal = new AbortController().signal, isStrict = false } = {},
  ): Promise<EnsuredImage> {
    return this.puller.ensure(image, policy, { signal, isStrict });
  }

  /** The same, and the events it brought as `type reason: message`. */
  async told(
    policy: PullPolicy,
    { image = IMAGE, signal = new AbortController().signal } = {},
  ): Promise<readonly string[]> {
    const events: string[] = [];
    const record = ({ type, reason, message }: EventContent): void =>
      void events.push(`${type} ${reason}: ${message}`);
    await this.puller.ensure(image, policy, { signal, record }).catch(() => undefined);
    return events;
  }

  /** The refusal as "reason: message", with the seconds until the next try. */
  async refusal(
    policy: PullPolicy,
    image = IMAGE,
    isStrict = false,
  ): Promise<[string, number | undefined]> {
    try {
      await this.ensure(policy, { image, isStrict });
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const { reason, message, retryAt } = error;
      const wait = retryAt === undefined ? undefined : (retryAt - this.clock.monotonic()) / 1000;
      return [`${reason}: ${message}`, wait];
    }
    throw new Error("it was not refused");
  }

  count(call: "imageStatus" | "pullImage"): number {
    return this.cri.callNames().filter((name) => name === call).length;
  }
}

test("a pull is measured with its wait, under the size of its image, and a pod knows while it waits for one", async () => {
  const world = new World(
    { latencyMs: { pullImage: 4_000 } },
    { limits: { ...THREE, parallel: 1 } },
  );
  const waits: string[] = [];
  const pull = (image: string): Promise<EnsuredImage> =>
    world.puller.ensure(image, "IfNotPresent", {
      signal: new AbortController().signal,
      pulling: () => {
        waits.push(`begins ${image}`);
        return { [Symbol.dispose]: () => void waits.push(`ends ${image}`) };
      },
    });
  const both = Promise.all([pull("r.test/a:1"), pull("r.test/b:1")]);
  await world.clock.advance(10_000);
  await both;
  await pull("r.test/a:1");
  expect(waits).toEqual([
    "begins r.test/a:1",
    "begins r.test/b:1",
    "ends r.test/a:1",
    "ends r.test/b:1",
  ]);
  expect(counted(world.meter, "kubelet_image_pull_duration_seconds")).toEqual([
    'kubelet_image_pull_duration_seconds_sum{image_size_in_bytes="0-10MB"} 12',
    'kubelet_image_pull_duration_seconds_count{image_size_in_bytes="0-10MB"} 2',
  ]);
});

describe("pods of files", () => {
  const of = (world: World, image: string, isOfFile: boolean): Promise<EnsuredImage> =>
    world.puller.ensure(image, "IfNotPresent", { signal: new AbortController().signal, isOfFile });

  test("do not wait for the pulls of documents, however many", async () => {
    const world = new World({ latencyMs: { pullImage: 60_000 } });
    const documents = ["a", "b", "c", "d", "e", "f", "g"].map((name) =>
      of(world, `r.test/${name}:1`, false),
    );
    await world.clock.settle();
    const file = of(world, IMAGE, true);
    await world.clock.advance(60_000);
    expect((await file).how).toBe("Pulled");
    await world.clock.advance(120_000);
    await Promise.all(documents);
  });

  test("do not wait for the back-off of a document", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NO_REGISTRY);
    await of(world, IMAGE, false).catch(() => undefined);
    expect((await of(world, IMAGE, true)).how).toBe("Pulled");
  });

  test("share the pull of a document that runs", async () => {
    const world = new World({ latencyMs: { pullImage: 1_000 } });
    const document = of(world, IMAGE, false);
    await world.clock.advance(500);
    const file = of(world, IMAGE, true);
    await world.clock.advance(500);
    expect([(await document).how, (await file).how]).toEqual(["Pulled", "Pulled"]);
    expect(world.count("pullImage")).toBe(1);
  });

  test("take the pull of a document that waits for its place along to theirs", async () => {
    const limits = { ...THREE, parallel: 1 };
    const world = new World({ latencyMs: { pullImage: 60_000 } }, { limits });
    const other = of(world, "r.test/other:1", false);
    await world.clock.settle();
    const document = of(world, IMAGE, false);
    await world.clock.advance(1_000);
    const file = of(world, IMAGE, true);
    await world.clock.advance(60_000);
    expect([(await document).how, (await file).how]).toEqual(["Pulled", "Pulled"]);
    await other;
    const pulls = world.cri.calls.filter(({ call }) => call === "pullImage");
    expect(pulls).toHaveLength(2);
  });

  test("have failed for those of documents as well", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NOT_FOUND);
    await of(world, IMAGE, true).catch(() => undefined);
    const refusal = await of(world, IMAGE, false).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ reason: "ImagePullBackOff" });
    expect(world.count("pullImage")).toBe(1);
  });

  test("wait for the back-off of a failure, and a person's order does not", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NOT_FOUND);
    await of(world, IMAGE, false).catch(() => undefined);
    const { signal } = new AbortController();
    const ordered = await world.puller.ensure(IMAGE, "Always", { signal, isOrdered: true });
    expect(ordered.how).toBe("Pulled");
    expect((await of(world, IMAGE, false)).how).toBe("Present");
  });
});

function idOf(image: string): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(image).digest("hex")}`;
}

describe("the pull policy", () => {
  const present = { images: [IMAGE] };
  test("IfNotPresent does not pull what is there", async () => {
    const world = new World(present);
    expect(await world.ensure("IfNotPresent")).toEqual({
      ref: idOf(IMAGE),
      username: "",
      how: "Present",
    });
    expect(world.count("pullImage")).toBe(0);
  });

  test("IfNotPresent pulls what is absent", async () => {
    const world = new World();
    expect(await world.ensure("IfNotPresent")).toEqual({
      ref: idOf(IMAGE),
      username: "",
      how: "Pulled",
    });
    expect(await world.ensure("IfNotPresent")).toEqual({
      ref: idOf(IMAGE),
      username: "",
      how: "Present",
    });
    expect(world.count("pullImage")).toBe(1);
  });

  test("Always pulls what is there", async () => {
    const world = new World(present);
    expect((await world.ensure("Always")).how).toBe("Pulled");
    expect((await world.ensure("Always")).how).toBe("Pulled");
    expect(world.count("pullImage")).toBe(2);
  });

  test("Never uses what is there and refuses what is not", async () => {
    expect((await new World(present).ensure("Never")).how).toBe("Present");
    const world = new World();
    expect(await world.refusal("Never")).toEqual([
      `ErrImageNeverPull: image "${IMAGE}" is not on this node and imagePullPolicy Never forbids pulling it`,
      undefined,
    ]);
    expect(world.count("pullImage")).toBe(0);
  });

  test("an image removed a moment ago is noticed", async () => {
    const world = new World(present);
    await world.ensure("IfNotPresent");
    world.cri.images.delete(IMAGE);
    expect((await world.ensure("IfNotPresent")).how).toBe("Pulled");
  });

  test("a short name is asked for as latest", async () => {
    const world = new World();
    await world.ensure("IfNotPresent", { image: "busybox" });
    expect(world.cri.calls.map(({ args }) => args)).toEqual([
      [{ image: "busybox:latest" }],
      [{ image: { image: "busybox:latest" } }],
      [{ image: idOf("busybox:latest") }],
    ]);
  });

  test("what is no name is refused before anybody is asked", async () => {
    const world = new World();
    const [refusal] = await world.refusal("Always", "Bad Name");
    expect(refusal).toStartWith("InvalidImageName: ");
    expect(world.cri.calls).toEqual([]);
  });

  test("a runtime that does not answer is not taken for an absent image", async () => {
    const world = new World();
    world.cri.stop();
    const [refusal, wait] = await world.refusal("IfNotPresent");
    expect(refusal).toStartWith(`ImageInspectError: cannot look for image "${IMAGE}": `);
    expect(wait).toBeUndefined();
  });
});

describe("the registry out of reach", () => {
  test("Always falls back to the image that is here, at once also the next time", async () => {
    const world = new World({ images: [IMAGE] });
    world.cri.faults.order("pullImage", NO_REGISTRY, { times: Infinity });
    const local = { ref: idOf(IMAGE), username: "", how: "LocalInstead" } as const;
    expect(await world.ensure("Always")).toEqual(local);
    expect(await world.ensure("Always")).toEqual(local);
    expect(world.count("pullImage")).toBe(1);
    expect(world.lines.filter((line) => line.includes('"level":"warn"'))).toHaveLength(1);
  });

  test("a strict pod waits for it, and for the back-off of the others", async () => {
    const world = new World({ images: [IMAGE] });
    world.cri.faults.order("pullImage", NO_REGISTRY, { times: 2 });
    const [first, wait] = await world.refusal("Always", IMAGE, true);
    expect([first, wait]).toEqual([
      `ErrImagePull: cannot pull image "${IMAGE}": PullImage: ${NO_REGISTRY.details}`,
      10,
    ]);
    expect((await world.ensure("Always")).how).toBe("LocalInstead");
    const [second] = await world.refusal("Always", IMAGE, true);
    expect(second).toStartWith("ImagePullBackOff: ");
    expect((await world.ensure("IfNotPresent", { isStrict: true })).how).toBe("Present");
    await world.clock.advance(10_000);
    await world.refusal("Always", IMAGE, true);
    await world.clock.advance(20_000);
    expect((await world.ensure("Always", { isStrict: true })).how).toBe("Pulled");
  });

  test("after the back-off the registry is asked again", async () => {
    const world = new World({ images: [IMAGE] });
    world.cri.faults.order("pullImage", NO_REGISTRY);
    await world.ensure("Always");
    await world.clock.advance(10_000);
    expect((await world.ensure("Always")).how).toBe("Pulled");
  });

  test("an absent image cannot be replaced", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NO_REGISTRY);
    expect(await world.refusal("Always")).toEqual([
      `ErrImagePull: cannot pull image "${IMAGE}": PullImage: ${NO_REGISTRY.details}`,
      10,
    ]);
  });

  test.each([
    ["denied", DENIED],
    ["not found", NOT_FOUND],
  ])("an answer of %s is no excuse for the old image", async (_, fault) => {
    const world = new World({ images: [IMAGE] });
    world.cri.faults.order("pullImage", fault);
    const [first] = await world.refusal("Always");
    const [second] = await world.refusal("Always");
    expect(first).toStartWith("ErrImagePull: ");
    expect(second).toStartWith("ImagePullBackOff: ");
    expect((await world.ensure("IfNotPresent")).how).toBe("Present");
  });
});

describe("back-off", () => {
  test("first ErrImagePull, then ImagePullBackOff until the time has come", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NOT_FOUND, { times: 2 });
    const why = `image "${IMAGE}": PullImage: not found`;
    expect(await world.refusal("IfNotPresent")).toEqual([`ErrImagePull: cannot pull ${why}`, 10]);
    await world.clock.advance(4_000);
    const backingOff = `ImagePullBackOff: back-off pulling ${why}`;
    expect(await world.refusal("IfNotPresent")).toEqual([backingOff, 6]);
    expect(world.count("pullImage")).toBe(1);
    await world.clock.advance(6_000);
    expect(await world.refusal("IfNotPresent")).toEqual([`ErrImagePull: cannot pull ${why}`, 20]);
  });

  test("doubles from 10 s to 300 s", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NOT_FOUND, { times: Infinity });
    const waits: unknown[] = [];
    for (let round = 0; round < 8; round += 1) {
      const [, wait = 0] = await world.refusal("IfNotPresent");
      waits.push(wait);
      await world.clock.advance(wait * 1000);
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test("is spread, so that a fleet does not come back as one", async () => {
    const early = new World({ pullable: [] }, { random: 0 });
    const late = new World({ pullable: [] }, { random: 1 });
    expect((await early.refusal("IfNotPresent"))[1]).toBe(9);
    expect((await late.refusal("IfNotPresent"))[1]).toBe(11);
  });

  test("starts anew after a success", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NOT_FOUND, { times: 2 });
    await world.refusal("Always");
    await world.clock.advance(10_000);
    await world.refusal("Always");
    await world.clock.advance(20_000);
    await world.ensure("Always");
    world.cri.faults.order("pullImage", NOT_FOUND);
    expect((await world.refusal("Always"))[1]).toBe(10);
  });

  test("of one image does not hold another", async () => {
    const world = new World({ pullable: ["r.test/other:1"] });
    await world.refusal("IfNotPresent");
    expect((await world.ensure("IfNotPresent", { image: "r.test/other:1" })).how).toBe("Pulled");
  });

  test("holds the same image under another spelling", async () => {
    const world = new World({ pullable: [] });
    await world.refusal("IfNotPresent", "busybox");
    const [refusal] = await world.refusal("IfNotPresent", "docker.io/library/busybox:latest");
    expect(refusal).toStartWith("ImagePullBackOff: ");
  });

  test("an image that arrived by another way ends the waiting", async () => {
    const world = new World({ pullable: [] });
    await world.refusal("IfNotPresent");
    world.cri.addImage(IMAGE);
    expect((await world.ensure("IfNotPresent")).how).toBe("Present");
  });

  test("a runtime that went away is not the image's fault", async () => {
    const world = new World();
    const details = "no connection to unix:///x: connect ENOENT";
    world.cri.faults.order("pullImage", { type: "fail", code: GrpcCode.UNAVAILABLE, details });
    const [refusal, wait] = await world.refusal("IfNotPresent");
    expect(refusal).toStartWith("ErrImagePull: ");
    expect(wait).toBeUndefined();
    expect((await world.ensure("IfNotPresent")).how).toBe("Pulled");
  });
});

describe("many at once", () => {
  test("fifty pods with one image cost one pull, and one look before and after it", async () => {
    const world = new World({ latencyMs: { imageStatus: 5, pullImage: 1_000 } });
    const all = Promise.all(Array.from({ length: 50 }, () => world.ensure("IfNotPresent")));
    await world.clock.advance(2_000);
    expect(new Set((await all).map(({ ref }) => ref))).toEqual(new Set([idOf(IMAGE)]));
    expect([world.count("imageStatus"), world.count("pullImage")]).toEqual([2, 1]);
  });

  test("a failure is everybody's, and is counted once", async () => {
    const world = new World({ pullable: [], latencyMs: { pullImage: 1_000 } });
    const all = Promise.all(Array.from({ length: 5 }, () => world.refusal("IfNotPresent")));
    await world.clock.advance(2_000);
    expect(new Set((await all).map(([text]) => text.split(":")[0]))).toEqual(
      new Set(["ErrImagePull"]),
    );
    expect(world.count("pullImage")).toBe(1);
    expect((await world.refusal("IfNotPresent"))[1]).toBe(9);
  });

  test("not more than three pulls run, the others follow in their order", async () => {
    const world = new World({ latencyMs: { pullImage: 1_000 } });
    const start = world.clock.monotonic();
    const all = Promise.all(
      [1, 2, 3, 4, 5, 6, 7].map((n) => world.ensure("IfNotPresent", { image: `r.test/app:${n}` })),
    );
    await world.clock.advance(5_000);
    await all;
    const pulls = world.cri.calls.filter(({ call }) => call === "pullImage");
    expect(pulls.map(({ at }) => at - start)).toEqual([0, 0, 0, 1000, 1000, 1000, 2000]);
  });

  test("serialized, one pull runs at a time", async () => {
    const limits = { ...THREE, parallel: 1 };
    const world = new World({ latencyMs: { pullImage: 1_000 } }, { limits });
    const start = world.clock.monotonic();
    const all = Promise.all(
      [1, 2, 3].map((n) => world.ensure("IfNotPresent", { image: `r.test/app:${n}` })),
    );
    await world.clock.advance(5_000);
    await all;
    const pulls = world.cri.calls.filter(({ call }) => call === "pullImage");
    expect(pulls.map(({ at }) => at - start)).toEqual([0, 1_000, 2_000]);
  });

  test("a burst begins at once, the others at the rate", async () => {
    const limits = { parallel: Number.POSITIVE_INFINITY, perSecond: 5, burst: 3 };
    const world = new World({ latencyMs: { pullImage: 1_000 } }, { limits });
    const start = world.clock.monotonic();
    const all = Promise.all(
      [1, 2, 3, 4, 5].map((n) => world.ensure("IfNotPresent", { image: `r.test/app:${n}` })),
    );
    await world.clock.advance(5_000);
    await all;
    const pulls = world.cri.calls.filter(({ call }) => call === "pullImage");
    expect(pulls.map(({ at }) => at - start)).toEqual([0, 0, 0, 200, 400]);
  });

  test("one image is pulled once at a time, also with other credentials", async () => {
    const world = new World({ latencyMs: { pullImage: 1_000 } });
    const start = world.clock.monotonic();
    const as = (username: string): Promise<EnsuredImage> =>
      world.puller.ensure(IMAGE, "Always", {
        signal: new AbortController().signal,
        access: () => ({
          key: username,
          async *list() {
            yield { username, password: "" };
          },
        }),
      });
    const all = Promise.all([as("ann"), as("bob")]);
    await world.clock.advance(5_000);
    await all;
    const pulls = world.cri.calls.filter(({ call }) => call === "pullImage");
    expect(pulls.map(({ at }) => at - start)).toEqual([0, 1_000]);
  });

  test("one who leaves disturbs nobody", async () => {
    const world = new World({ latencyMs: { pullImage: 1_000 } });
    const leaver = new AbortController();
    const left = world.ensure("IfNotPresent", { signal: leaver.signal }).catch(String);
    const stays = world.ensure("IfNotPresent");
    await world.clock.advance(500);
    leaver.abort(new Error("not wanted any more"));
    expect(await left).toBe("Error: not wanted any more");
    await world.clock.advance(500);
    expect((await stays).how).toBe("Pulled");
    expect(world.count("pullImage")).toBe(1);
  });

  test("when the last one leaves, the pull ends, costs no back-off, and the next one pulls anew", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", { type: "hang" });
    const leavers = [new AbortController(), new AbortController()];
    const left = leavers.map(({ signal }) =>
      world.ensure("IfNotPresent", { signal }).catch(String),
    );
    await world.clock.settle();
    for (const leaver of leavers) leaver.abort(new Error("gone"));
    expect(await Promise.all(left)).toEqual(["Error: gone", "Error: gone"]);
    expect((await world.ensure("IfNotPresent")).how).toBe("Pulled");
    expect(world.count("pullImage")).toBe(2);
  });

  test("one who leaves while it waits for its turn never pulls", async () => {
    const world = new World({ latencyMs: { pullImage: 1_000 } });
    const busy = [1, 2, 3].map((n) => world.ensure("IfNotPresent", { image: `r.test/app:${n}` }));
    await world.clock.settle();
    const leaver = new AbortController();
    const left = world
      .ensure("IfNotPresent", { image: "r.test/app:4", signal: leaver.signal })
      .catch(String);
    await world.clock.settle();
    leaver.abort(new Error("gone"));
    await world.clock.advance(3_000);
    await Promise.all(busy);
    expect(await left).toBe("Error: gone");
    expect(world.count("pullImage")).toBe(3);
  });

  test("one who has left already asks nobody", async () => {
    const world = new World();
    const signal = AbortSignal.abort(new Error("gone"));
    expect(await world.ensure("Always", { signal }).catch(String)).toBe("Error: gone");
    expect(world.cri.calls).toEqual([]);
  });
});

describe("events", () => {
  const present = `Normal Pulled: Container image "${IMAGE}" already present on machine`;
  const pulling = `Normal Pulling: Pulling image "${IMAGE}"`;
  const pulled = (took: string) =>
    `Normal Pulled: Successfully pulled image "${IMAGE}" in ${took} including waiting). Image size: 1000 bytes.`;

  test("tell of an image that is here", async () => {
    expect(await new World({ images: [IMAGE] }).told("IfNotPresent")).toEqual([present]);
    expect(await new World({ images: [IMAGE] }).told("Never")).toEqual([present]);
  });

  test("tell of a pull, how long it took and how large the image is", async () => {
    const world = new World({ latencyMs: { pullImage: 1_200 } });
    const told = world.told("IfNotPresent");
    await world.clock.advance(5_000);
    expect(await told).toEqual([pulling, pulled("1.2s (1.2s")]);
  });

  test("go to everybody who shares a pull, each with its own waiting", async () => {
    const world = new World({ latencyMs: { pullImage: 2_000 } });
    const first = world.told("IfNotPresent");
    await world.clock.advance(500);
    const second = world.told("IfNotPresent");
    await world.clock.advance(5_000);
    expect(await first).toEqual([pulling, pulled("2s (2s")]);
    expect(await second).toEqual([pulling, pulled("1.5s (1.5s")]);
    expect(world.count("pullImage")).toBe(1);
  });

  test("count the queue for a place as waiting", async () => {
    const world = new World({ latencyMs: { pullImage: 1_000 } });
    const others = [1, 2, 3].map((n) => world.ensure("Always", { image: `r.test/other:${n}` }));
    await world.clock.settle();
    const told = world.told("Always");
    await world.clock.advance(5_000);
    await Promise.all(others);
    expect(await told).toEqual([pulling, pulled("1s (2s")]);
  });

  test("tell why a pull failed, and then that it is held back", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NOT_FOUND);
    expect(await world.told("IfNotPresent")).toEqual([
      pulling,
      `Warning Failed: Failed to pull image "${IMAGE}": PullImage: not found`,
      "Warning Failed: Error: ErrImagePull",
    ]);
    expect(await world.told("IfNotPresent")).toEqual([
      `Normal BackOff: Back-off pulling image "${IMAGE}"`,
      "Warning Failed: Error: ImagePullBackOff",
    ]);
  });

  test("tell that the image of before stands in for one that cannot be reached", async () => {
    const world = new World({ images: [IMAGE] });
    world.cri.faults.order("pullImage", NO_REGISTRY);
    const failed = `Warning Failed: Failed to pull image "${IMAGE}": PullImage: ${NO_REGISTRY.details}`;
    expect(await world.told("Always")).toEqual([pulling, failed, present]);
    expect(await world.told("Always")).toEqual([present]);
  });

  test("tell of a pull without the size when the runtime goes away after it, and that the image stays unknown", async () => {
    const world = new World();
    const isPulled = (): boolean => world.count("pullImage") > 0;
    world.cri.faults.order("imageStatus", DENIED, { when: isPulled });
    expect(await world.told("Always")).toEqual([
      pulling,
      `Normal Pulled: Successfully pulled image "${IMAGE}" in 0s (0s including waiting).`,
      `Warning InspectFailed: Failed to inspect image "${IMAGE}": ImageStatus: denied`,
      "Warning Failed: Error: ImageInspectError",
    ]);
  });

  test("say nothing of a failure to one who has left", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", { type: "hang" });
    const leaver = new AbortController();
    const told = world.told("Always", { signal: leaver.signal });
    await world.clock.settle();
    leaver.abort(new AgentError({ reason: "PodDeleted", message: "gone" }));
    expect(await told).toEqual([pulling]);
  });
});

describe("whom an image runs as", () => {
  test("is known of one that is here, by number or by name", async () => {
    const world = new World({ images: [IMAGE] });
    world.cri.addImage("r.test/numbered:1", { uid: 1000n });
    world.cri.addImage("r.test/named:1", { username: "app" });
    expect(await world.ensure("IfNotPresent")).toMatchObject({ username: "" });
    expect(await world.ensure("IfNotPresent")).not.toHaveProperty("uid");
    const of = (image: string) => world.ensure("IfNotPresent", { image });
    expect(await of("r.test/numbered:1")).toMatchObject({ uid: 1000, username: "" });
    const named = await of("r.test/named:1");
    expect([named.uid, named.username]).toEqual([undefined, "app"]);
  });

  test("is asked for anew when a pull has brought another image under the name", async () => {
    const world = new World({ images: [IMAGE] });
    const pull = world.cri.pullImage.bind(world.cri);
    world.cri.pullImage = async (args, options) => {
      const ref = await pull(args, options);
      world.cri.addImage(IMAGE, { uid: 7n });
      return ref;
    };
    expect(await world.ensure("Always")).toMatchObject({ uid: 7, how: "Pulled" });
    expect(world.cri.callNames()).toEqual(["imageStatus", "pullImage", "imageStatus"]);
  });

  test("is not guessed: an image that has gone again is no image", async () => {
    const world = new World();
    const pull = world.cri.pullImage.bind(world.cri);
    world.cri.pullImage = async (args, options) => {
      const ref = await pull(args, options);
      world.cri.images.delete(IMAGE);
      return ref;
    };
    const [refusal] = await world.refusal("IfNotPresent");
    expect(refusal).toStartWith(`ImageInspectError: image "${IMAGE}" was pulled, but`);
  });
});

describe("a pull that runs", () => {
  const bytes = (done: number): PulledBytes => ({ bytes: { done, total: 1000 }, mark: `${done}` });

  test("is measured, and each tenth is a step", async () => {
    const world = new World({ latencyMs: { pullImage: 60_000 } });
    const pull = world.ensure("IfNotPresent");
    world.pulledBytes = bytes(10);
    await world.clock.advance(10_000);
    expect(world.board.of(IMAGE)).toEqual({ done: 10, total: 1000 });
    expect(world.steps).toBe(1);
    world.pulledBytes = bytes(99);
    await world.clock.advance(10_000);
    expect(world.steps).toBe(1);
    world.pulledBytes = bytes(100);
    await world.clock.advance(10_000);
    expect(world.steps).toBe(2);
    await world.clock.advance(30_000);
    expect((await pull).how).toBe("Pulled");
    expect([world.board.of(IMAGE), world.steps]).toEqual([undefined, 3]);
  });

  test("has events of its progress, more and more seldom", async () => {
    const world = new World({ latencyMs: { pullImage: 240_000 } });
    const told = world.told("IfNotPresent");
    world.pulledBytes = bytes(500);
    await world.clock.advance(240_000);
    const progress = `Normal Pulling: Pulling image "${IMAGE}": 0.0 MiB of 0.0 MiB (50 %)`;
    expect((await told).slice(1, -1)).toEqual([progress, progress, progress]);
  });

  test("without a byte for ten minutes has stalled: it ends, and is tried again after a back-off", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", { type: "hang" });
    const refusal = world.refusal("IfNotPresent");
    world.pulledBytes = bytes(300);
    await world.clock.advance(599_000);
    world.pulledBytes = bytes(301);
    await world.clock.advance(598_000);
    expect(world.board.of(IMAGE)).toEqual({ done: 301, total: 1000 });
    await world.clock.advance(10_000);
    const [message, wait = 0] = await refusal;
    expect(message).toBe(
      `ErrImagePull: cannot pull image "${IMAGE}": PullImage: no byte has arrived for 10 minutes after 0.0 MiB of 0.0 MiB (30 %); the registry or the line has stalled`,
    );
    await world.clock.advance(wait * 1000 + 10_000);
    expect((await world.ensure("IfNotPresent")).how).toBe("Pulled");
  });

  test("may take an hour to write out what has arrived", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", { type: "hang" });
    const refusal = world.refusal("IfNotPresent");
    world.pulledBytes = bytes(1000);
    await world.clock.advance(3_590_000);
    expect(world.board.of(IMAGE)).toEqual({ done: 1000, total: 1000 });
    await world.clock.advance(20_000);
    expect((await refusal)[0]).toContain("all bytes have arrived");
  });

  test("of which the runtime reports nothing has a day", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", { type: "hang" });
    const refusal = world.refusal("IfNotPresent");
    await world.clock.advance(86_000_000);
    expect(world.count("pullImage")).toBe(1);
    await world.clock.advance(500_000);
    expect((await refusal)[0]).toContain("not finished after 24 hours");
  });

  test("keeps what has arrived while it fails, and no longer", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NO_REGISTRY);
    await world.refusal("IfNotPresent");
    expect([...world.kept]).toEqual([IMAGE]);
    await world.clock.advance(10_000);
    await world.ensure("IfNotPresent");
    expect([...world.kept]).toEqual([]);
  });

  test("that fails again and again waits no longer each time if it gets further each time", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", NO_REGISTRY, { times: 5 });
    const waits: unknown[] = [];
    for (const done of [10, 20, 30, 30, 30]) {
      world.pulledBytes = bytes(done);
      const [, wait = 0] = await world.refusal("IfNotPresent");
      waits.push(wait);
      await world.clock.advance(wait * 1000);
    }
    expect(waits).toEqual([10, 10, 10, 20, 40]);
  });

  test("is measured no longer once nobody wants the image", async () => {
    const world = new World();
    world.cri.faults.order("pullImage", { type: "hang" });
    const leaver = new AbortController();
    const left = world.ensure("IfNotPresent", { signal: leaver.signal }).catch(String);
    world.pulledBytes = bytes(300);
    await world.clock.advance(10_000);
    leaver.abort(new Error("gone"));
    await left;
    await world.clock.settle();
    expect(world.board.of(IMAGE)).toBeUndefined();
    expect([...world.kept]).toEqual([]);
  });
});
