import { describe, expect, test } from "bun:test";
import {
  etcHostsPath,
  isPodUID,
  podDirectory,
  terminationLogPath,
} from "../../../../src/api/pod/pod-directory.ts";

test.each(["", ".", "..", "../x", "a/b", "-a", "a b", "a".repeat(200), "a\n"])(
  "%j is no UID, so it never becomes a path",
  (uid) => {
    expect(isPodUID(uid)).toBe(false);
    expect(() => podDirectory("/var/lib/agent", uid)).toThrow("is not a pod UID");
  },
);

describe("terminationLogPath", () => {
  test("is one file per instance", () => {
    const instance = { uid: "6f0c3a52-0000", container: "web", attempt: 3 };
    expect(terminationLogPath("/var/lib/agent/", instance)).toBe(
      "/var/lib/agent/pods/6f0c3a52-0000/containers/web/3",
    );
  });

  test.each(["..", "", "a/b", ".hidden", "a\0"])("%p leads nowhere", (evil) => {
    const instance = { uid: "u", container: "c", attempt: 0 };
    const path = (more: Partial<typeof instance>): string =>
      terminationLogPath("/s", { ...instance, ...more });
    expect(() => path({ uid: evil })).toThrow("is not a pod UID");
    expect(() => path({ container: evil })).toThrow("is not a container name");
  });
});

describe("etcHostsPath", () => {
  test("lies among what is the pod's", () => {
    expect(etcHostsPath("/var/lib/agent/", "6f0c-1")).toBe("/var/lib/agent/pods/6f0c-1/etc-hosts");
  });

  test.each(["", "..", "a/b", ".x"])("%p is no pod's UID", (uid) => {
    expect(() => etcHostsPath("/var/lib/agent", uid)).toThrow("is not a pod UID");
  });
});
