import { describe, expect, test } from "bun:test";
import { containerImages, nodeOnlyStatus } from "../../../src/node/node-only-status.ts";
import { v1Node } from "../../../src/node/node-api.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import type { NodeImage } from "../../../src/image/gc/image-keys.ts";

const NO_HANDLERS = { handlers: new Map(), supplementalGroupsPolicy: false };

function using(...claims: readonly string[]): ReturnType<typeof aPod> {
  const volumes = claims.map((claimName, at) => ({
    name: `v${at}`,
    persistentVolumeClaim: { claimName, readOnly: false },
  }));
  return aPod({ containers: [aContainer("a")], volumes }, { name: `of-${claims.join("-")}` });
}

test("each claim that pods use is listed once, in order", () => {
  const { volumesInUse } = nodeOnlyStatus(NO_HANDLERS, [using("b", "a"), using("b"), aPod()]);
  expect(volumesInUse).toEqual([
    "persistentvolumeclaim/default/a",
    "persistentvolumeclaim/default/b",
  ]);
});

test("the runtime's handlers are named as Kubernetes names them", () => {
  const handlers = new Map([
    ["", { userNamespaces: true, recursiveReadOnly: false }],
    ["kata", { userNamespaces: false, recursiveReadOnly: true }],
  ]);
  const status = nodeOnlyStatus({ handlers, supplementalGroupsPolicy: true }, []);
  expect(status.runtimeHandlers).toEqual([
    { name: "", features: { recursiveReadOnlyMounts: false, userNamespaces: true } },
    { name: "kata", features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
  ]);
  expect(status.features).toEqual({ supplementalGroupsPolicy: true });
});

test("swap is in nodeInfo, where there is some", () => {
  const nodeInfo = { kernelVersion: "6.12.0" };
  const status = { conditions: [], addresses: [], capacity: {}, allocatable: {}, nodeInfo };
  const node = { name: "pi-1", labels: {}, status };
  expect(v1Node(node)["status"]).toMatchObject({ nodeInfo });
  expect(v1Node({ ...node, swapBytes: 4096 })["status"]).toMatchObject({
    nodeInfo: { ...nodeInfo, swap: { capacity: 4096 } },
  });
});

describe("the images of a node", () => {
  const image = (id: string, sizeBytes: number, tags: readonly string[] = []): NodeImage => ({
    id,
    tags,
    digests: [`r@${id}`],
    sizeBytes,
    isPinned: false,
  });

  test("are the largest fifty, with five names each, digests first", () => {
    const tags = Array.from({ length: 7 }, (_, at) => `r:${at}`);
    const many = Array.from({ length: 60 }, (_, at) => image(`id-${at}`, at, tags));
    const shown = containerImages(many);
    expect(shown).toHaveLength(50);
    expect(shown[0]).toEqual({ names: ["r@id-59", "r:0", "r:1", "r:2", "r:3"], sizeBytes: 59 });
    expect(shown.at(-1)?.sizeBytes).toBe(10);
  });
});
