import { describe, expect, test } from "bun:test";

import { RefusalMemory } from "../../../src/trust/last-rejected.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const HOUR = 3_600_000;
const refusal = (digest: string, message = "no") => ({ code: 410, digest, message, generation: 3 });

describe("the memory of refusals", () => {
  test("reports a new refusal at once", () => {
    const clock = new VirtualClock();
    const memory = new RefusalMemory(clock);
    expect(memory.last()).toBeUndefined();
    expect(memory.note(refusal("a"))).toBe(true);
    expect(memory.last()).toEqual({ ...refusal("a"), at: clock.now(), count: 1 });
    expect(memory.note(refusal("b"))).toBe(true);
    expect(memory.last()).toMatchObject({ digest: "b", count: 1 });
  });

  test("counts a repetition and reports it once an hour, whatever the wall clock does", async () => {
    const clock = new VirtualClock();
    const memory = new RefusalMemory(clock);
    memory.note(refusal("a"));
    await clock.advance(HOUR - 1);
    clock.stepWall(10 * HOUR);
    expect(memory.note(refusal("a"))).toBe(false);
    expect(memory.last()).toMatchObject({ count: 1 });
    await clock.advance(1);
    expect(memory.note(refusal("a"))).toBe(true);
    expect(memory.last()).toEqual({ ...refusal("a"), at: clock.now(), count: 3 });
  });

  test("alternating documents are reported once each", () => {
    const memory = new RefusalMemory(new VirtualClock());
    const told = ["a", "b", "a", "b", "a"].map((digest) => memory.note(refusal(digest)));
    expect(told).toEqual([true, true, false, false, false]);
  });

  test("one digest that is refused for another reason is reported again", () => {
    const memory = new RefusalMemory(new VirtualClock());
    memory.note(refusal("a"));
    expect(memory.note(refusal("a", "no, because of something else"))).toBe(true);
  });

  test("does not grow with the number of documents", () => {
    const memory = new RefusalMemory(new VirtualClock());
    for (let n = 0; n < 100; n += 1) memory.note(refusal(`d${n}`));
    expect(memory.note(refusal("d99"))).toBe(false);
    expect(memory.note(refusal("d0"))).toBe(true);
  });

  test("forgets on request", () => {
    const memory = new RefusalMemory(new VirtualClock());
    memory.note(refusal("a"));
    memory.forget();
    expect(memory.last()).toBeUndefined();
    expect(memory.note(refusal("a"))).toBe(true);
  });
});
