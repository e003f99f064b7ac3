import { expect, test } from "bun:test";

import {
  afterMessage,
  subscribeAgainAt,
  type MessageBurst,
} from "../../../../src/upstream/link/message-burst.ts";

/** The burst after `count` messages, `everyMs` apart, the first at 0. */
function burstOf(count: number, everyMs: number): MessageBurst {
  let burst: MessageBurst | undefined;
  for (let sent = 0; sent < count; sent += 1) burst = afterMessage(burst, sent * everyMs);
  if (burst === undefined) throw new Error("a burst has messages");
  return burst;
}

test("what a node has of retained messages is no burst, 64 messages are one", () => {
  expect(subscribeAgainAt(burstOf(63, 10))).toBeUndefined();
  expect(subscribeAgainAt(burstOf(64, 10))).toBe(630 + 5_000);
});

test("a pause begins a new count, but does not end a long burst before its SUBSCRIBE", () => {
  const some = burstOf(63, 10);
  expect(subscribeAgainAt(afterMessage(some, some.lastAt + 1_001))).toBeUndefined();
  const long = burstOf(64, 10);
  expect(subscribeAgainAt(afterMessage(long, long.lastAt + 4_000))).toBe(630 + 4_000 + 5_000);
});

test("a burst that does not end is answered after a minute", () => {
  expect(subscribeAgainAt(burstOf(600, 500))).toBe(63 * 500 + 60_000);
});
