import { describe, expect, test } from "bun:test";

import type { PodStatus } from "../../../../src/api/v1/pod-status.ts";
import { byteLength } from "../../../../src/lib/short-text.ts";
import { podTopicPayload } from "../../../../src/upstream/report/pod-topics.ts";
import { RUNNING, aContainerStatus, aStatus, exited, podNamed } from "../health.ts";

const KIB_48 = 48 * 1024;

describe("a pod's own message", () => {
  const speaker = { incarnation: "i1", session: 3, seq: 9 };
  const web = podNamed("web");
  const read = (payload: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(payload));

  test("carries the whole status", () => {
    const running = aStatus([aContainerStatus(RUNNING)]);
    expect(read(podTopicPayload(web, running, speaker).payload)).toEqual({
      ...speaker,
      uid: "uid-web",
      specHash: "0123456789abcdef",
      source: "node",
      status: running,
    });
  });

  test("has the same content in any session, and another one when the status differs", () => {
    const contentOf = (code: number, seq: number) =>
      podTopicPayload(web, aStatus([aContainerStatus(exited(code))]), { ...speaker, seq }).content;
    expect(contentOf(1, 9)).toBe(contentOf(1, 10));
    expect(contentOf(1, 9)).not.toBe(contentOf(2, 9));
  });

  test("cuts termination messages and cleans them", () => {
    const message = `\u001b]0;pwned\u0007${"x".repeat(5000)}`;
    const dead = {
      terminated: { exitCode: 1, reason: "Error", message, containerID: "containerd://1" },
    };
    const stuck = { waiting: { reason: "CrashLoopBackOff", message } };
    const given = aStatus([aContainerStatus(stuck, { lastState: dead })], { message });
    const { status: told } = read(podTopicPayload(web, given, speaker).payload) as {
      status: typeof given;
    };
    const container = told.containerStatuses[0];
    for (const text of [
      told.message,
      container?.state.waiting?.message,
      container?.lastState.terminated?.message,
    ]) {
      expect(text).toStartWith("]0;pwned xxx");
      expect(byteLength(text ?? "")).toBe(256);
    }
  });

  test("cuts the texts of init containers as well", () => {
    const message = "x".repeat(5000);
    const init = aContainerStatus({ waiting: { reason: "CrashLoopBackOff", message } });
    const given = aStatus([aContainerStatus(RUNNING)], { initContainerStatuses: [init] });
    const { status: told } = read(podTopicPayload(web, given, speaker).payload) as {
      status: typeof given;
    };
    const text = told.initContainerStatuses[0]?.state.waiting?.message;
    expect(byteLength(text ?? "")).toBe(256);
  });

  test("is never over 48 KiB, and contains app containers however many init containers there are", () => {
    const many = (name: string) =>
      Array.from({ length: 300 }, (_, index) =>
        aContainerStatus(exited(1, "E".repeat(100)), { name: `${name}${index}` }),
      );
    const given = aStatus(many("a"), { initContainerStatuses: many("i") });
    const { payload } = podTopicPayload(web, given, speaker);
    expect(payload.length).toBeLessThanOrEqual(KIB_48);
    const { status: told } = read(payload) as { status: typeof given };
    expect(told.initContainerStatuses.length).toBeGreaterThan(20);
    expect(told.containerStatuses.length).toBeGreaterThan(20);
  });

  test("leaves out mounts and resources, which the spec contains", () => {
    const volumeMounts = [{ name: "volume", mountPath: "/data" }];
    const cpu = { cpu: "1" };
    const more = { resources: { limits: cpu }, allocatedResources: cpu, volumeMounts };
    const container = aContainerStatus(RUNNING, more);
    const given = aStatus([container], { initContainerStatuses: [container] });
    const { status } = read(podTopicPayload(web, given, speaker).payload) as { status: PodStatus };
    for (const one of [status.initContainerStatuses[0], status.containerStatuses[0]]) {
      expect(one?.state).toEqual(RUNNING);
      for (const field of Object.keys(more)) expect(one).not.toHaveProperty(field);
    }
  });

  test("is never over 48 KiB, however many containers the pod has", () => {
    const containers = Array.from({ length: 500 }, (_, index) =>
      aContainerStatus(exited(1, "E".repeat(100)), { name: `c${index}` }),
    );
    const { payload } = podTopicPayload(web, aStatus(containers), speaker);
    expect(payload.length).toBeLessThanOrEqual(KIB_48);
    expect(payload.length).toBeGreaterThan(KIB_48 / 2);
  });
});
