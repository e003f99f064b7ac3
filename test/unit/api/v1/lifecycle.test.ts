import { describe, expect, test } from "bun:test";

import { Signal } from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import { containerOf, refusals, specOf, withInit, writtenPod } from "../written-pod.ts";
import { type Lifecycle, STOP_SIGNALS } from "../../../../src/api/v1/lifecycle.ts";

describe("a lifecycle as written", () => {
  const cases: Readonly<
    Record<string, { readonly written: unknown; readonly expected: Lifecycle }>
  > = {
    "that is empty asks for nothing": { written: {}, expected: {} },
    "that is null asks for nothing": { written: null, expected: {} },
    "may run a command and ask by HTTP": {
      written: {
        postStart: { exec: { command: ["touch", "/up"] } },
        preStop: { httpGet: { port: "http" } },
      },
      expected: {
        postStart: { type: "exec", command: ["touch", "/up"] },
        preStop: { type: "httpGet", path: "/", port: "http", scheme: "HTTP", httpHeaders: [] },
      },
    },
    "may sleep for no time at all": {
      written: { preStop: { sleep: {} } },
      expected: { preStop: { type: "sleep", seconds: 0 } },
    },
    "may sleep for the whole grace period": {
      written: { postStart: { sleep: { seconds: 30 } } },
      expected: { postStart: { type: "sleep", seconds: 30 } },
    },
    "may name its signal, without naming the system": {
      written: { stopSignal: "SIGUSR1" },
      expected: { stopSignal: "SIGUSR1" },
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { written, expected }) => {
    expect(containerOf({ lifecycle: written })?.lifecycle).toEqual(expected);
  });
});

describe("a lifecycle is refused if", () => {
  const sleepRule = "must be non-negative and not more than terminationGracePeriodSeconds (30)";
  const cases: Readonly<Record<string, readonly [object, string]>> = {
    "a hook has no handler": [
      { preStop: {} },
      ".preStop: Required value: must specify a handler type",
    ],
    "a hook has two handlers": [
      { preStop: { sleep: { seconds: 1 }, exec: { command: ["x"] } } },
      ".preStop.sleep: Forbidden: may not specify more than 1 handler type",
    ],
    "a hook connects by TCP": [
      { postStart: { tcpSocket: { port: 80 } } },
      ".postStart.tcpSocket: TCPSocket is NOT supported as a LifecycleHandler; use exec, httpGet or sleep",
    ],
    "a hook sleeps longer than the grace period": [
      { preStop: { sleep: { seconds: 31 } } },
      `.preStop.sleep: Invalid value: 31: ${sleepRule}`,
    ],
    "a hook sleeps for less than no time": [
      { postStart: { sleep: { seconds: -1 } } },
      `.postStart.sleep: Invalid value: -1: ${sleepRule}`,
    ],
    "its signal is unknown": [
      { stopSignal: "SIGTREM" },
      '.stopSignal: Invalid value: "SIGTREM": must be a Linux signal such as "SIGTERM" or "SIGUSR1" (did you mean SIGTERM?)',
    ],
    "its signal has no SIG": [
      { stopSignal: "INT" },
      '.stopSignal: Invalid value: "INT": must be a Linux signal such as "SIGTERM" or "SIGUSR1" (did you mean SIGINT?)',
    ],
    "its signal is empty": [
      { stopSignal: "" },
      '.stopSignal: Invalid value: "": must be a Linux signal such as "SIGTERM" or "SIGUSR1"',
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [lifecycle, error]) => {
    expect(refusals(writtenPod({}, { lifecycle }))).toEqual([
      `spec.containers[0].lifecycle${error}`,
    ]);
  });

  test("it sleeps longer than a negative grace period, which counts as one second", () => {
    const written = { terminationGracePeriodSeconds: -1 };
    expect(specOf(writtenPod(written)).terminationGracePeriodSeconds).toBe(1);
    const lifecycle = { preStop: { sleep: { seconds: 2 } } };
    expect(refusals(writtenPod(written, { lifecycle }))).toEqual([
      "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 2: must be non-negative and not more than terminationGracePeriodSeconds (1)",
    ]);
  });

  test("a sidecar's hook sleeps longer than the grace period", () => {
    const lifecycle = { preStop: { sleep: { seconds: 3 } } };
    const spec = {
      terminationGracePeriodSeconds: 2,
      ...withInit({ restartPolicy: "Always", lifecycle }),
    };
    expect(refusals(writtenPod(spec))).toEqual([
      "spec.initContainers[0].lifecycle.preStop.sleep: Invalid value: 3: must be non-negative and not more than terminationGracePeriodSeconds (2)",
    ]);
  });

  test("but an invalid grace period is reported once, not for each sleep", () => {
    const lifecycle = { preStop: { sleep: { seconds: 3 } } };
    const spec = { terminationGracePeriodSeconds: -1 };
    expect(refusals(writtenPod(spec, { lifecycle }))).toHaveLength(1);
  });
});

test("the signals are those that the runtime interface knows", () => {
  const known = Object.keys(Signal)
    .filter((name) => name.startsWith("SIG"))
    .map((name) => name.replace("PLUS", "+").replace("MINUS", "-"));
  expect([...STOP_SIGNALS].toSorted()).toEqual(known.toSorted());
});

describe("the message of a container's end", () => {
  const cases: Readonly<Record<string, readonly [object, readonly [string, string]]>> = {
    "is in Kubernetes' place and read from the file": [{}, ["/dev/termination-log", "File"]],
    "is there also for an empty path": [
      { terminationMessagePath: "", terminationMessagePolicy: "" },
      ["/dev/termination-log", "File"],
    ],
    "is at the path that the author writes": [
      { terminationMessagePath: "/m", terminationMessagePolicy: "FallbackToLogsOnError" },
      ["/m", "FallbackToLogsOnError"],
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [written, expected]) => {
    const container = containerOf(written);
    expect([
      container?.terminationMessagePath ?? "",
      container?.terminationMessagePolicy ?? "",
    ]).toEqual([...expected]);
  });

  test("has one of two policies", () => {
    expect(refusals(writtenPod({}, { terminationMessagePolicy: "Logs" }))).toEqual([
      'spec.containers[0].terminationMessagePolicy: Unsupported value: "Logs": supported values: "File", "FallbackToLogsOnError"',
    ]);
  });
});
