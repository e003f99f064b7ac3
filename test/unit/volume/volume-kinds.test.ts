import { expect, test } from "bun:test";
import type { ProjectedSource } from "../../../src/api/v1/projected-volumes.ts";
import type { Volume } from "../../../src/api/v1/volumes.ts";
import { isContentVolume, isReadOnlyVolume } from "../../../src/volume/projection.ts";

const object = { name: "o", items: [], optional: false };
const projected = (...sources: ProjectedSource[]): Volume => ({
  name: "v",
  projected: { sources, defaultMode: 0o644 },
});
const claim = (readOnly: boolean): Volume => ({
  name: "v",
  persistentVolumeClaim: { claimName: "c", readOnly },
});

/** c = filled by us, r = read-only whatever the mount says. */
const cases: Record<string, readonly [Volume, string]> = {
  emptyDir: [{ name: "v", emptyDir: { medium: "" } }, ""],
  hostPath: [{ name: "v", hostPath: { path: "/x", type: "" } }, ""],
  configMap: [{ name: "v", configMap: { ...object, defaultMode: 0o644 } }, "cr"],
  secret: [{ name: "v", secret: { ...object, defaultMode: 0o644 } }, "cr"],
  downwardAPI: [{ name: "v", downwardAPI: { items: [], defaultMode: 0o644 } }, "cr"],
  "projected without secrets": [projected({ type: "configMap", ...object }), "cr"],
  "projected with secrets": [
    projected({ type: "configMap", ...object }, { type: "secret", ...object }),
    "cr",
  ],
  claim: [claim(false), ""],
  "read-only claim": [claim(true), "r"],
  image: [{ name: "v", image: { reference: "x", pullPolicy: "Always" } }, "r"],
};

test.each(Object.entries(cases))("%s", (_, [volume, expected]) => {
  const content = isContentVolume(volume);
  const found = [content && "c", isReadOnlyVolume(volume) && "r"];
  expect(found.filter((letter) => letter !== false).join("")).toBe(expected);
});
