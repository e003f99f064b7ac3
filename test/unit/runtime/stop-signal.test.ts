import { describe, expect, test } from "bun:test";
import { STOP_SIGNALS } from "../../../src/api/stop-signals.ts";
import { Signal } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { criSignal, supportsStopSignal } from "../../../src/runtime/stop-signal.ts";

describe("supportsStopSignal", () => {
  const versions: Record<string, boolean> = {
    "1.6.20~ds1": false,
    "v1.7.27": false,
    "v2.0.0": false,
    "v2.3.1": false,
    "v2.4.0-rc.1": true,
    "2.4": true,
    "v2.10.0": true,
    "v3.0.0": true,
    "2": false,
    unknown: false,
    "": false,
  };
  test.each(Object.entries(versions))("containerd %p: %p", (runtimeVersion, expected) => {
    expect(supportsStopSignal({ runtimeName: "containerd", runtimeVersion })).toBe(expected);
  });

  test("nothing is promised for other runtimes", () => {
    expect(supportsStopSignal({ runtimeName: "other", runtimeVersion: "9.0.0" })).toBe(false);
  });
});

describe("criSignal", () => {
  test("knows every signal that a spec may name, each by its own number", () => {
    const numbers = [...STOP_SIGNALS].map((name) => criSignal(name));
    expect(numbers).not.toContain(undefined);
    expect(numbers).not.toContain(Signal.RUNTIME_DEFAULT);
    expect(new Set(numbers).size).toBe(STOP_SIGNALS.size);
  });

  test("spells as CRI does", () => {
    expect(criSignal("SIGUSR1")).toBe(Signal.SIGUSR1);
    expect(criSignal("SIGRTMIN+3")).toBe(Signal.SIGRTMINPLUS3);
    expect(criSignal("SIGRTMAX-14")).toBe(Signal.SIGRTMAXMINUS14);
    expect(criSignal("RUNTIME_DEFAULT")).toBeUndefined();
    expect(criSignal("SIGNOTHING")).toBeUndefined();
  });
});
