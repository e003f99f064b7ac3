import { describe, expect, test } from "bun:test";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
} from "../../../../src/api/v1/scheduling.ts";
import { affinityError, localLabels } from "../../../../src/source/admission/node-affinity.ts";
import { aPod } from "../../../fakes/a-pod.ts";

const node = {
  nodeName: "pi-1",
  labels: localLabels(
    { nodeName: "pi-1", architecture: "arm64" },
    { site: "berlin", floor: "3", empty: "" },
  ),
};

type Operator = NodeSelectorRequirement["operator"];
const label = (key: string, operator: Operator, ...values: string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key, operator, values }],
  matchFields: [],
});
const field = (operator: Operator, ...values: string[]): NodeSelectorTerm => ({
  matchExpressions: [],
  matchFields: [{ key: "metadata.name", operator, values }],
});
const bothOf = (one: NodeSelectorTerm, other: NodeSelectorTerm): NodeSelectorTerm => ({
  matchExpressions: [...one.matchExpressions, ...other.matchExpressions],
  matchFields: [...one.matchFields, ...other.matchFields],
});

const REASON = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
const WAY_OUT = "set it in nodeLabels of the agent's configuration, or change the pod";

/** Absent = the node fits. */
type Why = string | undefined;
const cases: Readonly<Record<string, readonly [spec: Partial<PodSpec>, why?: Why]>> = {
  "a pod that asks for nothing fits": [{}],
  "a selector of labels that the node has": [{ nodeSelector: { site: "berlin", empty: "" } }],
  "the labels that every node has": [
    {
      nodeSelector: {
        "kubernetes.io/hostname": "pi-1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
      },
    },
  ],
  "a selector of another value": [
    { nodeSelector: { site: "paris" } },
    "spec.nodeSelector[site]: requires site=paris, this node has site=berlin",
  ],
  "a selector of a label that the node has not": [
    { nodeSelector: { "example.org/gpu": "true" } },
    "spec.nodeSelector[example.org/gpu]: requires example.org/gpu=true, this node has no example.org/gpu",
  ],
  "a label named as something every object has": [
    { nodeSelector: { constructor: "x" } },
    "spec.nodeSelector[constructor]: requires constructor=x, this node has no constructor",
  ],
  "In with one of the values": [{ affinity: [label("site", "In", "paris", "berlin")] }],
  "In with other values": [
    { affinity: [label("site", "In", "paris", "rome")] },
    "requires site In [paris, rome], this node has site=berlin",
  ],
  "NotIn with other values": [{ affinity: [label("site", "NotIn", "paris")] }],
  "NotIn of a label that is not there": [{ affinity: [label("gpu", "NotIn", "x")] }],
  "NotIn with this value": [
    { affinity: [label("site", "NotIn", "berlin")] },
    "requires site NotIn [berlin], this node has site=berlin",
  ],
  "Exists, be it empty": [{ affinity: [label("empty", "Exists")] }],
  "Exists of a label that is not there": [
    { affinity: [label("gpu", "Exists")] },
    "requires gpu Exists, this node has no gpu",
  ],
  DoesNotExist: [{ affinity: [label("gpu", "DoesNotExist")] }],
  "DoesNotExist of a label that is there": [
    { affinity: [label("site", "DoesNotExist")] },
    "requires site DoesNotExist, this node has site=berlin",
  ],
  "Gt of a number": [{ affinity: [label("floor", "Gt", "2")] }],
  "Gt is not at least": [
    { affinity: [label("floor", "Gt", "3")] },
    "requires floor Gt [3], this node has floor=3",
  ],
  "Lt of a number": [{ affinity: [label("floor", "Lt", "10")] }],
  "Lt of a label that is no number": [
    { affinity: [label("site", "Lt", "10")] },
    "requires site Lt [10], this node has site=berlin",
  ],
  "the node's name": [{ affinity: [field("In", "pi-1")] }],
  "another node's name": [
    { affinity: [field("In", "pi-2")] },
    "requires metadata.name In [pi-2], this node has metadata.name=pi-1",
  ],
  "one term of several is enough": [
    { affinity: [label("gpu", "Exists"), label("site", "Exists")] },
  ],
  "everything in a term has to match": [
    { affinity: [bothOf(label("site", "Exists"), field("NotIn", "pi-1"))] },
    "requires metadata.name NotIn [pi-1], this node has metadata.name=pi-1",
  ],
  "no term matches": [
    { affinity: [label("gpu", "Exists"), label("tpu", "Exists")] },
    "none of 2 terms matches, the first requires gpu Exists, this node has no gpu",
  ],
  "an empty term matches nothing": [
    { affinity: [{ matchExpressions: [], matchFields: [] }] },
    "all terms are empty, which matches no node",
  ],
  "the selector counts beside affinity": [
    { nodeSelector: { site: "paris" }, affinity: [label("site", "Exists")] },
    "spec.nodeSelector[site]: requires site=paris, this node has site=berlin",
  ],
};

const AFFINITY = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";

describe("node affinity", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [spec, why]) => {
    const [path, detail] = why?.startsWith("spec.") === true ? why.split(": ") : [AFFINITY, why];
    const expected = {
      code: "NodeAffinity",
      path,
      message: `${REASON} (${detail}; ${WAY_OUT})`,
    };
    expect(affinityError(aPod(spec), node)).toEqual(why === undefined ? undefined : expected);
  });
});

test("a label of the configuration goes before the node's own", () => {
  const own = { nodeName: "pi-1", architecture: "arm64" };
  expect(localLabels(own, { "kubernetes.io/hostname": "door" })["kubernetes.io/hostname"]).toBe(
    "door",
  );
});
