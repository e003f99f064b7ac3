import { describe, expect, test } from "bun:test";
import { awaitEffect } from "../../../src/server/kube/write/await-effect.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

/** Waits for something that a test makes true; `change` reports a change. */
function waiting(signal = new AbortController().signal) {
  const clock = new VirtualClock();
  const runs = new Set<() => void>();
  const onChange = (run: () => void): Disposable => {
    runs.add(run);
    return { [Symbol.dispose]: () => void runs.delete(run) };
  };
  const state = { isDone: false, result: undefined as boolean | undefined };
  const done = awaitEffect(() => state.isDone, { clock, onChange }, signal).then((result) => {
    state.result = result;
  });
  return { clock, runs, state, done, change: () => runs.forEach((run) => run()) };
}

describe("a change that a client has made", () => {
  test("is waited for until the node has it", async () => {
    const { clock, state, change, runs } = waiting();
    await clock.advance(1000);
    change();
    await clock.advance(1);
    expect(state.result).toBeUndefined();
    state.isDone = true;
    change();
    await clock.advance(1);
    expect([state.result, runs.size]).toEqual([true, 0]);
  });

  test("is not waited for longer than three seconds", async () => {
    const { clock, state, runs } = waiting();
    await clock.advance(3100);
    expect([state.result, runs.size]).toEqual([false, 0]);
  });

  test("is not waited for when the client is gone", async () => {
    const gone = new AbortController();
    const { clock, state } = waiting(gone.signal);
    gone.abort();
    await clock.advance(1);
    expect(state.result).toBe(false);
    const late = waiting(gone.signal);
    await late.clock.advance(1);
    expect(late.state.result).toBe(false);
  });
});
