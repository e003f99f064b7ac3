import { expect, test } from "bun:test";
import {
  contentDirectory,
  emptyDirPath,
  subPathsDirectory,
} from "../../../src/volume/volume-paths.ts";

test("an emptyDir lies where the kubelet has it", () => {
  expect(emptyDirPath("/var/lib/agent/", "6f0c-1", "cache")).toBe(
    "/var/lib/agent/pods/6f0c-1/volumes/kubernetes.io~empty-dir/cache",
  );
});

test("what the agent fills lies in a directory of its own", () => {
  expect(contentDirectory("/s", "6f0c-1")).toBe("/s/pods/6f0c-1/volumes/content");
});

test("a subPath lies where the kubelet has it", () => {
  expect(subPathsDirectory("/s", "6f0c-1", { volumeName: "v", container: "app" })).toBe(
    "/s/pods/6f0c-1/volume-subpaths/v/app",
  );
});
