import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ANNOTATION } from "../../../../src/api/pod/labels.ts";
import {
  roleInSpec,
  stopAnnotations,
  stopFactsOf,
} from "../../../../src/runtime/cri-config/stop-annotations.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { ContainerPort } from "../../../../src/api/v1/container-ports.ts";
import { type LifecycleHandler } from "../../../../src/api/v1/lifecycle.ts";

const { spec } = aPod({
  initContainers: [
    aContainer("setup"),
    aContainer("proxy", { restartPolicy: "Always" }),
    aContainer("migrate", { restartPolicy: "OnFailure" }),
    aContainer("logs", { restartPolicy: "Always" }),
  ],
  containers: [aContainer("web", { restartPolicy: "Always" })],
});

test("the part that each container plays", () => {
  expect(
    ["setup", "proxy", "migrate", "logs", "web", "gone"].map((n) => roleInSpec(spec, n)),
  ).toEqual([
    { type: "Init" },
    { type: "Sidecar", position: 1 },
    { type: "Init" },
    { type: "Sidecar", position: 2 },
    { type: "App" },
    undefined,
  ]);
});

// What a manifest may contain: nothing else is written to an annotation.
const text = fc.string({ minLength: 1, maxLength: 20 });
const portName = fc.stringMatching(/^[a-z]{1,15}$/);
const port = fc.integer({ min: 1, max: 65_535 });
const handlers: fc.Arbitrary<LifecycleHandler> = fc.oneof(
  fc.record({ type: fc.constant("exec" as const), command: fc.array(text, { minLength: 1 }) }),
  fc.record({ type: fc.constant("sleep" as const), seconds: fc.nat() }),
  fc.record(
    {
      type: fc.constant("httpGet" as const),
      path: text,
      port: fc.oneof(port, portName),
      host: text,
      scheme: fc.constantFrom("HTTP" as const, "HTTPS" as const),
      httpHeaders: fc.array(
        fc.record({ name: fc.stringMatching(/^[-A-Za-z0-9]{1,20}$/), value: fc.string() }),
      ),
    },
    { requiredKeys: ["type", "path", "port", "scheme", "httpHeaders"] },
  ),
);
const ports: fc.Arbitrary<ContainerPort> = fc.record(
  {
    name: portName,
    containerPort: port,
    hostPort: port,
    hostIP: fc.oneof(fc.ipV4(), fc.ipV6()),
    protocol: fc.constantFrom("TCP" as const, "UDP" as const, "SCTP" as const),
  },
  { requiredKeys: ["containerPort", "protocol"] },
);

describe("stopFactsOf", () => {
  test("reads back whatever was written of a valid pod", () => {
    fc.assert(
      fc.property(handlers, fc.array(ports, { minLength: 1 }), (preStop, list) => {
        const sidecar = aContainer("s", {
          restartPolicy: "Always",
          lifecycle: { preStop },
          ports: list,
        });
        const { spec: of } = aPod({ initContainers: [aContainer("i"), sidecar] });
        expect(stopFactsOf(stopAnnotations(of, sidecar))).toEqual({
          role: { type: "Sidecar", position: 1 },
          preStop,
          ports: list,
        });
      }),
    );
  });

  test("a plain app container carries nothing and is nothing special", () => {
    const [web] = spec.containers;
    expect(stopAnnotations(spec, web ?? aContainer("web"))).toEqual({});
    expect(stopFactsOf({})).toEqual({});
  });

  const hostile: Record<string, Record<string, string>> = {
    "no JSON": { [ANNOTATION.preStopHandler]: "{", [ANNOTATION.ports]: "[" },
    "a handler of another agent": { [ANNOTATION.preStopHandler]: '{"exec":{"command":["date"]}}' },
    "a command that is no list of words": {
      [ANNOTATION.preStopHandler]: '{"type":"exec","command":["a",1]}',
    },
    "an empty command": { [ANNOTATION.preStopHandler]: '{"type":"exec","command":[]}' },
    "a sleep into the past": { [ANNOTATION.preStopHandler]: '{"type":"sleep","seconds":-1}' },
    "a sleep without end": { [ANNOTATION.preStopHandler]: '{"type":"sleep","seconds":1e999}' },
    "a request without a port": {
      [ANNOTATION.preStopHandler]: '{"type":"httpGet","path":"/","scheme":"HTTP"}',
    },
    "a request with another scheme": {
      [ANNOTATION.preStopHandler]: '{"type":"httpGet","path":"/","port":80,"scheme":"FTP"}',
    },
    "a handler of no known type": { [ANNOTATION.preStopHandler]: '{"type":"__proto__"}' },
    "ports of which one is none": {
      [ANNOTATION.ports]:
        '[{"containerPort":80,"protocol":"TCP"},{"containerPort":0,"protocol":"TCP"}]',
    },
    "ports that are no list": { [ANNOTATION.ports]: '{"containerPort":80,"protocol":"TCP"}' },
    null: { [ANNOTATION.preStopHandler]: "null", [ANNOTATION.ports]: "null" },
    "unknown roles": { [ANNOTATION.containerRole]: "sidecar/0" },
    "a role with more behind it": { [ANNOTATION.containerRole]: "sidecar/1/2" },
  };
  test.each(Object.entries(hostile))("takes %s for nothing", (_, annotations) => {
    expect(stopFactsOf(annotations)).toEqual({});
  });

  test("a request without headers, and fields of a newer version, are read", () => {
    const json = '{"type":"httpGet","path":"/","port":80,"scheme":"HTTP","retries":3}';
    expect(stopFactsOf({ [ANNOTATION.preStopHandler]: json }).preStop).toEqual({
      type: "httpGet",
      path: "/",
      port: 80,
      scheme: "HTTP",
      httpHeaders: [],
    });
  });

  test("never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (value) => {
        for (const key of Object.values(ANNOTATION)) stopFactsOf({ [key]: value });
      }),
    );
  });
});
