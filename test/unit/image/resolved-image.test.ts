import { describe, expect, test } from "bun:test";
import { resolvedImage } from "../../../src/image/resolved-image.ts";
import { aContainer, anInstance, anObservedPod, aPod } from "../../fakes/a-pod.ts";

const IMAGE = "r.test/app:1";
const [OLD, NEW] = ["r.test/app@sha256:01", "r.test/app@sha256:02"];
const a = aContainer("a", { image: IMAGE });
const b = aContainer("b", { image: IMAGE });
const other = aContainer("c", { image: "r.test/other:1" });
const pod = aPod({ containers: [a, b, other] });

function of(
  container: typeof a,
  instances: readonly Parameters<typeof anInstance>[1][],
  isOfFile = false,
) {
  const containers = instances.map((one) => anInstance("a", one));
  return resolvedImage(pod, container, { observed: anObservedPod([], containers), isOfFile });
}

describe("the image of a restart", () => {
  test("is that of the newest instance", () => {
    const instances = [
      { attempt: 1, imageID: NEW },
      { attempt: 0, imageID: OLD },
    ];
    expect(of(a, instances)).toBe(NEW);
  });

  test("is that of another container with the same name of image", () => {
    expect(of(b, [{ imageID: OLD }])).toBe(OLD);
    expect(of(other, [{ imageID: OLD }])).toBeUndefined();
  });

  test("is open before the first, and while the runtime does not report it", () => {
    expect(resolvedImage(pod, a, { observed: undefined, isOfFile: false })).toBeUndefined();
    expect(of(a, [{ imageID: "" }])).toBeUndefined();
  });

  test("is looked up each time for a file that asks for that", () => {
    const always = { ...a, imagePullPolicy: "Always" } as const;
    expect(of(always, [{ imageID: OLD }], true)).toBeUndefined();
    expect(of(always, [{ imageID: OLD }])).toBe(OLD);
    expect(of(a, [{ imageID: OLD }], true)).toBe(OLD);
  });
});
