import { expect, test } from "bun:test";

import { formatPath, type FieldPath } from "../../../../src/api/decode/field-path.ts";

const cases: readonly (readonly [path: FieldPath, text: string])[] = [
  [[], ""],
  [["spec"], "spec"],
  [["spec", "containers", 0, "image"], "spec.containers[0].image"],
  [["metadata", "labels", "app"], "metadata.labels[app]"],
  [["metadata", "annotations", "agent/devices"], "metadata.annotations[agent/devices]"],
  [["spec", "nodeSelector", "room"], "spec.nodeSelector[room]"],
  [["spec", "overhead", "cpu"], "spec.overhead[cpu]"],
  [["spec", "resources", "limits", "cpu"], "spec.resources.limits[cpu]"],
  [["spec", "resources", "requests", "hugepages-2Mi"], "spec.resources.requests[hugepages-2Mi]"],
  [["spec", "odd key", "x"], "spec[odd key].x"],
  [["spec", "k".repeat(400)], `spec.${"k".repeat(330)}…`],
];

test.each([...cases])("%j is written %p", (path, text) => {
  expect(formatPath(path)).toBe(text);
});
