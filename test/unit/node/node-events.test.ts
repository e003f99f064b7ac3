import { expect, test } from "bun:test";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import { rejectionEvents } from "../../../src/node/event-recorder.ts";

const REJECTION: Rejection = {
  source: "file",
  ref: "/m/web.yaml",
  code: "UnknownField",
  path: "spec.imagee",
  message: "unknown field",
};
const pod = { kind: "Pod", namespace: "shop", name: "web" };
const node = { kind: "Node", name: "pi-1" };

const cases: Readonly<Record<string, readonly [rejection: Partial<Rejection>, event: unknown]>> = {
  "a manifest that is refused is a warning about the node": [
    {},
    {
      type: "Warning",
      reason: "Rejected",
      object: node,
      message: "/m/web.yaml: spec.imagee: unknown field",
    },
  ],
  "one whose pod is known is a warning about that pod": [
    { ...pod, line: 7 },
    {
      type: "Warning",
      reason: "Rejected",
      object: pod,
      message: "/m/web.yaml:7: spec.imagee: unknown field",
    },
  ],
  "a pod without a namespace is in default": [
    { kind: "Pod", name: "web", path: "" },
    {
      type: "Warning",
      reason: "Rejected",
      object: { ...pod, namespace: "default" },
      message: "/m/web.yaml: unknown field",
    },
  ],
  "another kind of object is the node's matter": [
    { kind: "ConfigMap", namespace: "shop", name: "web" },
    {
      type: "Warning",
      reason: "Rejected",
      object: node,
      message: "/m/web.yaml: spec.imagee: unknown field",
    },
  ],
  "what a file shadows is nothing to worry about": [
    { ...pod, code: "Shadowed", path: "", message: "the file wins" },
    { type: "Normal", reason: "Shadowed", object: pod, message: "/m/web.yaml: the file wins" },
  ],
  "neither is a field that changes nothing here": [
    { ...pod, code: "Ignored" },
    {
      type: "Normal",
      reason: "Ignored",
      object: pod,
      message: "/m/web.yaml: spec.imagee: unknown field",
    },
  ],
};

test.each(Object.entries(cases))("%s", (_sentence, [rejection, event]) => {
  expect<readonly unknown[]>(rejectionEvents([], [{ ...REJECTION, ...rejection }], "pi-1")).toEqual(
    [event],
  );
});

test("only new rejections are reported, once", () => {
  const other = { ...REJECTION, path: "spec.other" };
  const moved = { ...REJECTION, line: 9 };
  const messages = (before: readonly Rejection[], after: readonly Rejection[]): readonly string[] =>
    rejectionEvents(before, after, "pi-1").map(({ message }) => message);
  expect(messages([REJECTION], [REJECTION])).toEqual([]);
  expect(messages([REJECTION], [])).toEqual([]);
  expect(messages([REJECTION], [moved])).toEqual([]);
  expect(messages([REJECTION], [REJECTION, other])).toEqual([
    "/m/web.yaml: spec.other: unknown field",
  ]);
  expect(messages([], [other, other])).toEqual(["/m/web.yaml: spec.other: unknown field"]);
});
