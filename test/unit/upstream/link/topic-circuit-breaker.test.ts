import { expect, test } from "bun:test";

import {
  afterDisconnect,
  afterRefusal,
  afterSuccess,
  anyOnProbation,
  nextRetry,
  RETRY_MS,
  topicsSetAside,
  type Suspects,
} from "../../../../src/upstream/link/topic-circuit-breaker.ts";

const none: Suspects = new Map();
const isSetAside = (suspects: Suspects, topic: string, now: number): boolean =>
  topicsSetAside(suspects, now).includes(topic);

test("sets a topic aside that was unanswered at three disconnects in a row", () => {
  const once = afterDisconnect(none, ["a", "b"], 0);
  const twice = afterDisconnect(once, ["a"], 1);
  expect(anyOnProbation(twice, 1)).toBe(true);
  const thrice = afterDisconnect(twice, ["a"], 2);
  expect(isSetAside(twice, "a", 2)).toBe(false);
  expect(isSetAside(thrice, "a", 2)).toBe(true);
  expect(isSetAside(thrice, "b", 2)).toBe(false);
  expect(anyOnProbation(thrice, 2)).toBe(false);
});

test("forgets a strike when a disconnect finds the topic answered", () => {
  let suspects = afterDisconnect(none, ["a"], 0);
  suspects = afterDisconnect(suspects, ["a"], 1);
  suspects = afterDisconnect(suspects, [], 2);
  suspects = afterDisconnect(suspects, ["a"], 3);
  expect(suspects.get("a")).toEqual({ strikes: 1 });
});

test("retries after an hour, with one strike left", () => {
  let suspects = none;
  for (const at of [0, 1, 2]) suspects = afterDisconnect(suspects, ["a"], at);
  expect(nextRetry(suspects, 3)).toBe(2 + RETRY_MS);
  expect(isSetAside(suspects, "a", 2 + RETRY_MS)).toBe(false);
  const again = afterDisconnect(suspects, ["a"], 3 + RETRY_MS);
  expect(isSetAside(again, "a", 3 + RETRY_MS)).toBe(true);
});

test("keeps what is set aside over a disconnect, and lets it go when it was taken", () => {
  const refused = afterRefusal(none, "a", 0);
  const later = afterDisconnect(refused, [], 5);
  expect(isSetAside(later, "a", 5)).toBe(true);
  expect(afterSuccess(later, "a").size).toBe(0);
});
