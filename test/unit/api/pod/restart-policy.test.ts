import { describe, expect, test } from "bun:test";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type { RestartPolicy } from "../../../../src/api/v1/pod.ts";
import {
  exitMayBeLast,
  restartActionOf,
  restartPolicyOf,
  restartsAfter,
  restartsAfterKill,
} from "../../../../src/api/pod/restart-policy.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

type Rule = Container["restartPolicyRules"][number]["exitCodes"];

const In = (...values: number[]): Rule => ({ operator: "In", values });
const NotIn = (...values: number[]): Rule => ({ operator: "NotIn", values });

interface Facts {
  readonly pod: RestartPolicy;
  /** Absent = the pod's. */
  readonly own?: RestartPolicy;
  readonly rules?: readonly Rule[];
  readonly init?: true;
}

function specOf({ pod, own, rules = [], init }: Facts): [PodSpec, Container] {
  const restartPolicyRules = rules.map((exitCodes) => ({ action: "Restart", exitCodes }) as const);
  const policy = own === undefined ? {} : { restartPolicy: own };
  const container = aContainer("a", { ...policy, restartPolicyRules });
  const place =
    init === true ? { initContainers: [container], containers: [] } : { containers: [container] };
  return [aPod({ restartPolicy: pod, ...place }).spec, container];
}

/** After which of these exit codes it runs again, and whether it may after being killed. */
const CODES = [0, 1, 42, 137];

const table: Record<string, Facts & { readonly again: readonly number[]; readonly kill: boolean }> =
  {
    "Always: after anything": { pod: "Always", again: CODES, kill: true },
    "OnFailure: after a failure": { pod: "OnFailure", again: [1, 42, 137], kill: true },
    "Never: after nothing": { pod: "Never", again: [], kill: false },
    "its own Always in a Never pod": { pod: "Never", own: "Always", again: CODES, kill: true },
    "its own OnFailure in a Never pod": {
      pod: "Never",
      own: "OnFailure",
      again: [1, 42, 137],
      kill: true,
    },
    "its own OnFailure in an Always pod": {
      pod: "Always",
      own: "OnFailure",
      again: [1, 42, 137],
      kill: true,
    },
    "its own Never in an Always pod": { pod: "Always", own: "Never", again: [], kill: false },
    "Never with a rule: after its exit code": {
      pod: "Never",
      own: "Never",
      rules: [In(42)],
      again: [42],
      kill: true,
    },
    "Never with a rule of several codes": {
      pod: "Always",
      own: "Never",
      rules: [In(0, 42)],
      again: [0, 42],
      kill: true,
    },
    "Never with a rule that excludes": {
      pod: "Never",
      own: "Never",
      rules: [NotIn(0, 42)],
      again: [1, 137],
      kill: true,
    },
    "Never with two rules: after the codes of both": {
      pod: "Never",
      own: "Never",
      rules: [In(1), In(137)],
      again: [1, 137],
      kill: true,
    },
    "OnFailure with a rule for success: after that too": {
      pod: "Never",
      own: "OnFailure",
      rules: [In(0)],
      again: CODES,
      kill: true,
    },
    "an init container, Always: until it succeeds": {
      pod: "Always",
      init: true,
      again: [1, 42, 137],
      kill: true,
    },
    "an init container, OnFailure: until it succeeds": {
      pod: "OnFailure",
      init: true,
      again: [1, 42, 137],
      kill: true,
    },
    "an init container, Never: not even then": { pod: "Never", init: true, again: [], kill: false },
    "an init container's own Never": {
      pod: "Always",
      own: "Never",
      init: true,
      again: [],
      kill: false,
    },
    "an init container with a rule for success: it has succeeded": {
      pod: "Never",
      own: "Never",
      rules: [In(0, 42)],
      init: true,
      again: [42],
      kill: true,
    },
    "a sidecar: after anything, whatever the pod's": {
      pod: "Never",
      own: "Always",
      init: true,
      again: CODES,
      kill: true,
    },
  };

describe("a container runs again", () => {
  test.each(Object.entries(table))("%s", (_, { again, kill, ...facts }) => {
    const [spec, container] = specOf(facts);
    expect(CODES.filter((code) => restartsAfter(spec, container, code))).toEqual([...again]);
    expect(restartsAfterKill(spec, container)).toBe(kill);
    if (again.length < CODES.length) expect(exitMayBeLast(spec, container)).toBe(true);
  });

  test("under Always whatever it exits with: an app container and a sidecar", () => {
    expect(exitMayBeLast(...specOf({ pod: "Always" }))).toBe(false);
    expect(exitMayBeLast(...specOf({ pod: "Never", own: "Always" }))).toBe(false);
    expect(exitMayBeLast(...specOf({ pod: "Never", own: "Always", init: true }))).toBe(false);
  });
});

test("the first rule that matches says whether all containers restart", () => {
  const rules = [
    { action: "Restart", exitCodes: In(41) },
    { action: "RestartAllContainers", exitCodes: In(41, 42) },
  ] as const;
  const actionsOf = (place: "containers" | "initContainers", policy: RestartPolicy) => {
    const container = aContainer("c", { restartPolicy: policy, restartPolicyRules: rules });
    const { spec } = aPod({ [place]: [container] });
    return [0, 1, 41, 42].map((code) => restartActionOf(spec, container, code));
  };
  const asked = ["Restart", "RestartAllContainers"] as const;
  expect(actionsOf("containers", "Never")).toEqual([undefined, undefined, ...asked]);
  expect(actionsOf("initContainers", "Never")).toEqual([undefined, undefined, ...asked]);
  expect(actionsOf("initContainers", "OnFailure")).toEqual([undefined, "Restart", ...asked]);
  // A sidecar restarts alone after any other code.
  expect(actionsOf("initContainers", "Always")).toEqual(["Restart", "Restart", ...asked]);
});

test("a container's own policy outweighs the pod's", () => {
  const [spec, container] = specOf({ pod: "Always", own: "Never" });
  expect(restartPolicyOf(spec, container)).toBe("Never");
  expect(restartPolicyOf(spec, aContainer("b"))).toBe("Always");
});
