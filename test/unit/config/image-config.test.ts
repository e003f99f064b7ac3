import { describe, expect, test } from "bun:test";
import { decodeConfig } from "../../../src/config/config.ts";

function limits(document: object): unknown {
  const result = decodeConfig(document);
  return result.ok
    ? result.value.pullLimits
    : result.errors.map(({ path, message }) => `${path}: ${message}`);
}

describe("limits of pulls", () => {
  const usual = { perSecond: 5, burst: 10 };
  test.each([
    ["one at a time by default", {}, { parallel: 1, ...usual }],
    ["as many as written", { maxParallelImagePulls: 4 }, { parallel: 4, ...usual }],
    ["one, if one is written", { maxParallelImagePulls: 1 }, { parallel: 1, ...usual }],
    [
      "without limit if not serialized",
      { serializeImagePulls: false },
      { parallel: Number.POSITIVE_INFINITY, ...usual },
    ],
    [
      "one, if serialized",
      { serializeImagePulls: true, maxParallelImagePulls: 1 },
      { parallel: 1, ...usual },
    ],
    ["without a rate", { registryPullQPS: 0 }, { parallel: 1, perSecond: 0, burst: 10 }],
    [
      "without a rate and a burst",
      { registryPullQPS: 0, registryBurst: 0 },
      { parallel: 1, perSecond: 0, burst: 0 },
    ],
    [
      "refused where both fields contradict each other",
      { serializeImagePulls: true, maxParallelImagePulls: 2 },
      ["maxParallelImagePulls: Invalid value: 2: must be 1 while serializeImagePulls is true"],
    ],
    [
      "refused where no pull could ever begin",
      { registryBurst: 0 },
      [
        "registryBurst: Invalid value: 0: must be at least 1 while registryPullQPS limits the pulls: none could ever begin",
      ],
    ],
    [
      "refused below their range",
      { maxParallelImagePulls: 0, registryPullQPS: -1 },
      [
        "maxParallelImagePulls: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        "registryPullQPS: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      ],
    ],
  ])("%s", (_case, document, expected) => {
    expect(limits(document)).toEqual(expected);
  });
});

test("plugins need the directory of their programs", () => {
  expect(limits({ imageCredentialProviderConfigFile: "/etc/agent/providers.yaml" })).toEqual([
    "imageCredentialProviderBinDir: Required value: the directory of the plugins' programs",
  ]);
});
