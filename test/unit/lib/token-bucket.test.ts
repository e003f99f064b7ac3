import { expect, test } from "bun:test";
import { takeToken, type TokenBucket } from "../../../src/lib/token-bucket.ts";

const policy = { burst: 3, perSecond: 0.5 };

test("a bucket is emptied at once and refilled over time, never above its burst", () => {
  let bucket: TokenBucket | undefined;
  const taken = (now: number): boolean => {
    const next = takeToken(bucket, now, policy);
    bucket = next ?? bucket;
    return next !== undefined;
  };
  expect([taken(0), taken(0), taken(0), taken(0)]).toEqual([true, true, true, false]);
  expect([taken(1_999), taken(2_000), taken(2_001)]).toEqual([false, true, false]);
  expect([1, 2, 3, 4].map(() => taken(1_000_000))).toEqual([true, true, true, false]);
});
