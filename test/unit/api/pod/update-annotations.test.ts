import { expect, test } from "bun:test";
import {
  holdsUpgrade,
  lockVolumeOf,
  policyOf,
} from "../../../../src/api/pod/update-annotations.ts";
import { DEFAULT_POLICY } from "../../../../src/api/pod/update-policy.ts";
import { aPod } from "../../../fakes/a-pod.ts";

function annotated(annotations: Readonly<Record<string, string>>): ReturnType<typeof aPod> {
  const pod = aPod();
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

test("a pod's own words outweigh the policy, field by field", () => {
  const pod = annotated({
    "agent/min-ready-seconds": "0",
    "agent/progress-deadline-seconds": "30",
    "agent/on-failure": "keep",
    "agent/update-strategy": "stop-then-pull",
  });
  expect(policyOf(pod, DEFAULT_POLICY)).toEqual({
    ...DEFAULT_POLICY,
    minReadySeconds: 0,
    progressDeadlineSeconds: 30,
    onFailure: "keep",
    strategy: "stop-then-pull",
  });
  expect(policyOf(annotated({ "agent/on-failure": "hold" }), DEFAULT_POLICY)).toEqual({
    ...DEFAULT_POLICY,
    onFailure: "hold",
  });
});

test.each([
  ["agent/min-ready-seconds", "-1"],
  ["agent/min-ready-seconds", "1.5"],
  ["agent/min-ready-seconds", "10s"],
  ["agent/progress-deadline-seconds", "0"],
  ["agent/progress-deadline-seconds", "9999999999"],
  ["agent/on-failure", "Rollback"],
  ["agent/update-strategy", "recreate"],
])("%s: %s has no effect", (key, value) => {
  expect(policyOf(annotated({ [key]: value }), DEFAULT_POLICY)).toEqual(DEFAULT_POLICY);
});

test.each([
  ["true", true],
  ["false", false],
  ["yes", false],
])("agent/hold-upgrade: %s", (value, expected) => {
  expect(holdsUpgrade(annotated({ "agent/hold-upgrade": value }))).toBe(expected);
});

test("agent/update-lock names a volume; nothing is none", () => {
  expect(lockVolumeOf(annotated({ "agent/update-lock": "lock" }))).toBe("lock");
  expect(lockVolumeOf(annotated({ "agent/update-lock": "" }))).toBeUndefined();
  expect(lockVolumeOf(annotated({}))).toBeUndefined();
});
