import { describe, expect, test } from "bun:test";
import { matchesFields, parseFieldSelector } from "../../../../src/server/kube/field-selector.ts";
import { PODS } from "../../../../src/server/kube/resources.ts";

const POD = {
  metadata: { name: "web", namespace: "shop" },
  spec: { nodeName: "pi-1" },
  status: { phase: "Running" },
};

describe("a field selector", () => {
  test.each([
    ["", true],
    ["status.phase=Running", true],
    ["status.phase==Running,metadata.name=web", true],
    ["status.phase!=Running", false],
    ["metadata.name!=db , spec.nodeName=pi-1", true],
    ["metadata.namespace=default", false],
    // An absent field is an empty text, as in Kubernetes.
    ["status.podIP=", true],
    ["status.podIP!=", false],
  ])("%j selects the pod: %p", (written, isSelected) => {
    const selector = parseFieldSelector(written, PODS);
    expect(selector.ok && matchesFields(POD, selector.value)).toBe(isSelected);
  });

  test.each([
    ["spec.containers=1", "field label not supported: spec.containers"],
    ["phase", 'cannot read "phase"'],
    ["status.phase=Running,", 'cannot read ""'],
  ])("%j is refused with what can be selected by", (written, message) => {
    const refused = parseFieldSelector(written, PODS);
    expect(refused.ok ? "" : refused.errors[0]?.message).toContain(message);
  });
});
