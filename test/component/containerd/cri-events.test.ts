import { expect, test } from "bun:test";
import { criEvents } from "../../../src/containerd/cri-events.ts";
import type { RuntimeEvent } from "../../../src/containerd/runtime-events.ts";
import { isUnimplemented } from "../../../src/cri/cri-error.ts";
import { until } from "../../fakes/fake-cri-clock.ts";
import { SANDBOX, serveRuntime, type ServedRuntime } from "../cri/served-runtime.ts";

function subscribe(served: ServedRuntime): {
  readonly seen: RuntimeEvent[];
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
} {
  const { client: cri, clock } = served;
  const stop = new AbortController();
  const seen: RuntimeEvent[] = [];
  const read = async (): Promise<string> => {
    for await (const event of criEvents({ cri, clock }).subscribe(stop.signal)) seen.push(event);
    return "quiet";
  };
  return { seen, stop, ended: read().catch((thrown: unknown) => thrown) };
}

test("translates CRI's events, and says Subscribed again when the gap has closed", async () => {
  using served = await serveRuntime({ servesContainerEvents: true });
  const { client, clock, runtime } = served;
  const { seen, stop, ended } = subscribe(served);
  await until(() => seen.length === 1 && runtime.events.subscribers === 1);
  const id = await client.runPodSandbox({ config: SANDBOX });
  await until(() => seen.length === 3);
  await until(() => clock.pending === 1);
  clock.advance(2000);
  await until(() => seen.length === 4);
  await client.removePodSandbox(id);
  await until(() => seen.length === 6);
  expect(seen).toEqual([
    { type: "Subscribed" },
    { type: "Created", id },
    { type: "Started", id },
    { type: "Subscribed" },
    { type: "Exited", id },
    { type: "Deleted", id },
  ]);
  stop.abort();
  expect(await ended).toBe("quiet");
  expect(clock.pending).toBe(0);
});

test("ends quietly with the stream and throws with a broken one", async () => {
  using served = await serveRuntime({ servesContainerEvents: true });
  const { runtime } = served;
  const first = subscribe(served);
  await until(() => first.seen.length === 1 && runtime.events.subscribers === 1);
  runtime.events.end();
  expect(await first.ended).toBe("quiet");

  const second = subscribe(served);
  await until(() => second.seen.length === 1 && runtime.events.subscribers === 1);
  served.killServer();
  expect(await second.ended).toMatchObject({ outcome: "unknown" });
});

test("leaving the loop gives the stream back although the runtime is silent", async () => {
  using served = await serveRuntime({ servesContainerEvents: true });
  const { client: cri, clock, runtime } = served;
  for await (const event of criEvents({ cri, clock }).subscribe(new AbortController().signal))
    if (event.type === "Subscribed") break;
  await until(() => runtime.events.subscribers === 0 && clock.pending === 0);
});

test("a runtime without the call is recognizable", async () => {
  using served = await serveRuntime();
  expect(isUnimplemented(await subscribe(served).ended)).toBe(true);
});
