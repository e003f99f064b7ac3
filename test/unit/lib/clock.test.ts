import { expect, test } from "bun:test";
import { ClockFloor } from "../../../src/lib/clock.ts";

test("the floor only rises, and raise() reports whether it did", () => {
  const floor = new ClockFloor(100);
  expect([floor.raise(99), floor.raise(100), floor.at]).toEqual([false, false, 100]);
  expect([floor.raise(101), floor.at]).toEqual([true, 101]);
});
