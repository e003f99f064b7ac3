import { expect, test } from "bun:test";
import { isContainerd } from "../../../src/containerd/containerd.ts";

test.each([
  ["containerd", true],
  ["cri-o", false],
  ["", false],
])("a runtime that calls itself %p: %p", (runtimeName, expected) => {
  expect(isContainerd({ runtimeName })).toBe(expected);
});
