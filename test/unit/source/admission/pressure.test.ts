import { expect, test } from "bun:test";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import { pressureError } from "../../../../src/source/admission/pressure.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";

const ASKING: Partial<PodSpec> = {
  containers: [aContainer("a", { resources: { requests: { memory: "1Mi" }, limits: {} } })],
};
const TAINT = "node.kubernetes.io/memory-pressure";

function tolerating(toleration: Partial<PodSpec["tolerations"][number]>): Partial<PodSpec> {
  return { tolerations: [{ key: "", operator: "Equal", value: "", ...toleration }] };
}

const cases: Readonly<Record<string, readonly [Partial<PodSpec>, ...conditions: string[]]>> = {
  "any pod on a calm node": [{}],
  "a Burstable pod while memory is short": [ASKING, "MemoryPressure"],
  "a critical pod, whatever is short": [
    { priorityClassName: "system-cluster-critical" },
    "DiskPressure",
    "MemoryPressure",
    "PIDPressure",
  ],
  "a pod that tolerates the taint": [
    tolerating({ key: TAINT, operator: "Exists", effect: "NoSchedule" }),
    "MemoryPressure",
  ],
  "a pod that tolerates its empty value": [tolerating({ key: TAINT }), "MemoryPressure"],
  "a pod that tolerates everything": [tolerating({ operator: "Exists" }), "MemoryPressure"],
};
test.each(Object.entries(cases))("%s may start", (_, [spec, ...conditions]) => {
  expect(pressureError(aPod(spec), new Set(conditions))).toBeUndefined();
});

const refused: typeof cases = {
  "a BestEffort pod while memory is short": [{}, "MemoryPressure"],
  "a Burstable pod while the disk is": [ASKING, "DiskPressure"],
  "a Burstable pod while process ids are": [ASKING, "PIDPressure"],
  "a Burstable pod while both are": [ASKING, "DiskPressure", "MemoryPressure"],
  "one that tolerates another effect": [
    tolerating({ key: TAINT, operator: "Exists", effect: "NoExecute" }),
    "MemoryPressure",
  ],
  "one that tolerates another taint": [
    tolerating({ key: "node.kubernetes.io/disk-pressure", operator: "Exists" }),
    "MemoryPressure",
  ],
  "one that tolerates another value": [tolerating({ key: TAINT, value: "x" }), "MemoryPressure"],
};
test.each(Object.entries(refused))("%s may not", (_, [spec, ...conditions]) => {
  expect(pressureError(aPod(spec), new Set(conditions))).toEqual({
    code: "Evicted",
    path: "",
    message: `The node had condition: [${conditions.join(" ")}].`,
  });
});
