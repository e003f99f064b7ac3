import { expect, test } from "bun:test";
import type { EmptyDirMedium } from "../../../src/api/v1/volumes.ts";
import { hugePageBytes } from "../../../src/volume/empty-dir.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import type { ResourceList } from "../../../src/api/v1/resources.ts";

const MI = 1024 * 1024;
const none = (medium: string) =>
  `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`;

const cases: Record<string, readonly [EmptyDirMedium, readonly ResourceList[], number | string]> = {
  "the size that the pod asks for": ["HugePages", [{ "hugepages-2Mi": "4Mi" }], 2 * MI],
  "the same size from several containers": [
    "HugePages",
    [{ "hugepages-2Mi": "4Mi" }, { "hugepages-2048Ki": "4Mi" }],
    2 * MI,
  ],
  "the size of the medium": [
    "HugePages-1Gi",
    [{ "hugepages-2Mi": "4Mi", "hugepages-1Gi": "1Gi" }],
    1024 * MI,
  ],
  "none without a request": ["HugePages", [{ memory: "1Gi" }], none("HugePages")],
  "none of a size that was not asked for": [
    "HugePages-1Gi",
    [{ "hugepages-2Mi": "4Mi" }],
    none("HugePages-1Gi"),
  ],
  "no choice between two": [
    "HugePages",
    [{ "hugepages-2Mi": "4Mi" }, { "hugepages-1Gi": "1Gi" }],
    "medium: HugePages can't be used if container requests multiple huge page sizes",
  ],
};

test.each(Object.entries(cases))("%s", (_, [medium, requests, expected]) => {
  const containers = requests.map((list, index) =>
    aContainer(`c${index}`, { resources: { limits: list, requests: list } }),
  );
  expect(hugePageBytes(medium, aPod({ containers }))).toBe(expected);
});

test("what the pod as a whole asks for counts too", () => {
  const resources = { limits: {}, requests: { "hugepages-2Mi": "4Mi" } };
  expect(hugePageBytes("HugePages", aPod({ resources }))).toBe(2 * MI);
});
