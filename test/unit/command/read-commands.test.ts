import { describe, expect, test } from "bun:test";
import {
  readCommands,
  type ReadFacts,
  type ReadOptions,
} from "../../../src/command/read-commands.ts";
import { VERBS, type CommandVerb } from "../../../src/command/verbs.ts";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import { running, type CommandOrder } from "../../../src/command/run-verb.ts";
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
  desired: () => [],
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
const runs = readCommands(() => options);

function order(
  verb: CommandVerb,
  args: Readonly<Record<string, unknown>>,
  statusOnly = false,
): CommandOrder {
  return {
    command: { id: ulid(1), verb, target: {}, args, ttl: 60 },
    signed: !statusOnly,
    by: [],
    statusOnly,
    signal: new AbortController().signal,
    progress: () => undefined,
    release: () => undefined,
  };
}

function run(
  verb: "get" | "describe" | "explain",
  args: Readonly<Record<string, unknown>>,
  statusOnly = false,
): CommandOutcome {
  const outcome = runs[verb](order(verb, args, statusOnly));
  if (outcome instanceof Promise) throw new Error(`${verb} is not answered at once`);
  return outcome;
}

const asked: readonly (readonly [string, CommandOutcome])[] = [
  ["get pods", run("get", {})],
  ["get pods, status only", run("get", {}, true)],
  ["get node", run("get", { kind: "node" })],
  ["get events", run("get", { kind: "events" })],
  ["get rejected", run("get", { kind: "rejected" })],
  ["describe", run("describe", { pod: "web" })],
  ["explain", run("explain", { pod: "web" })],
];

describe("what commands show", () => {
  test.each(asked.map((one) => [...one] as const))("%s is answered", (_, outcome) => {
    expect(outcome.code).toBe(200);
  });

  test.each(asked.map((one) => [...one] as const))("%s contains no secret", (_, outcome) => {
    const text = JSON.stringify(outcome);
    for (const value of [FROM_SECRET, btoa(FROM_SECRET), LONG, `"${LITERAL}"`, "it was"])
      expect(text).not.toContain(value);
  });

  test("names, references and whatever else is no secret stay", () => {
    const text = JSON.stringify(run("get", { name: "web" }));
    for (const word of ["LITERAL", "secretKeyRef", "local/busybox:1", "plain", '"exitCode":1'])
      expect(text).toContain(word);
  });

  test("unsigned where signatures are required: no more than the reports contain", () => {
    const { list } = run("get", {}, true);
    expect(Object.keys(list?.items[0] ?? {}).toSorted()).toEqual(["kind", "metadata", "status"]);
    expect(run("get", { kind: "events" }, true).code).toBe(401);
    expect(run("get", { kind: "rejected" }, true).code).toBe(401);
    expect(run("get", { kind: "node" }, true).data).not.toHaveProperty("problems");
  });

  test("what is not there or not known is refused", () => {
    expect(run("get", { kind: "secrets" }).code).toBe(400);
    expect(run("get", { kinds: "pods" }).code).toBe(400);
    expect(run("get", { name: "nobody" }).code).toBe(404);
    expect(run("get", { namespace: "other" }).list?.items).toEqual([]);
    expect(run("describe", {}).code).toBe(400);
    expect(run("describe", { pod: "nobody" }).code).toBe(404);
    expect(run("explain", { pod: 7 }).code).toBe(400);
  });
});

describe("arguments", () => {
  const element = (verb: keyof typeof VERBS, args: Readonly<Record<string, unknown>>): string => {
    let reached: unknown;
    const outcome = running<unknown>(VERBS[verb], (read) => {
      reached = read;
      return { code: 200 };
    })(order(verb, args));
    if (outcome instanceof Promise || reached !== undefined) return "";
    expect(outcome.code).toBe(400);
    return outcome.error?.element ?? "";
  };

  test("are what they should be", () => {
    expect(element("logs", { pod: "web", tail: 0, follow: false })).toBe("");
    expect(element("get", {})).toBe("");
    expect(element("hold", { all: true })).toBe("");
    expect(element("pull", { image: "busybox" })).toBe("");
  });

  test.each([
    ["logs", {}, "args.pod"],
    ["logs", { pod: "" }, "args.pod"],
    ["logs", { pod: 1 }, "args.pod"],
    ["restart", { pod: "web", container: "" }, "args.container"],
    ["logs", { pod: "web", tail: -1 }, "args.tail"],
    ["logs", { pod: "web", tail: 1_001 }, "args.tail"],
    ["logs", { pod: "web", tail: 1.5 }, "args.tail"],
    ["logs", { pod: "web", tail: "1" }, "args.tail"],
    ["logs", { pod: "web", follow: "yes" }, "args.follow"],
    ["ping", { toString: 1 }, "args.toString"],
    ["ping", { constructor: "x" }, "args.constructor"],
    ["hold", {}, "args"],
    ["hold", { pod: "web", all: true }, "args"],
    ["release", { namespace: "shop" }, "args"],
    ["pull", {}, "args"],
    ["pull", { pod: "web", image: "busybox" }, "args"],
  ] as const)("%s %j is refused", (verb, args, expected) => {
    expect(element(verb, args)).toBe(expected);
  });
});
