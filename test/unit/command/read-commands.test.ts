import { describe, expect, test } from "bun:test";
import { readArgs } from "../../../src/command/args.ts";
import {
  describe as describePod,
  explain,
  get,
  type ReadFacts,
  type ReadOptions,
} from "../../../src/command/read-commands.ts";
import type { CommandVerb } from "../../../src/protocol/command.ts";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { CommandOrder } from "../../../src/command/executor.ts";
import type { CommandOutcome } from "../../../src/command/response.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { aSecret } from "../../fakes/an-object.ts";
import { ulid } from "../upstream/a-command.ts";

const FROM_SECRET = "s3cr3t-of-a-Secret";
const LITERAL = "lit";
const LONG = "Literal-0123456789-value";
const LAST_WORD = `it was ${FROM_SECRET}`;

const status: PodStatus = {
  observedGeneration: 1,
  phase: "Running",
  conditions: [],
  initContainerStatuses: [],
  containerStatuses: [
    {
      name: "a",
      state: { terminated: { exitCode: 1, reason: "Error", message: LAST_WORD, containerID: "" } },
      lastState: {
        terminated: { exitCode: 1, reason: "Error", message: LAST_WORD, containerID: "" },
      },
      ready: false,
      started: false,
      restartCount: 3,
      image: "local/busybox:1",
      imageID: "",
      containerID: "",
    },
  ],
  qosClass: "BestEffort",
};
const env = [
  { name: "LITERAL", value: LITERAL },
  { name: "LONG", value: LONG },
  {
    name: "REF",
    valueFrom: { type: "secretKeyRef", name: "web", key: "token", optional: false },
  } as const,
];
const annotations = { "kubectl.kubernetes.io/last-applied-configuration": LITERAL, plain: "yes" };

const facts: ReadFacts = {
  pods: () => [
    {
      pod: aPod({ containers: [aContainer("a", { env })] }, { annotations }),
      status,
      source: "file",
      sourceRef: "web.yaml#0",
      specHash: "0",
      nodeName: "pi-1",
    },
  ],
  events: () => [
    {
      id: 1,
      type: "Warning",
      reason: "Unhealthy",
      object: { kind: "Pod", namespace: "default", name: "web", uid: UID },
      message: `probe said ${FROM_SECRET} and ${btoa(FROM_SECRET)} and ${LONG}`,
      count: 1,
      first: 0,
      last: 0,
      host: "pi-1",
    },
  ],
  rejected: () => [],
  node: () => ({
    name: "pi-1",
    labels: {},
    status: { conditions: [], addresses: [], capacity: {}, allocatable: {}, nodeInfo: {} },
  }),
  objects: () => [{ object: aSecret({ token: FROM_SECRET }), source: "file", sourceRef: "" }],
  healthProblems: () => [],
};
const options: ReadOptions = { facts, version: "1", nodeName: "pi-1", session: 1, now: 0 };

function order(
  verb: CommandVerb,
  args: Readonly<Record<string, unknown>>,
  statusOnly = false,
): CommandOrder {
  return {
    command: { id: ulid(1), verb, target: {}, args, ttl: 60 },
    statusOnly,
    signal: new AbortController().signal,
    progress: () => undefined,
    release: () => undefined,
  };
}

const asked: readonly (readonly [string, CommandOutcome])[] = [
  ["get pods", get(order("get", {}), options)],
  ["get pods, status only", get(order("get", {}, true), options)],
  ["get node", get(order("get", { kind: "node" }), options)],
  ["get events", get(order("get", { kind: "events" }), options)],
  ["get rejected", get(order("get", { kind: "rejected" }), options)],
  ["describe", describePod(order("describe", { pod: "web" }), options)],
  ["explain", explain(order("explain", { pod: "web" }), options)],
];

describe("what commands show", () => {
  test.each(asked.map((one) => [...one] as const))("%s is answered", (_, outcome) => {
    expect(outcome.code).toBe(200);
  });

  test.each(asked.map((one) => [...one] as const))("%s tells no secret", (_, outcome) => {
    const text = JSON.stringify(outcome);
    for (const value of [FROM_SECRET, btoa(FROM_SECRET), LONG, `"${LITERAL}"`, "it was"])
      expect(text).not.toContain(value);
  });

  test("names, references and whatever else is no secret stay", () => {
    const text = JSON.stringify(get(order("get", { name: "web" }), options));
    for (const word of ["LITERAL", "secretKeyRef", "local/busybox:1", "plain", '"exitCode":1'])
      expect(text).toContain(word);
  });

  test("unsigned where signatures are required: no more than the reports tell", () => {
    const { list } = get(order("get", {}, true), options);
    expect(Object.keys(list?.items[0] ?? {}).toSorted()).toEqual(["kind", "metadata", "status"]);
    expect(get(order("get", { kind: "events" }, true), options).code).toBe(401);
    expect(get(order("get", { kind: "rejected" }, true), options).code).toBe(401);
    expect(get(order("get", { kind: "node" }, true), options).data).not.toHaveProperty("problems");
  });

  test("what is not there or not known is refused", () => {
    expect(get(order("get", { kind: "secrets" }), options).code).toBe(400);
    expect(get(order("get", { kinds: "pods" }), options).code).toBe(400);
    expect(get(order("get", { name: "nobody" }), options).code).toBe(404);
    expect(get(order("get", { namespace: "other" }), options).list?.items).toEqual([]);
    expect(describePod(order("describe", {}), options).code).toBe(400);
    expect(describePod(order("describe", { pod: "nobody" }), options).code).toBe(404);
    expect(explain(order("explain", { pod: 7 }), options).code).toBe(400);
  });
});

describe("arguments", () => {
  const kinds = { pod: "text", tail: "count", follow: "flag" } as const;

  test("are what they should be", () => {
    const args = { pod: "web", tail: 0, follow: false };
    expect(readArgs(args, kinds)).toEqual({ ok: true, args });
    expect(readArgs({}, kinds)).toEqual({ ok: true, args: {} });
  });

  test.each([
    [{ pod: "" }, "args.pod"],
    [{ pod: 1 }, "args.pod"],
    [{ tail: -1 }, "args.tail"],
    [{ tail: 1.5 }, "args.tail"],
    [{ tail: "1" }, "args.tail"],
    [{ follow: "yes" }, "args.follow"],
    [{ toString: 1 }, "args.toString"],
    [{ constructor: "x" }, "args.constructor"],
  ])("%j is refused", (args, element) => {
    const read = readArgs(args, kinds);
    expect(read.ok ? "" : read.outcome.error?.element).toBe(element);
  });
});
