import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { containerOf, refusals, specOf, withInit, writtenPod } from "../written-pod.ts";
import type { RestartRule } from "../../../../src/api/v1/restart-rules.ts";

const RULE: RestartRule = { action: "Restart", exitCodes: { operator: "In", values: [42] } };

function rules(...written: readonly unknown[]): object {
  return { restartPolicy: "Never", restartPolicyRules: written };
}

describe("a container's own restart policy", () => {
  test.each(["Always", "OnFailure", "Never"] as const)("may be %s", (restartPolicy) => {
    expect(containerOf({ restartPolicy })?.restartPolicy).toBe(restartPolicy);
  });

  test.each(["Always", "OnFailure", "Never"] as const)(
    "of an init container may be %s",
    (restartPolicy) => {
      const spec = specOf(writtenPod(withInit({ restartPolicy })));
      expect(spec.initContainers[0]?.restartPolicy).toBe(restartPolicy);
    },
  );

  test("may have rules before it", () => {
    const never = {
      action: "Restart",
      exitCodes: { operator: "NotIn", values: [0, 255] },
    } as const;
    expect(containerOf(rules(RULE, never))?.restartPolicyRules).toEqual([RULE, never]);
  });

  test("of a plain init container may have rules before it", () => {
    const spec = specOf(writtenPod(withInit(rules(RULE))));
    expect(spec.initContainers[0]?.restartPolicyRules).toEqual([RULE]);
  });

  test("may stand beside an empty list of rules, as may none", () => {
    expect(containerOf({ restartPolicyRules: [] })?.restartPolicyRules).toEqual([]);
    expect(containerOf(rules())?.restartPolicyRules).toEqual([]);
  });
});

describe("restart rules are refused if", () => {
  const cases: Readonly<Record<string, readonly [object, readonly string[]]>> = {
    "the container has no policy of its own": [
      { restartPolicyRules: [RULE] },
      ["restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
    ],
    "there are too many": [
      rules(...Array.from({ length: 21 }, () => RULE)),
      ["restartPolicyRules: Too many: 21: must have at most 20 items"],
    ],
    "one wants all containers restarted": [
      rules({ ...RULE, action: "RestartAllContainers" }),
      [
        "restartPolicyRules[0].action: RestartAllContainers does not work on this node; use Restart, which restarts the container alone",
      ],
    ],
    "one has an unknown action": [
      rules(RULE, { ...RULE, action: "Stop" }),
      ['restartPolicyRules[1].action: Unsupported value: "Stop": supported values: "Restart"'],
    ],
    "one has no action": [
      rules({ exitCodes: RULE.exitCodes }),
      ['restartPolicyRules[0].action: Unsupported value: "": supported values: "Restart"'],
    ],
    "one has no exit codes": [
      rules({ action: "Restart" }),
      ["restartPolicyRules[0].exitCodes: Required value: must be specified"],
    ],
    "one has no operator": [
      rules({ action: "Restart", exitCodes: { values: [1] } }),
      [
        'restartPolicyRules[0].exitCodes.operator: Unsupported value: "": supported values: "In", "NotIn"',
      ],
    ],
    "one has no values": [
      rules({ action: "Restart", exitCodes: { operator: "In" } }),
      ["restartPolicyRules[0].exitCodes.values: Required value: must have at least 1 exit code"],
    ],
    "one has too many values": [
      rules({
        action: "Restart",
        exitCodes: { operator: "In", values: Array.from({ length: 256 }, (_, code) => code) },
      }),
      ["restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items"],
    ],
    "values are no exit codes": [
      rules({ action: "Restart", exitCodes: { operator: "In", values: [-1, 256, "1"] } }),
      [
        "restartPolicyRules[0].exitCodes.values[0]: Invalid value: -1: must be an integer between 0 and 255, inclusive",
        "restartPolicyRules[0].exitCodes.values[1]: Invalid value: 256: must be an integer between 0 and 255, inclusive",
        'restartPolicyRules[0].exitCodes.values[2]: Invalid value: "1": must be an integer between 0 and 255, inclusive',
      ],
    ],
    "a value stands twice": [
      rules({ action: "Restart", exitCodes: { operator: "In", values: [1, 2, 1] } }),
      ["restartPolicyRules[0].exitCodes.values[2]: Duplicate value: 1"],
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [container, errors]) => {
    const expected = errors.map((error) => `spec.containers[0].${error}`);
    expect(refusals(writtenPod({}, container))).toEqual(expected);
  });

  test("they are a sidecar's", () => {
    const sidecar = { restartPolicy: "Always", restartPolicyRules: [RULE] };
    expect(refusals(writtenPod(withInit(sidecar)))).toEqual([
      "spec.initContainers[0].restartPolicyRules: Forbidden: may not be set for init containers with restartPolicy=Always",
    ]);
  });
});

test("every rule Kubernetes allows is read as it is written", () => {
  const rule = fc.record({
    action: fc.constant("Restart" as const),
    exitCodes: fc.record({
      operator: fc.constantFrom("In" as const, "NotIn" as const),
      values: fc.uniqueArray(fc.nat(255), { minLength: 1, maxLength: 255 }),
    }),
  });
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 20 }), (written) => {
      expect(containerOf(rules(...written))?.restartPolicyRules).toEqual(written);
    }),
    { numRuns: 50 },
  );
});
