import { describe, expect, test } from "bun:test";
import { isNodeCritical, priorityOf } from "../../../../src/api/resource/priority.ts";
import { aPod } from "../../../fakes/a-pod.ts";

const config = { priorityClasses: { high: 1_000, low: -5 } };

const cases: Readonly<
  Record<string, readonly [spec: Parameters<typeof aPod>[0], priority: number]>
> = {
  "a pod without a class has none": [{}, 0],
  "a number counts without a class": [{ priority: 7 }, 7],
  "a class of the configuration counts before the number": [
    { priorityClassName: "low", priority: 7 },
    -5,
  ],
  "system-cluster-critical is known everywhere": [
    { priorityClassName: "system-cluster-critical" },
    2_000_000_000,
  ],
  "system-node-critical stands above everything": [
    { priorityClassName: "system-node-critical" },
    2_000_001_000,
  ],
  "an unknown class leaves the number": [{ priorityClassName: "gone", priority: 3 }, 3],
  "the name of something every object has is no class": [{ priorityClassName: "toString" }, 0],
};

describe("priorityOf", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [spec, priority]) => {
    expect(priorityOf(aPod(spec), config)).toBe(priority);
  });
});

test.each([
  [{ priorityClassName: "system-node-critical" }, true],
  [{ priority: 2_000_001_000 }, true],
  [{ priorityClassName: "system-cluster-critical" }, false],
  [{}, false],
])("%j is critical for the node: %p", (spec, critical) => {
  expect(isNodeCritical(aPod(spec).spec)).toBe(critical);
});
