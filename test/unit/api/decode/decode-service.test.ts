import { describe, expect, test } from "bun:test";

import { isSelected } from "../../../../src/api/v1/object/service.ts";
import { decode } from "../written-pod.ts";

const META = { name: "db", namespace: "shop" };
const SPEC = { selector: { app: "db" }, ports: [{ port: 5432 }] };
const service = (more: object = {}): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: META,
  spec: SPEC,
  ...more,
});
const spec = (more: object): object => service({ spec: { ...SPEC, ...more } });
const messages = (value: object): readonly string[] =>
  decode(value).ignoredKinds.map(({ code, message }) => `${code} ${message}`);

describe("a Service with a selector", () => {
  test("is a name, with one warning about what does not work", () => {
    const { services, errors, notices } = decode(service());
    expect(services.map(({ desired }) => desired)).toEqual([
      {
        kind: "Service",
        namespace: "shop",
        name: "db",
        selector: { app: "db" },
        publishesNotReady: false,
        source: "file",
        sourceRef: "/m/a.yaml#0",
      },
    ]);
    expect([errors, notices]).toEqual([[], []]);
    expect(messages(service())).toEqual([
      'Ignored kind "Service" works on this node as a headless name: it finds the ready pods that its selector matches; ports, load balancing and cluster IPs do not work, use hostPort in the ports of the container instead',
    ]);
  });

  test("is read whatever else is written in it, and within a list", () => {
    const odd = spec({ ports: "many", clusterIP: 7, publishNotReadyAddresses: true, type: "?" });
    const { services } = decode({ apiVersion: "v1", kind: "List", items: [odd, service()] });
    expect(services.map(({ desired }) => desired.publishesNotReady)).toEqual([true, false]);
  });

  test("without a namespace is of default", () => {
    const { services } = decode(service({ metadata: { name: "db" } }));
    expect(services[0]?.desired.namespace).toBe("default");
  });
});

describe("a Service is skipped with one warning", () => {
  const SKIPPED =
    'Ignored kind "Service" does not run on this node and is skipped; use hostPort in the ports of the container, or hostNetwork';
  const broken = (why: string): string => `${SKIPPED}; it is no name either: ${why}`;
  const cases: Readonly<Record<string, readonly [object, string]>> = {
    "without a selector": [service({ spec: { ports: [] } }), SKIPPED],
    "with an empty selector": [spec({ selector: {} }), SKIPPED],
    "that is a name of the outside": [spec({ type: "ExternalName" }), SKIPPED],
    "of another API group": [service({ apiVersion: "serving.knative.dev/v1" }), SKIPPED],
    "with a number for a label": [
      spec({ selector: { app: 1 } }),
      broken("spec.selector must be a map of labels"),
    ],
    "with text for a selector": [
      spec({ selector: "app" }),
      broken("spec.selector must be a map of labels"),
    ],
    "with a name of several parts": [
      service({ metadata: { name: "github.com" } }),
      broken("metadata.name must be an RFC 1123 label"),
    ],
    "with a namespace that is none": [
      service({ metadata: { ...META, namespace: "a b" } }),
      broken("metadata.namespace must be an RFC 1123 label"),
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [value, message]) => {
    const { services, errors } = decode(value);
    expect([services, errors]).toEqual([[], []]);
    expect(messages(value)).toEqual([message]);
  });
});

test("a Service selects pods that have all of its labels", () => {
  const selects = (selector: Record<string, string>) =>
    isSelected({ app: "db", tier: "back" }, { selector });
  expect(selects({ app: "db" })).toBe(true);
  expect(selects({ app: "db", tier: "back" })).toBe(true);
  expect(selects({ app: "db", tier: "front" })).toBe(false);
  expect(selects({ constructor: "db" })).toBe(false);
});
