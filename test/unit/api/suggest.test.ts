import { describe, expect, test } from "bun:test";

import { suggest } from "../../../src/api/suggest.ts";

const VOLUME = ["name", "hostPath", "emptyDir", "configMap", "fc", "persistentVolumeClaim", "nfs"];

describe("suggest", () => {
  test.each([
    ["emptydir", VOLUME, "emptyDir"],
    ["configMpa", VOLUME, "configMap"],
    ["pvc", VOLUME, "persistentVolumeClaim"],
    ["cm", VOLUME, "configMap"],
    ["Pdo", ["Pod", "Secret"], "Pod"],
    ["name", ["secretName", "items"], "secretName"],
    ["environment", ["env", "envFrom"], "env"],
    ["storage", ["cpu", "memory", "ephemeral-storage"], "ephemeral-storage"],
  ])("%s of %p is %s", (written, names, meant) => {
    expect(suggest(written, names)).toBe(meant);
  });

  test.each([
    ["something else", VOLUME],
    ["abc", VOLUME],
    ["path", ["mountPath", "subPath"]],
    ["x", ["xavier"]],
    ["n".repeat(100), ["n".repeat(99)]],
  ])("%s of %p is none", (written, names) => {
    expect(suggest(written, names)).toBeUndefined();
  });

  test("kinds are suggested within the reach that is asked for", () => {
    expect(suggest("Rod", ["Pod"], 1)).toBe("Pod");
    expect(suggest("Rad", ["Pod"], 1)).toBeUndefined();
  });
});
