import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { Probe, ProbeHandler } from "../../../../src/api/v1/probe.ts";
import { containerOf, refusals, writtenPod } from "../written-pod.ts";

const EXEC = { exec: { command: ["true"] } };
const DEFAULTS = {
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

function liveness(probe: object): Probe | undefined {
  return containerOf({ livenessProbe: probe })?.livenessProbe;
}

describe("a probe as written", () => {
  const exec: ProbeHandler = { type: "exec", command: ["true"] };
  const cases: Readonly<Record<string, { readonly probe: object; readonly expected: Probe }>> = {
    "without times has Kubernetes' defaults": {
      probe: EXEC,
      expected: { handler: exec, ...DEFAULTS },
    },
    "with zeros has the same times": {
      probe: {
        ...EXEC,
        initialDelaySeconds: 0,
        periodSeconds: 0,
        timeoutSeconds: 0,
        successThreshold: 0,
        failureThreshold: 0,
      },
      expected: { handler: exec, ...DEFAULTS },
    },
    "with every time written keeps them": {
      probe: {
        ...EXEC,
        initialDelaySeconds: 7,
        periodSeconds: 6,
        timeoutSeconds: 5,
        successThreshold: 1,
        failureThreshold: 4,
        terminationGracePeriodSeconds: 9,
      },
      expected: {
        handler: exec,
        initialDelaySeconds: 7,
        periodSeconds: 6,
        timeoutSeconds: 5,
        successThreshold: 1,
        failureThreshold: 4,
        terminationGracePeriodSeconds: 9,
      },
    },
    "by HTTP asks for / in plain text, at the pod's own address": {
      probe: { httpGet: { port: 80 } },
      expected: {
        handler: { type: "httpGet", path: "/", port: 80, scheme: "HTTP", httpHeaders: [] },
        ...DEFAULTS,
      },
    },
    "by HTTP with empty path, host and scheme is the same": {
      probe: { httpGet: { port: 80, path: "", host: "", scheme: "" } },
      expected: {
        handler: { type: "httpGet", path: "/", port: 80, scheme: "HTTP", httpHeaders: [] },
        ...DEFAULTS,
      },
    },
    "by HTTP may name a port that the container does not declare": {
      probe: {
        httpGet: {
          port: "web",
          path: "/ok?x=1",
          host: "10.0.0.1",
          scheme: "HTTPS",
          httpHeaders: [{ name: "X-A", value: "b" }, { name: "X-C" }],
        },
      },
      expected: {
        handler: {
          type: "httpGet",
          path: "/ok?x=1",
          port: "web",
          host: "10.0.0.1",
          scheme: "HTTPS",
          httpHeaders: [
            { name: "X-A", value: "b" },
            { name: "X-C", value: "" },
          ],
        },
        ...DEFAULTS,
      },
    },
    "by TCP may name its port": {
      probe: { tcpSocket: { port: "db" } },
      expected: { handler: { type: "tcpSocket", port: "db" }, ...DEFAULTS },
    },
    "by TCP may name its host": {
      probe: { tcpSocket: { port: 65535, host: "localhost" } },
      expected: { handler: { type: "tcpSocket", port: 65535, host: "localhost" }, ...DEFAULTS },
    },
    "by gRPC asks for the server as a whole": {
      probe: { grpc: { port: 1, service: null } },
      expected: { handler: { type: "grpc", port: 1, service: "" }, ...DEFAULTS },
    },
    "by gRPC may ask for one service": {
      probe: { grpc: { port: 1, service: "a.B" } },
      expected: { handler: { type: "grpc", port: 1, service: "a.B" }, ...DEFAULTS },
    },
    "with a null beside its handler has one handler": {
      probe: { ...EXEC, httpGet: null },
      expected: { handler: exec, ...DEFAULTS },
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { probe, expected }) => {
    expect(liveness(probe)).toEqual(expected);
  });

  test("a readiness probe may ask for several successes", () => {
    const container = containerOf({ readinessProbe: { ...EXEC, successThreshold: 3 } });
    expect(container?.readinessProbe?.successThreshold).toBe(3);
  });
});

describe("a probe is refused if", () => {
  const cases: Readonly<Record<string, readonly [object, string]>> = {
    "it has no handler": [{}, ": Required value: must specify a handler type"],
    "it has two handlers": [
      { ...EXEC, grpc: { port: 1 } },
      ".grpc: Forbidden: may not specify more than 1 handler type",
    ],
    "its command is empty": [{ exec: {} }, ".exec.command: Required value"],
    "its port is missing": [{ httpGet: {} }, ".httpGet.port: Required value"],
    "its port is 0": [
      { tcpSocket: { port: 0 } },
      ".tcpSocket.port: Invalid value: 0: must be between 1 and 65535",
    ],
    "its port is too large": [
      { grpc: { port: 65536 } },
      ".grpc.port: Invalid value: 65536: must be between 1 and 65535",
    ],
    "its port has a fraction": [
      { httpGet: { port: 1.5 } },
      ".httpGet.port: Invalid value: 1.5: must be an integer",
    ],
    "a gRPC port has a name": [
      { grpc: { port: "a" } },
      '.grpc.port: Invalid value: "a": must be an integer',
    ],
    "a header has no fit name": [
      { httpGet: { port: 1, httpHeaders: [{ name: "a b" }] } },
      '.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or \'-\' (e.g. "X-Header-Name")',
    ],
    "its scheme is unknown": [
      { httpGet: { port: 1, scheme: "FTP" } },
      '.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
    ],
    "its delay is negative": [
      { ...EXEC, initialDelaySeconds: -1 },
      ".initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
    ],
    "its period is negative": [
      { ...EXEC, periodSeconds: -1 },
      ".periodSeconds: Invalid value: -1: must be greater than or equal to 0",
    ],
    "its timeout is negative": [
      { ...EXEC, timeoutSeconds: -1 },
      ".timeoutSeconds: Invalid value: -1: must be greater than or equal to 0",
    ],
    "its failures are negative": [
      { ...EXEC, failureThreshold: -1 },
      ".failureThreshold: Invalid value: -1: must be greater than or equal to 0",
    ],
    "its period exceeds Kubernetes' maximum": [
      { ...EXEC, periodSeconds: 2 ** 31 },
      ".periodSeconds: Invalid value: 2147483648: must be less than or equal to 2147483647",
    ],
    "it wants several successes": [
      { ...EXEC, successThreshold: 2 },
      ".successThreshold: Invalid value: 2: must be 1",
    ],
    "its grace period is 0": [
      { ...EXEC, terminationGracePeriodSeconds: 0 },
      ".terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
    ],
  };
  describe.each(["livenessProbe", "startupProbe"])("as %s", (field) => {
    test.each(Object.entries(cases))("%s", (_sentence, [probe, error]) => {
      const found = refusals(writtenPod({}, { [field]: probe }));
      expect(found).toEqual([`spec.containers[0].${field}${error}`]);
    });
  });

  test("it is a readiness probe with a grace period", () => {
    const readinessProbe = { ...EXEC, terminationGracePeriodSeconds: 5 };
    expect(refusals(writtenPod({}, { readinessProbe }))).toEqual([
      "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
    ]);
  });
});

describe("whatever times are written", () => {
  const time = fc.option(fc.integer(), { nil: undefined });
  const timings = fc.record({
    initialDelaySeconds: time,
    periodSeconds: time,
    timeoutSeconds: time,
    successThreshold: time,
    failureThreshold: time,
  });

  test("defaults are a fixed point, and no period, timeout or count is less than 1", () => {
    fc.assert(
      fc.property(timings, (written) => {
        const read = (times: object) =>
          containerOf({ livenessProbe: { ...EXEC, ...times } }, { lenient: true })?.livenessProbe;
        const once = read(written)!;
        const { handler: _handler, ...times } = once;
        expect(read(times)).toEqual(once);
        expect(once.initialDelaySeconds).toBeGreaterThanOrEqual(0);
        const { periodSeconds, timeoutSeconds, successThreshold, failureThreshold } = once;
        const least = Math.min(periodSeconds, timeoutSeconds, successThreshold, failureThreshold);
        expect(least).toBeGreaterThanOrEqual(1);
      }),
    );
  });

  test("a probe of a checkpoint can be run", () => {
    const port = fc.oneof(fc.integer(), fc.string(), fc.constant(null));
    const handler = fc.constantFrom("exec", "httpGet", "tcpSocket", "grpc", "nothing");
    fc.assert(
      fc.property(timings, handler, port, (written, type, at) => {
        const probe = { ...written, [type]: { port: at, command: ["x"] } };
        const read = containerOf({ livenessProbe: probe }, { lenient: true })?.livenessProbe;
        expect(read?.handler.type).toBe(type === "nothing" ? undefined : (type as "exec"));
        expect(read === undefined || read.periodSeconds >= 1).toBe(true);
      }),
    );
  });
});
