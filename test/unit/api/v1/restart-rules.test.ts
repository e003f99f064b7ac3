import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { containerOf, specOf, withInit, writtenPod } from "../written-pod.ts";
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

  test.each(["Restart", "RestartAllContainers"] as const)(
    "of a sidecar may have rules that %s",
    (action) => {
      const rule = { ...RULE, action };
      const written = { restartPolicy: "Always", restartPolicyRules: [rule] };
      const spec = specOf(writtenPod(withInit(written)));
      expect(spec.initContainers[0]?.restartPolicyRules).toEqual([rule]);
    },
  );

  test("may stand beside an empty list of rules, as may none", () => {
    expect(containerOf({ restartPolicyRules: [] })?.restartPolicyRules).toEqual([]);
    expect(containerOf(rules())?.restartPolicyRules).toEqual([]);
  });
});

test("every rule Kubernetes allows is read as it is written", () => {
  const rule = fc.record({
    action: fc.constantFrom("Restart" as const, "RestartAllContainers" as const),
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
