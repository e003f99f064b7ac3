import { describe, expect, test } from "bun:test";
import { PODS } from "../../../../src/server/kube/resources.ts";
import { includeObjectOf, tableOf, tableVersion } from "../../../../src/server/kube/table.ts";

/** What kubectl 1.32 asks with. */
const KUBECTL =
  "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

describe("the form of an answer", () => {
  test.each<readonly [string | undefined, ReturnType<typeof tableVersion>]>([
    [KUBECTL, "v1"],
    ["application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json", "v1beta1"],
    ["application/json;as=Table;v=v9;g=meta.k8s.io,application/json", undefined],
    ["application/json, application/json;as=Table;v=v1;g=meta.k8s.io", undefined],
    ["application/vnd.kubernetes.protobuf,application/json", undefined],
    [undefined, undefined],
  ])("for %j is a Table of version %p", (accept, version) => {
    expect(tableVersion(accept)).toBe(version);
  });
});

const POD = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "web", namespace: "default", resourceVersion: "7" },
  spec: { nodeName: "pi-1", containers: [{ name: "web" }] },
  status: {
    phase: "Running",
    startTime: "1970-01-01T00:00:00Z",
    podIP: "10.88.0.2",
    containerStatuses: [
      { name: "web", ready: true, restartCount: 2, state: { running: {} }, lastState: {} },
    ],
  },
};

describe("a Table of pods", () => {
  const table = (over: Partial<Parameters<typeof tableOf>[2]> = {}) =>
    tableOf(PODS, [POD], {
      version: "v1",
      include: "Metadata",
      now: 60_000,
      metadata: { resourceVersion: "9" },
      withColumns: true,
      ...over,
    });

  test("has kubectl's columns and cells, and the metadata of each pod", () => {
    expect(table()).toMatchObject({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: "9" },
      columnDefinitions: [
        { name: "Name", format: "name", priority: 0 },
        { name: "Ready", priority: 0 },
        { name: "Status", priority: 0 },
        { name: "Restarts", priority: 0 },
        { name: "Age", priority: 0 },
        { name: "IP", priority: 1 },
        { name: "Node", priority: 1 },
        { name: "Nominated Node", priority: 1 },
        { name: "Readiness Gates", priority: 1 },
        { name: "Source", priority: 1 },
      ],
      rows: [
        {
          cells: ["web", "1/1", "Running", "2", "60s", "10.88.0.2", "pi-1", "<none>", "<none>", ""],
          object: { kind: "PartialObjectMetadata", metadata: POD.metadata },
        },
      ],
    });
  });

  test("has the columns only once in a watch, and of each pod what was asked for", () => {
    const bare = table({ withColumns: false, include: "None" });
    expect(bare).toMatchObject({ columnDefinitions: [], rows: [{}] });
    expect(JSON.stringify(bare)).not.toContain("object");
    expect(table({ include: "Object" })).toMatchObject({ rows: [{ object: POD }] });
    expect(includeObjectOf(new URLSearchParams("includeObject=Object"))).toBe("Object");
    expect(includeObjectOf(new URLSearchParams())).toBe("Metadata");
  });
});
