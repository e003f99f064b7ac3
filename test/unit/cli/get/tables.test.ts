import { describe, expect, test } from "bun:test";
import type { Rejection } from "../../../../src/api/pod/desired-pod.ts";
import { refusalLine } from "../../../../src/cli/get/get.ts";
import { headerOf, rowOf } from "../../../../src/cli/get/resource-type.ts";
import { NODE, PODS } from "../../../../src/cli/get/resources.ts";
import { columnWidths, formatRows } from "../../../../src/cli/terminal-text.ts";
import { aNode, aPod, aStatus } from "../views.ts";

const NOW = Date.parse("2026-01-01T00:12:00Z");
const NARROW = { isWide: false, withNamespace: false, now: NOW };
const WIDE_NODE = { isWide: true, withNamespace: false, now: NOW };
const WIDE = { isWide: true, withNamespace: true, now: NOW };

test("a table looks like kubectl's", () => {
  const crashing = aPod({
    name: "crash",
    status: {
      phase: "Running",
      startTime: "2026-01-01T00:11:48Z",
      containerStatuses: [
        aStatus("a", {
          ready: false,
          restartCount: 3,
          state: { waiting: { reason: "CrashLoopBackOff" } },
          lastState: {
            terminated: {
              exitCode: 1,
              reason: "Error",
              finishedAt: "2026-01-01T00:11:55Z",
              containerID: "containerd://2",
            },
          },
        }),
      ],
    },
  });
  const rows = [headerOf(PODS, NARROW), rowOf(PODS, crashing, NARROW), rowOf(PODS, aPod(), NARROW)];
  expect(formatRows(rows, columnWidths(rows))).toBe(
    [
      "NAME    READY   STATUS             RESTARTS     AGE",
      "crash   0/1     CrashLoopBackOff   3 (5s ago)   12s",
      "web     1/1     Running            0            12m",
      "",
    ].join("\n"),
  );
});

test("a pod that waits for its image shows how far that is", () => {
  const message = 'pulling image "r.test/app:1": 12.3 MiB of 45.6 MiB (26 %)';
  const state = { waiting: { reason: "ContainerCreating", message } };
  const status = { containerStatuses: [aStatus("a", { ready: false, state })] };
  const [, , shown] = rowOf(PODS, aPod({ status }), NARROW);
  expect(shown).toBe("ContainerCreating (pulling 12.3 MiB of 45.6 MiB (26 %))");
});

test("the wide table of all namespaces shows the source of a pod", () => {
  const pod = aPod({
    metadata: {
      namespace: "shop",
      annotations: {
        "kubernetes.io/config.source": "mqtt:node",
        "agent/source-ref": "generation 7",
      },
    },
    spec: { nodeName: "pi-1" },
    status: { podIP: "10.88.0.5" },
  });
  expect(headerOf(PODS, WIDE)).toHaveLength(9);
  expect(rowOf(PODS, pod, WIDE)).toEqual([
    "shop",
    "web",
    "1/1",
    "Running",
    "0",
    "12m",
    "10.88.0.5",
    "pi-1",
    "mqtt:node generation 7",
  ]);
});

describe("ages", () => {
  test.each([
    ["is unknown without a start", undefined, "<unknown>"],
    ["is unknown for a start that is no time", "yesterday", "<unknown>"],
    ["is invalid when the clock has gone back", "2026-01-01T01:00:00Z", "<invalid>"],
  ])("%s", (_sentence, startTime, age) => {
    const status = startTime === undefined ? { phase: "Running" as const } : { startTime };
    const { kind, metadata, spec } = aPod();
    expect(rowOf(PODS, { kind, metadata, spec, status }, NARROW).at(-1)).toBe(age);
  });
});

describe("an empty or hostile cell", () => {
  test("is <none>, so that columns stay in place", () => {
    expect(formatRows([["", "b"]], columnWidths([["", "b"]]))).toBe("<none>   b\n");
  });

  test("cannot command the terminal", () => {
    const rows = [["\u001b[2J", "x\ny"]];
    expect(formatRows(rows, columnWidths(rows))).toBe("\\u001b[2J   x\\u000ay\n");
  });
});

test("columns never become narrower than they were", () => {
  expect(columnWidths([["a", "bbb"]], [5, 1])).toEqual([5, 3]);
});

describe("what is worth printing again", () => {
  test("is not that time went by", () => {
    const pod = aPod();
    expect(PODS.identity?.(pod, false)).toEqual(PODS.identity?.(aPod(), false));
    expect(rowOf(PODS, pod, NARROW)).not.toEqual(
      rowOf(PODS, pod, { ...NARROW, now: NOW + 3_600_000 }),
    );
  });

  test.each([
    ["a status", aPod({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })],
    ["a restart", aPod({ status: { containerStatuses: [aStatus("a", { restartCount: 1 })] } })],
    ["a new life", aPod({ status: { startTime: "2026-01-01T00:00:01Z" } })],
  ])("is %s", (_sentence, pod) => {
    expect(PODS.identity?.(pod, false)).not.toEqual(PODS.identity?.(aPod(), false));
  });
});

describe("a refused manifest is one line", () => {
  const rejection: Rejection = {
    source: "file",
    ref: "/etc/agent/manifests/web.yaml",
    code: "UnknownField",
    path: "spec.containers[0].imagee",
    message: "unknown field (did you mean image?)",
  };
  test.each([
    [
      "with line and field",
      { ...rejection, line: 8, column: 5 },
      "/etc/agent/manifests/web.yaml:8: spec.containers[0].imagee: unknown field (did you mean image?)",
    ],
    [
      "without them, if it is about the whole of it",
      { ...rejection, ref: "agent/v1/node/pi/desired", path: "", message: "too large" },
      "agent/v1/node/pi/desired: too large",
    ],
    [
      "with the word warning, if it is no mistake",
      { ...rejection, line: 2, path: "kind", code: "Ignored", message: "is skipped" },
      "/etc/agent/manifests/web.yaml:2: warning: kind: is skipped",
    ],
    [
      "even if a message tries to be two",
      { ...rejection, path: "", message: "a\nb" },
      "/etc/agent/manifests/web.yaml: a\\u000ab",
    ],
  ])("%s", (_sentence, given, line) => {
    expect(refusalLine(given)).toBe(line);
  });
});

describe("the node's row", () => {
  test("names the machine", () => {
    expect(rowOf(NODE, aNode(), WIDE_NODE)).toEqual([
      "pi-1",
      "Ready",
      "12m",
      "agent 0.1.0",
      "192.168.1.5",
      "Debian 12",
      "6.1",
      "arm64",
      "containerd://1.7.24",
    ]);
    expect(headerOf(NODE, WIDE_NODE)).toHaveLength(9);
    expect(headerOf(NODE, NARROW)).toEqual(["NAME", "STATUS", "AGE", "VERSION"]);
  });

  test("names its troubles", () => {
    const conditions = [
      { type: "Ready", status: "False", reason: "", message: "" },
      { type: "DuplicateIdentity", status: "True", reason: "", message: "" },
      { type: "DiskPressure", status: "False", reason: "", message: "" },
    ] as const;
    expect(rowOf(NODE, aNode({ conditions }), NARROW)[1]).toBe("NotReady,DuplicateIdentity");
  });

  test("accepts a node without facts", () => {
    const bare = { kind: "Node", metadata: { name: "pi-1" }, status: {} };
    expect(rowOf(NODE, bare, NARROW)).toEqual(["pi-1", "NotReady", "<unknown>", ""]);
  });
});
