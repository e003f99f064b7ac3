import { describe, expect, test } from "bun:test";

import { decode, refusals, specOf, warnings, writtenPod } from "../written-pod.ts";

const KEY_RULE =
  "its name must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
const VALUE_RULE =
  "must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
const SUBDOMAIN_RULE =
  "must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)";
const TERMS =
  "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

/** A node affinity that requires this. */
function requiring(nodeSelectorTerms: unknown): object {
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms };
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution } } };
}

function expression(requirement: object): object {
  return requiring([{ matchExpressions: [requirement] }]);
}

function matchField(requirement: object): object {
  return requiring([{ matchFields: [requirement] }]);
}

describe("what is written is what is kept", () => {
  test("every field", () => {
    const spec = {
      nodeSelector: { "kubernetes.io/os": "linux", room: "" },
      priority: -5,
      priorityClassName: "system-node-critical",
      preemptionPolicy: "Never",
      runtimeClassName: "gvisor",
      overhead: { cpu: "250m", memory: "120Mi" },
      os: { name: "linux" },
    };
    const { os: _, ...kept } = spec;
    const imagePullSecrets = [{ name: "one" }, { name: "two.example" }];
    expect(specOf(writtenPod({ ...spec, imagePullSecrets }))).toMatchObject({
      ...kept,
      imagePullSecrets: ["one", "two.example"],
    } as never);
  });

  test("what node affinity requires", () => {
    const terms = [
      {
        matchExpressions: [
          { key: "room", operator: "In", values: ["kitchen", ""] },
          { key: "example.com/rank", operator: "Gt", values: ["5"] },
          { key: "old", operator: "DoesNotExist" },
        ],
      },
      { matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["pi-9"] }] },
      {},
    ];
    expect(specOf(writtenPod(requiring(terms))).affinity).toEqual([
      {
        matchExpressions: [
          { key: "room", operator: "In", values: ["kitchen", ""] },
          { key: "example.com/rank", operator: "Gt", values: ["5"] },
          { key: "old", operator: "DoesNotExist", values: [] },
        ],
        matchFields: [],
      },
      {
        matchExpressions: [],
        matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["pi-9"] }],
      },
      { matchExpressions: [], matchFields: [] },
    ]);
  });

  test("preferred node affinity and pod affinity are ignored", () => {
    const affinity = {
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] },
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{}] },
      podAntiAffinity: {},
    };
    const spec = specOf(writtenPod({ affinity }));
    expect(spec.affinity).toBeUndefined();
    expect(warnings(writtenPod({ affinity }))).toEqual([]);
  });

  test("tolerations with what they leave out", () => {
    const tolerations = [
      { operator: "Exists" },
      { key: "k", value: "v", effect: "NoSchedule" },
      {
        key: "node.kubernetes.io/not-ready",
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      },
      { key: "rank", operator: "Gt", value: "-5" },
    ];
    expect(specOf(writtenPod({ tolerations })).tolerations).toEqual([
      { key: "", operator: "Exists", value: "" },
      { key: "k", operator: "Equal", value: "v", effect: "NoSchedule" },
      {
        key: "node.kubernetes.io/not-ready",
        operator: "Exists",
        value: "",
        effect: "NoExecute",
        tolerationSeconds: 300,
      },
      { key: "rank", operator: "Gt", value: "-5" },
    ]);
  });

  // Earlier versions did not read tolerations: whatever was said there is part of the UIDs of pods that run.
  test("an unquoted word in a toleration is refused, and stays a boolean in the hashes of a checkpoint", () => {
    const written = writtenPod({ tolerations: [{ key: "a", value: true, effect: "NoSchedule" }] });
    const locate = () => ({ line: 1, column: 1, text: "on" });
    expect(decode(written, { locate }).errors).toMatchObject([
      {
        path: "spec.tolerations[0].value",
        message: 'Invalid value: true: must be a string; write "on"',
      },
    ]);
    const desired = decode(written, { locate, lenient: true }).pods[0]?.desired;
    expect(desired?.pod.spec.tolerations).toMatchObject([{ key: "a", value: "on" }]);
    expect(desired?.uid).toBe("3da46abe-4acf-8b9b-bf5f-98995922a830");
    expect(desired?.specHash).toBe(decode(written, { lenient: true }).pods[0]?.desired.specHash);
  });

  test("empty classes are the same as not written", () => {
    const spec = specOf(writtenPod({ priorityClassName: "", runtimeClassName: "", affinity: {} }));
    expect([spec.priorityClassName, spec.runtimeClassName, spec.priority]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("a pull secret without a name names nothing", () => {
    const value = writtenPod({ imagePullSecrets: [{}, { name: "one" }, { name: "" }] });
    expect(specOf(value).imagePullSecrets).toEqual(["one"]);
    expect(warnings(value)).toEqual([
      'spec.imagePullSecrets[0].name: invalid empty name ""',
      'spec.imagePullSecrets[2].name: invalid empty name ""',
    ]);
  });
});

const ONE = `${TERMS}[0].matchExpressions[0]`;
const FIELD = `${TERMS}[0].matchFields[0]`;

const cases: Readonly<Record<string, readonly [spec: object, ...errors: string[]]>> = {
  "a selector that no label can be": [
    { nodeSelector: { "-a": "b", c: "d e" } },
    `spec.nodeSelector[-a]: Invalid value: "-a": ${KEY_RULE}`,
    `spec.nodeSelector[c]: Invalid value: "d e": ${VALUE_RULE}`,
  ],
  "a selector whose value is a number": [
    { nodeSelector: { rank: 5 } },
    "spec.nodeSelector[rank]: Invalid value: 5: must be a string; put it in quotes",
  ],
  "no term at all": [
    requiring([]),
    `${TERMS}: Required value: must have at least one node selector term`,
  ],
  "terms that are no list": [requiring({}), `${TERMS}: Invalid value: {}: must be a list`],
  "a requirement without key and operator": [
    expression({ values: ["a"] }),
    `${ONE}.operator: Invalid value: "": not a valid selector operator`,
    `${ONE}.key: Required value`,
  ],
  "an operator that does not exist": [
    expression({ key: "a", operator: "in", values: ["b"] }),
    `${ONE}.operator: Invalid value: "in": not a valid selector operator`,
  ],
  "a key that is none": [
    expression({ key: "a b", operator: "Exists" }),
    `${ONE}.key: Invalid value: "a b": ${KEY_RULE}`,
  ],
  "no key": [expression({ operator: "Exists" }), `${ONE}.key: Required value`],
  "In without values": [
    expression({ key: "a", operator: "In" }),
    `${ONE}.values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
  ],
  "Exists with values": [
    expression({ key: "a", operator: "Exists", values: ["b"] }),
    `${ONE}.values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
  ],
  "Gt with two values": [
    expression({ key: "a", operator: "Gt", values: ["1", "2"] }),
    `${ONE}.values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
  ],
  "Lt with a value that is not a number": [
    expression({ key: "a", operator: "Lt", values: ["five"] }),
    `${ONE}.values[0]: Invalid value: "five": must be an integer when \`operator\` is 'Lt' or 'Gt'`,
  ],
  "a value that no label can have": [
    expression({ key: "a", operator: "NotIn", values: ["ok", "not ok"] }),
    `${ONE}.values[1]: Invalid value: "not ok": ${VALUE_RULE}`,
  ],
  "a field with another operator": [
    matchField({ key: "metadata.name", operator: "Exists" }),
    `${FIELD}.operator: Invalid value: "Exists": not a valid selector operator`,
  ],
  "a field with two values": [
    matchField({ key: "metadata.name", operator: "In", values: ["a", "b"] }),
    `${FIELD}.values: Required value: must be only one value when \`operator\` is 'In' or 'NotIn' for node field selector`,
  ],
  "another field": [
    matchField({ key: "spec.unschedulable", operator: "In", values: ["a"] }),
    `${FIELD}.key: Invalid value: "spec.unschedulable": not a valid field selector key (metadata.name is the only one)`,
  ],
  "a node name that is none": [
    matchField({ key: "metadata.name", operator: "In", values: ["Pi_1"] }),
    `${FIELD}.values[0]: Invalid value: "Pi_1": ${SUBDOMAIN_RULE}`,
  ],
  "misspelt fields on the way down": [
    { affinity: { nodeAffinty: {} } },
    "spec.affinity.nodeAffinty: unknown field (did you mean nodeAffinity?)",
  ],
  "a toleration of everything by value": [
    { tolerations: [{ value: "a" }] },
    'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
  ],
  "a toleration that exists and has a value": [
    { tolerations: [{ key: "a", operator: "Exists", value: "b" }] },
    "spec.tolerations[0].value: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
  ],
  "a toleration with a value that is none": [
    { tolerations: [{ key: "a", value: "b c" }] },
    `spec.tolerations[0].value: Invalid value: "b c": ${VALUE_RULE}`,
  ],
  "a toleration compared with a value that is not a number": [
    { tolerations: [{ key: "a", operator: "Lt", value: "b" }] },
    "spec.tolerations[0].value: Invalid value: \"b\": must be an integer when `operator` is 'Lt' or 'Gt'",
  ],
  "a toleration for a while of what does not evict": [
    { tolerations: [{ key: "a", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 5 }] },
    "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
  ],
  "a toleration with words that do not exist": [
    { tolerations: [{ key: "a/b/c", operator: "exists", effect: "NoStart" }] },
    'spec.tolerations[0].operator: Unsupported value: "exists": supported values: "Equal", "Exists", "Lt", "Gt"',
    'spec.tolerations[0].effect: Unsupported value: "NoStart": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    "spec.tolerations[0].key: Invalid value: \"a/b/c\": must have at most one '/'",
  ],
  "a priority beyond 32 bits": [
    { priority: 2147483648 },
    "spec.priority: Invalid value: 2147483648: must be between -2147483648 and 2147483647, inclusive",
  ],
  "classes that have no such names": [
    { priorityClassName: "Very_High", runtimeClassName: "g/visor" },
    `spec.priorityClassName: Invalid value: "Very_High": ${SUBDOMAIN_RULE}`,
    `spec.runtimeClassName: Invalid value: "g/visor": ${SUBDOMAIN_RULE}`,
  ],
  "a preemption policy that does not exist": [
    { preemptionPolicy: "Always" },
    'spec.preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"',
  ],
  "an overhead that is none": [
    { overhead: { cpu: "-1", memroy: "1Gi", "hugepages-2Mi": "3Mi" } },
    'spec.overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    'spec.overhead[memroy]: Invalid value: "memroy": must be a standard resource for containers (did you mean memory?)',
    'spec.overhead[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    "spec.overhead: Forbidden: HugePages require cpu or memory",
  ],
  "a pull secret by a name that no Secret has": [
    { imagePullSecrets: [{ name: "../secret.key" }] },
    `spec.imagePullSecrets[0].name: Invalid value: "../secret.key": ${SUBDOMAIN_RULE}`,
  ],
  "another system": [
    { os: { name: "windows" } },
    "spec.os.name: this node runs Linux containers only",
  ],
  "a system without a name": [{ os: {} }, "spec.os.name: Required value"],
};

test.each(Object.entries(cases))("refused: %s", (_, [spec, ...errors]) => {
  expect(refusals(writtenPod(spec))).toEqual(errors);
});

test("a pod for another node is skipped, whatever its spec", () => {
  expect(refusals(writtenPod({ nodeName: "pi-9", priority: "high" }))).toEqual([]);
});
