import { expect, test } from "bun:test";
import { Prefetch } from "../../../src/image/prefetch.ts";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

interface Ask {
  readonly image: string;
  readonly signal: AbortSignal;
  readonly done: PromiseWithResolvers<void>;
}

function world() {
  const clock = new VirtualClock();
  const asks: Ask[] = [];
  const told = { fetched: 0 };
  const prefetch = new Prefetch({
    clock,
    log: createLogger({ clock, level: "error", write: () => undefined }),
    onFetched: () => void (told.fetched += 1),
  });
  prefetch.start(({ spec }, signal) => {
    const done = Promise.withResolvers<void>();
    asks.push({ image: spec.containers[0]?.image ?? "", signal, done });
    return done.promise;
  });
  return { clock, asks, prefetch, told };
}

function held(uid: string): DesiredPod {
  return aDesiredPod(aPod({ containers: [{ ...aContainer("app"), image: `app:${uid}` }] }), {
    source: "mqtt:node",
    uid,
  });
}

const images = (asks: readonly Ask[]): readonly string[] => asks.map(({ image }) => image);

test("the images of a held pod are fetched once, however often it is looked at, and that is told", async () => {
  const { clock, asks, prefetch, told } = world();
  prefetch.want([held("1")]);
  prefetch.want([held("1"), held("2")]);
  expect(images(asks)).toEqual(["app:1", "app:2"]);
  expect(told.fetched).toBe(0);
  asks[0]?.done.resolve();
  await clock.advance(3_600_000);
  expect(told.fetched).toBe(1);
  prefetch.want([held("1"), held("2")]);
  expect(images(asks)).toEqual(["app:1", "app:2"]);
});

test("what failed is tried again after five minutes, not before", async () => {
  const { clock, asks, prefetch } = world();
  prefetch.want([held("1")]);
  asks[0]?.done.reject(new Error("the registry is away"));
  await clock.advance(299_999);
  prefetch.want([held("1")]);
  expect(asks).toHaveLength(1);
  await clock.advance(1);
  prefetch.want([held("1")]);
  expect(asks).toHaveLength(2);
});

test("who is no longer held is left alone, and may be held again", async () => {
  const { clock, asks, prefetch, told } = world();
  prefetch.want([held("1"), held("2")]);
  prefetch.want([held("2")]);
  expect(asks.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  prefetch.want([held("1"), held("2")]);
  expect(images(asks)).toEqual(["app:1", "app:2", "app:1"]);
  prefetch[Symbol.dispose]();
  expect(asks.every(({ signal }) => signal.aborted)).toBe(true);
  for (const { done } of asks) done.resolve();
  await clock.advance(1);
  expect(told.fetched).toBe(0);
});
