import { describe, expect, test } from "bun:test";

import { nearestName, suggest } from "../../../src/lib/suggest.ts";

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
});

describe("nearestName", () => {
  test.each([
    ["Rod", 1, "Pod"],
    ["pods", 1, "Pod"],
    ["Rad", 2, "Pod"],
  ])("%s is %p letters away from %s", (written, reach, meant) => {
    expect(nearestName(written, ["Pod", "Secret"], reach)).toBe(meant);
  });

  test.each([
    ["Rad", 1],
    ["PodMonitor", 1],
    ["SecretStore", 2],
  ])("%s is not within %p letters of anything", (written, reach) => {
    expect(nearestName(written, ["Pod", "Secret"], reach)).toBeUndefined();
  });
});
