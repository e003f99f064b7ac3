import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  fullName,
  imageKeys,
  referenceKeys,
  type NodeImage,
} from "../../../../src/image/gc/image-keys.ts";
import {
  imageHold,
  ImageUsers,
  type HoldReason,
  type ImageUser,
} from "../../../../src/image/gc/image-holds.ts";
import type { BroughtImage } from "../../../../src/store/brought-images.ts";

const HEX = "ab".repeat(32);
const OTHER = "cd".repeat(32);
const IMAGE: NodeImage = {
  id: `sha256:${HEX}`,
  tags: ["r.test/app:1"],
  digests: [`r.test/app@sha256:${OTHER}`],
  sizeBytes: 10,
  isPinned: false,
};
const OURS: BroughtImage = {
  id: IMAGE.id,
  names: ["r.test/app:1"],
  digests: [],
  origin: "Pulled",
  idleMs: 0,
  bootId: "boot",
  at: 0,
};

function users(why: ImageUser["why"], ...references: readonly string[]): ImageUsers {
  return new ImageUsers(references.map((reference) => ({ reference, why, by: "default/web" })));
}

const NONE = users("Pod");

describe("an image is held", () => {
  test.each([
    ["by its tag", "r.test/app:1"],
    ["by its id", IMAGE.id],
    ["by its bare id", HEX],
    ["by its digest", `r.test/app@sha256:${OTHER}`],
    ["by its digest of another registry", `mirror.test/app@sha256:${OTHER}`],
    ["by tag and digest", `r.test/app:other@sha256:${OTHER}`],
  ])("%s", (_name, reference) => {
    const hold = imageHold(IMAGE, users("Pod", reference), OURS);
    expect(hold).toEqual({ why: "Pod", by: ["default/web"] });
  });

  test("by nothing if nothing needs it and this agent brought it", () => {
    expect(imageHold(IMAGE, NONE, OURS)).toBeUndefined();
    expect(imageHold(IMAGE, users("Pod", "r.test/app:2", "app:1"), OURS)).toBeUndefined();
  });

  test("short names mean those of Docker's registry", () => {
    const hub = { ...IMAGE, tags: ["docker.io/library/busybox:latest"] };
    expect(imageHold(hub, users("Container", "busybox"), OURS)?.why).toBe("Container");
  });

  test.each<[string, NodeImage, BroughtImage | undefined, HoldReason]>([
    ["if others brought it", IMAGE, undefined, "Foreign"],
    [
      "if others gave it another name",
      { ...IMAGE, tags: ["r.test/app:1", "r.test/mine:1"] },
      OURS,
      "Foreign",
    ],
    ["if the runtime pins it", { ...IMAGE, isPinned: true }, OURS, "Pinned"],
  ])("%s", (_name, image, brought, why) => {
    expect(imageHold(image, NONE, brought)).toEqual({ why, by: [] });
  });

  test("an image without a tag, whose name has moved on, is still ours", () => {
    expect(imageHold({ ...IMAGE, tags: [] }, NONE, OURS)).toBeUndefined();
  });

  test("containers are named before pods, and pods before good revisions", () => {
    const all = (["GoodRevision", "Pod", "Container"] as const).map((why) => ({
      reference: "r.test/app:1",
      why,
      by: `default/${why}`,
    }));
    expect(imageHold(IMAGE, new ImageUsers(all), OURS)?.by).toEqual(["default/Container"]);
  });
});

describe("keys", () => {
  test("every reference by which the runtime lists an image finds it", () => {
    const host = fc.constantFrom("r.test", "r.test:5000", "docker.io", "localhost");
    const path = fc.stringMatching(/^[a-z0-9]{1,8}(\/[a-z0-9]{1,8})?$/);
    const tag = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,8}$/);
    fc.assert(
      fc.property(host, path, tag, (domain, repository, label) => {
        const name = fullName(`${domain}/${repository}:${label}`);
        const image = {
          ...IMAGE,
          tags: [name],
          digests: [`${domain}/${repository}@sha256:${OTHER}`],
        };
        const keys = new Set(imageKeys(image));
        const references = [image.id, HEX, ...image.tags, ...image.digests];
        for (const one of references)
          expect(referenceKeys(one).some((key) => keys.has(key))).toBe(true);
        expect(fullName(name)).toBe(name);
      }),
    );
  });

  test("a name that no pod may have is equal to itself", () => {
    expect(referenceKeys("<none>")).toEqual(["<none>"]);
  });
});
