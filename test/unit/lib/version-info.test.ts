import { expect, test } from "bun:test";

import { userAgent, versionInfo } from "../../../src/lib/version-info.ts";

test.each([
  [
    "0.2.0",
    "1a2b3c4d5e6f",
    { gitVersion: "v0.2.0", gitCommit: "1a2b3c4d5e6f", gitTreeState: "clean" },
  ],
  [
    "0.2.0+1a2b3c4d5e6f",
    "1a2b3c4d5e6f",
    { gitVersion: "v0.2.0+1a2b3c4d5e6f", gitCommit: "1a2b3c4d5e6f", gitTreeState: "clean" },
  ],
  [
    "0.2.0+1a2b3c4d5e6f.dirty",
    undefined,
    { gitVersion: "v0.2.0+1a2b3c4d5e6f.dirty", gitCommit: "1a2b3c4d5e6f", gitTreeState: "dirty" },
  ],
  ["0.2.0", undefined, { gitVersion: "v0.2.0" }],
] as const)("%s, built of %s, is told as Kubernetes tells it", (version, built, expected) => {
  expect(versionInfo(version, "x64", built)).toEqual({ ...expected, platform: "linux/amd64" });
});

test("servers see version and machine", () => {
  expect(userAgent("0.2.0+1a2b3c", "arm64")).toBe("agent/0.2.0+1a2b3c (linux/arm64)");
});
