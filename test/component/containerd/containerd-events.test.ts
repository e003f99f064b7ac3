import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { containerdEvents } from "../../../src/containerd/containerd-events.ts";
import {
  TaskDeleteSchema,
  TaskExitSchema,
} from "../../../src/containerd/gen/containerd/events/task_pb.ts";
import { EnvelopeSchema } from "../../../src/containerd/gen/containerd/types/types_pb.ts";
import type { RuntimeEvent } from "../../../src/containerd/runtime-events.ts";
import { until } from "../../fakes/fake-cri-clock.ts";
import { FakeContainerdState, taskEnvelope } from "../../fakes/fake-cri-containerd.ts";
import { CONTAINER, SANDBOX, serveRuntime, type ServedRuntime } from "../cri/served-runtime.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

interface Subscription {
  readonly seen: RuntimeEvent[];
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
}

function subscribe(served: ServedRuntime): Subscription {
  const { channel, clock } = served;
  const stop = new AbortController();
  const seen: RuntimeEvent[] = [];
  const read = async (): Promise<string> => {
    for await (const event of containerdEvents({ channel, clock }).subscribe(stop.signal))
      seen.push(event);
    return "quiet";
  };
  const ended = read().catch((thrown: unknown) => thrown);
  return { seen, stop, ended };
}

const serve = (state: FakeContainerdState): Promise<ServedRuntime> =>
  serveRuntime({ images: ["local/app:1"] }, { containerd: state });

test("says Subscribed first, then every step of a container's life", async () => {
  const state = new FakeContainerdState();
  using served = await serve(state);
  const { client, runtime } = served;
  const { seen, stop, ended } = subscribe(served);
  await until(() => seen.length === 1);
  const sandboxId = await client.runPodSandbox({ config: SANDBOX });
  const container = { sandboxId, config: CONTAINER, sandboxConfig: SANDBOX };
  const id = await client.createContainer(container);
  await client.startContainer(id);
  runtime.exit(id, 137, { oom: true });
  await until(() => seen.length === 8);
  expect(seen).toEqual([
    { type: "Subscribed" },
    { type: "Created", id: sandboxId },
    { type: "Started", id: sandboxId },
    { type: "Created", id },
    { type: "Started", id },
    { type: "OOM", id },
    { type: "Exited", id },
    { type: "Deleted", id },
  ]);
  stop.abort();
  expect(await ended).toBe("quiet");
});

test("says Subscribed only once the subscription has taken effect, however long that takes", async () => {
  const state = new FakeContainerdState();
  state.lostPublishes = 3;
  using served = await serve(state);
  const { seen, stop, ended } = subscribe(served);
  for (const [left, wait] of [
    [2, 1],
    [1, 2],
    [0, 4],
  ] as const) {
    await until(() => state.lostPublishes === left && served.clock.nextIn === wait);
    expect(seen).toEqual([]);
    served.clock.advance(wait);
  }
  await until(() => seen.length === 1);
  expect(seen).toEqual([{ type: "Subscribed" }]);
  stop.abort();
  await ended;
});

test("an event that comes before the marker is not lost", async () => {
  const state = new FakeContainerdState();
  state.lostPublishes = Infinity;
  using served = await serve(state);
  const { seen, stop, ended } = subscribe(served);
  await until(() => served.runtime.events.subscribers === 1);
  state.send(taskEnvelope("exit", TaskExitSchema, "c1", "c1"));
  await until(() => seen.length === 2);
  expect(seen).toEqual([{ type: "Subscribed" }, { type: "Exited", id: "c1" }]);
  stop.abort();
  await ended;
});

test("processes exec'ed into a container and topics of others are dropped", async () => {
  const state = new FakeContainerdState();
  using served = await serve(state);
  const { seen, stop, ended } = subscribe(served);
  await until(() => seen.length === 1);
  state.send(taskEnvelope("exit", TaskExitSchema, "c1", "exec-7"));
  state.send(taskEnvelope("delete", TaskDeleteSchema, "c1", "exec-7"));
  state.send(create(EnvelopeSchema, { topic: "/agent/subscribed", namespace: "k8s.io" }));
  state.send(create(EnvelopeSchema, { topic: "/tasks/paused", namespace: "k8s.io" }));
  state.send(taskEnvelope("delete", TaskDeleteSchema, "c1"));
  await until(() => seen.length > 1);
  expect(seen).toEqual([{ type: "Subscribed" }, { type: "Deleted", id: "c1" }]);
  stop.abort();
  await ended;
});

test("asks for the namespace of CRI only", async () => {
  const state = new FakeContainerdState();
  using served = await serve(state);
  const { seen, stop, ended } = subscribe(served);
  await until(() => seen.length === 1);
  expect(state.filters).toHaveLength(1);
  for (const filter of state.filters.flat()) expect(filter).toStartWith("namespace==k8s.io,");
  stop.abort();
  await ended;
});

test("a proper end of the stream is quiet, a broken one throws, a new subscription works", async () => {
  const state = new FakeContainerdState();
  using served = await serve(state);
  const first = subscribe(served);
  await until(() => first.seen.length === 1);
  served.runtime.events.end();
  expect(await first.ended).toBe("quiet");

  const second = subscribe(served);
  await until(() => second.seen.length === 1);
  served.killServer();
  expect(await second.ended).toMatchObject({ call: "Subscribe", outcome: "unknown" });
});

test("an abort before the subscription stands ends it quietly and leaves no timer", async () => {
  const state = new FakeContainerdState();
  state.lostPublishes = Infinity;
  using served = await serve(state);
  const { seen, stop, ended } = subscribe(served);
  await until(() => served.clock.nextIn <= 1000);
  stop.abort();
  expect(await ended).toBe("quiet");
  expect(seen).toEqual([]);
  expect(served.clock.pending).toBe(0);
});

test("no daemon and no event service both throw instead of waiting", async () => {
  using served = await serveRuntime();
  const absent = subscribe(served);
  expect(await absent.ended).toMatchObject({ code: GrpcCode.UNIMPLEMENTED });
  served.killServer();
  const gone = subscribe(served);
  expect(await gone.ended).toMatchObject({ outcome: "unknown" });
});

test("leaving the loop gives the stream back", async () => {
  const state = new FakeContainerdState();
  using served = await serve(state);
  const { channel, clock, runtime } = served;
  const stop = new AbortController();
  for await (const event of containerdEvents({ channel, clock }).subscribe(stop.signal))
    if (event.type === "Subscribed") break;
  await until(() => runtime.events.subscribers === 0);
});

test("an unreadable event ends the iteration with an error", async () => {
  const state = new FakeContainerdState();
  using served = await serve(state);
  const { seen, ended } = subscribe(served);
  await until(() => seen.length === 1);
  const event = { typeUrl: "containerd.events.TaskExit", value: new Uint8Array([0x0a, 0xff]) };
  state.send(create(EnvelopeSchema, { topic: "/tasks/exit", namespace: "k8s.io", event }));
  expect(await ended).toBeInstanceOf(Error);
});
