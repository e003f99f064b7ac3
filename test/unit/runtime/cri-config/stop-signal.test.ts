import { expect, test } from "bun:test";
import { Signal } from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import { criSignal } from "../../../../src/runtime/cri-config/container-config.ts";
import { STOP_SIGNALS } from "../../../../src/api/v1/lifecycle.ts";

test("every signal that a spec may name is known, each by its own number", () => {
  const numbers = [...STOP_SIGNALS].map((name) => criSignal(name));
  expect(numbers).not.toContain(undefined);
  expect(numbers).not.toContain(Signal.RUNTIME_DEFAULT);
  expect(new Set(numbers).size).toBe(STOP_SIGNALS.size);
});

test("signals are spelt as CRI does", () => {
  expect(criSignal("SIGUSR1")).toBe(Signal.SIGUSR1);
  expect(criSignal("SIGRTMIN+3")).toBe(Signal.SIGRTMINPLUS3);
  expect(criSignal("SIGRTMAX-14")).toBe(Signal.SIGRTMAXMINUS14);
  expect(criSignal("RUNTIME_DEFAULT")).toBeUndefined();
  expect(criSignal("SIGNOTHING")).toBeUndefined();
});
