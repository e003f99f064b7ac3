import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { Rejection } from "../../../../src/api/pod/desired-pod.ts";
import type { NodeStatus } from "../../../../src/api/v1/pod-status.ts";
import { podLine } from "../../../../src/upstream/report/pod-line.ts";
import { report, reportContent, type ReportInput } from "../../../../src/upstream/report/report.ts";
import type { Ack, PodLine, ReportedState } from "../../../../src/protocol/reported-state.ts";
import { wireText, jsonBytes } from "../../../../src/protocol/wire-text.ts";
import { aContainer } from "../../../fakes/a-pod.ts";
import { WALL, RUNNING, aContainerStatus, aStatus, exited, podNamed } from "../health.ts";
import { byteLength } from "../../../../src/lib/short-text.ts";

const KIB_48 = 48 * 1024;
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/;

const ack: Ack = {
  source: "node",
  epoch: "",
  generation: 7,
  observedGeneration: 7,
  digest: "sha256:d7",
  signed: false,
  phase: "Healthy",
  code: 200,
  since: "2026-11-21T08:00:00Z",
};
const status: NodeStatus = {
  conditions: [
    { type: "Ready", status: "True", reason: "KubeletReady", message: "the agent is ready" },
  ],
  addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
  capacity: { cpu: "4" },
  allocatable: { cpu: "4" },
  nodeInfo: { architecture: "arm64" },
};

function input(changes: Partial<ReportInput> = {}): ReportInput {
  return {
    node: "pi-1",
    incarnation: "i1",
    session: 3,
    seq: 9,
    time: WALL,
    clockTrusted: true,
    desired: [ack],
    labels: {},
    status,
    pods: [podLine(podNamed("web"), aStatus([aContainerStatus(RUNNING)]))],
    rejected: [],
    ...changes,
  };
}

function line(name: string, namespace = "default"): PodLine {
  return { ...podLine(podNamed(name), undefined), namespace };
}

function rejection(more: Partial<Rejection> = {}): Rejection {
  return {
    source: "mqtt:node",
    ref: "agent/v1/node/pi-1/desired",
    code: "Invalid",
    path: "",
    message: "no",
    ...more,
  };
}

describe("the report", () => {
  test("follows the wire contract, field by field", () => {
    const given = input({
      rejected: [
        rejection({ kind: "Pod", namespace: "default", name: "x", path: "spec.a", line: 3 }),
        rejection({ source: "file", ref: "/etc/agent/manifests/a.yaml", code: "Syntax" }),
      ],
    });
    expect(JSON.parse(new TextDecoder().decode(jsonBytes(report(given))))).toEqual({
      apiVersion: "agent/v1",
      kind: "ReportedState",
      node: "pi-1",
      incarnation: "i1",
      session: 3,
      seq: 9,
      time: "2026-11-21T08:00:00Z",
      clockTrusted: true,
      desired: [ack],
      status,
      pods: [
        {
          namespace: "default",
          name: "web",
          uid: "uid-web",
          source: "node",
          specHash: "0123456789abcdef",
          phase: "Running",
          ready: "1/1",
          restarts: 0,
          since: "2026-11-21T07:59:00Z",
        },
      ],
      rejected: [
        {
          source: "node",
          kind: "Pod",
          namespace: "default",
          name: "x",
          code: "Invalid",
          path: "spec.a",
          message: "no",
        },
        { source: "static", code: "Syntax", message: "/etc/agent/manifests/a.yaml: no" },
      ],
    });
  });

  test("lists pods by namespace and name, however they come", () => {
    const lines = [line("b"), line("a", "z"), line("a"), line("a-b"), line("a.b")];
    const names = (pods: readonly PodLine[]) => pods.map((pod) => `${pod.namespace}/${pod.name}`);
    const sorted = ["default/a", "default/a-b", "default/a.b", "default/b", "z/a"];
    expect(names(report(input({ pods: lines })).pods)).toEqual(sorted);
    expect(names(report(input({ pods: lines.toReversed() })).pods)).toEqual(sorted);
  });

  test("counts the pods that have no room", () => {
    const pods = Array.from({ length: 1000 }, (_, index) => line(`p${1000 + index}`));
    const reported = report(input({ pods }));
    expect(byteLength(JSON.stringify(reported))).toBeLessThanOrEqual(KIB_48);
    expect(byteLength(JSON.stringify(reported))).toBeGreaterThan(KIB_48 - 512);
    expect(reported.pods.length).toBeGreaterThan(150);
    expect(reported.truncated).toBe(1000 - reported.pods.length);
    expect(reported.pods[0]?.name).toBe("p1000");
    expect(report(input())).not.toHaveProperty("truncated");
  });

  test("leaves room for pods however much was rejected, and reports how much is missing", () => {
    const rejected = Array.from({ length: 500 }, () => rejection({ message: "x".repeat(300) }));
    const pods = Array.from({ length: 100 }, (_, index) => line(`p${index}`));
    const reported = report(input({ rejected, pods }));
    expect(reported.pods).toHaveLength(100);
    const last = reported.rejected.at(-1);
    expect(last).toMatchObject({ source: "node", code: "Truncated" });
    expect(last?.message).toStartWith(`${500 - (reported.rejected.length - 1)} more `);
  });

  test("cuts texts and takes control characters out of them", () => {
    const evil = `\u001b[2J\u202Eevil\r\n${"ä".repeat(500)}`;
    const reported = report(
      input({
        desired: [
          {
            ...ack,
            message: evil,
            lastRejected: { digest: "d", code: 400, message: evil, at: "", count: 1 },
          },
        ],
        pods: [{ ...line("web"), reason: evil }],
        rejected: [rejection({ message: evil, path: evil, name: evil })],
        status: {
          ...status,
          conditions: [{ type: "Ready", status: "False", reason: "x", message: evil }],
        },
      }),
    );
    const texts = [
      reported.desired[0]?.message,
      reported.desired[0]?.lastRejected?.message,
      reported.pods[0]?.reason,
      reported.rejected[0]?.message,
      reported.rejected[0]?.path,
      reported.rejected[0]?.name,
      reported.status.conditions[0]?.message,
    ];
    for (const text of texts) {
      expect(text).toStartWith("[2J evil ä");
      expect(text).not.toMatch(CONTROL);
      expect(byteLength(text ?? "")).toBeLessThanOrEqual(256);
    }
  });

  test("is never over 48 KiB", () => {
    const text = fc.string({ unit: "binary", maxLength: 400 });
    const many = fc.integer({ min: 0, max: 400 });
    fc.assert(
      fc.property(text, many, many, many, (said, pods, rejected, conditions) => {
        const reported = report(
          input({
            desired: Array.from({ length: 17 }, () => ({ ...ack, message: said })),
            pods: Array.from({ length: pods }, (_, index) => ({
              ...line(`p${index}`),
              reason: said,
            })),
            rejected: Array.from({ length: rejected }, () =>
              rejection({ message: said, name: said }),
            ),
            status: {
              ...status,
              conditions: Array.from({ length: conditions }, (_, index) => ({
                type: `T${index}`,
                status: "True",
                reason: "R",
                message: said,
              })),
            },
          }),
        );
        expect(jsonBytes(reported).length).toBeLessThanOrEqual(KIB_48);
        expect(reported.pods.length + (reported.truncated ?? 0)).toBe(pods);
      }),
      { numRuns: 30 },
    );
  });
});

describe("labels", () => {
  test("are reported by name, and not at all if there are none", () => {
    expect(
      Object.entries(report(input({ labels: { site: "berlin", floor: "2" } })).labels ?? {}),
    ).toEqual([
      ["floor", "2"],
      ["site", "berlin"],
    ]);
    expect(report(input())).not.toHaveProperty("labels");
  });

  test("of a fleet that gives very many leave room for the pods", () => {
    const labels = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`key-${index}`, "x".repeat(60)]),
    );
    const reported = report(input({ labels }));
    expect(JSON.stringify(reported.labels).length).toBeLessThan(2_100);
    expect(reported.pods.length).toBe(1);
  });
});

/** Whether the second would not be published after the first. */
const isSame = (a: ReportedState, b: ReportedState): boolean =>
  reportContent(a) === reportContent(b);

describe("equal content", () => {
  const base = report(input());
  const changes: Readonly<Record<string, readonly [Partial<ReportedState>, boolean]>> = {
    "time alone is no new content": [{ time: "2030-01-01T00:00:00Z" }, true],
    "seq alone is no new content": [{ seq: 10 }, true],
    "a new session alone is no new content": [{ session: 4 }, true],
    "another incarnation is new content": [{ incarnation: "i2" }, false],
    "the clock's trust is new content": [{ clockTrusted: false }, false],
    "a label is new content": [{ labels: { site: "berlin" } }, false],
    "a pod less is new content": [{ pods: [] }, false],
    "another code is new content": [{ desired: [{ ...ack, code: 424 }] }, false],
    "a condition is new content": [{ status: { ...status, conditions: [] } }, false],
    "a rejection is new content": [
      { rejected: [{ source: "node", code: "Invalid", message: "no" }] },
      false,
    ],
  };
  test.each(Object.entries(changes))("%s", (_sentence, [change, expected]) => {
    expect(isSame(base, { ...base, ...change })).toBe(expected);
  });

  test("does not mind the order of keys", () => {
    const turned = Object.fromEntries(Object.entries(base).toReversed()) as typeof base;
    expect(isSame(base, turned)).toBe(true);
  });
});

describe("a pod's line", () => {
  const initContainers = [aContainer("i"), aContainer("s", { restartPolicy: "Always" })];
  const lines: Readonly<
    Record<string, readonly [Parameters<typeof podLine>[1], Partial<PodLine>]>
  > = {
    "of which nothing is known yet is Pending": [
      undefined,
      { phase: "Pending", ready: "0/1", restarts: 0, since: "" },
    ],
    "of a running pod has no reason": [
      aStatus([aContainerStatus(RUNNING, { restartCount: 2 })]),
      { phase: "Running", ready: "1/1", restarts: 2, since: "2026-11-21T07:59:00Z" },
    ],
    "has the reason why a container waits": [
      aStatus([aContainerStatus({ waiting: { reason: "CrashLoopBackOff" } })]),
      { phase: "Running", ready: "0/1", reason: "CrashLoopBackOff" },
    ],
    "has the reason with which a finished pod ended": [
      aStatus([aContainerStatus(exited(0))], { phase: "Succeeded" }),
      { phase: "Succeeded", reason: "Completed" },
    ],
    "prefers the failure of one container to the end of another": [
      aStatus([aContainerStatus(exited(0)), aContainerStatus(exited(137, "OOMKilled"))]),
      { reason: "OOMKilled" },
    ],
    "prefers the pod's own reason": [
      aStatus([aContainerStatus(exited(1))], { phase: "Failed", reason: "Evicted" }),
      { phase: "Failed", reason: "Evicted" },
    ],
    "has the progress of the initialisation": [
      aStatus([aContainerStatus({ waiting: { reason: "PodInitializing" } })], {
        phase: "Pending",
        initContainerStatuses: [aContainerStatus(RUNNING, { name: "i", ready: false })],
      }),
      { phase: "Pending", ready: "0/2", reason: "Init:0/2" },
    ],
    "has the reason why an init container waits, and counts its restarts": [
      aStatus([aContainerStatus({ waiting: { reason: "PodInitializing" } })], {
        phase: "Pending",
        initContainerStatuses: [
          aContainerStatus(
            { waiting: { reason: "CrashLoopBackOff" } },
            { name: "i", restartCount: 4 },
          ),
        ],
      }),
      { reason: "Init:CrashLoopBackOff", restarts: 4 },
    ],
    "has the reason with which an init container failed": [
      aStatus([aContainerStatus({ waiting: { reason: "PodInitializing" } })], {
        phase: "Failed",
        initContainerStatuses: [aContainerStatus(exited(1), { name: "i" })],
      }),
      { phase: "Failed", reason: "Init:Error" },
    ],
    "counts sidecars that are ready": [
      aStatus([aContainerStatus(RUNNING)], {
        initContainerStatuses: [
          aContainerStatus(exited(0), { name: "i", ready: true }),
          aContainerStatus(RUNNING, { name: "s" }),
        ],
      }),
      { phase: "Running", ready: "2/2" },
    ],
    "of a finished pod ignores its sidecars": [
      aStatus([aContainerStatus(exited(0))], {
        phase: "Succeeded",
        conditions: [{ type: "Initialized", status: "True" }],
        initContainerStatuses: [
          aContainerStatus(exited(0), { name: "i", ready: true }),
          aContainerStatus(exited(143), { name: "s" }),
        ],
      }),
      { phase: "Succeeded", reason: "Completed" },
    ],
    "has the reason why an update waits": [
      aStatus([aContainerStatus(RUNNING)], {
        conditions: [{ type: "agent/UpdatePending", status: "True", reason: "Pulling" }],
      }),
      { reason: "Pulling", since: "2026-11-21T07:58:00Z" },
    ],
  };
  test.each(Object.entries(lines))("%s", (_sentence, [given, expected]) => {
    const web = podNamed("web");
    const hasInit = given !== undefined && given.initContainerStatuses.length > 0;
    const spec = hasInit ? { ...web.pod.spec, initContainers } : web.pod.spec;
    const told = podLine({ ...web, pod: { ...web.pod, spec } }, given);
    expect(told).toMatchObject(expected);
    expect(told.reason).toBe(expected.reason);
  });
});

describe("wireText", () => {
  test("is short, clean and well-formed, and a fixed point", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 600 }), (text) => {
        const wire = wireText(text);
        expect(byteLength(wire)).toBeLessThanOrEqual(256);
        expect(wire).not.toMatch(CONTROL);
        expect(wire.isWellFormed()).toBe(true);
        expect(wireText(wire)).toBe(wire);
      }),
    );
  });

  test("mends half a character", () => {
    expect(wireText("a\uD83Db")).toBe("a\uFFFDb");
  });

  test("leaves ordinary text as it is", () => {
    expect(wireText("exit code 1: größer als 5 €")).toBe("exit code 1: größer als 5 €");
  });
});
