import { describe, expect, test } from "bun:test";

import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { DEFAULT_POLICY } from "../../../src/api/pod/update-policy.ts";
import { judgeHealth, type DocumentPods } from "../../../src/rollout/document-health.ts";
import type { PodHealth } from "../../../src/rollout/pod-health.ts";
import { NOW, facts, healthOf, podNamed, readyFor } from "../upstream/health.ts";

const [web, db] = [podNamed("web"), podNamed("db")];

function judged(
  pods: readonly DesiredPod[],
  health: readonly PodHealth[],
  more: Partial<DocumentPods> = {},
) {
  return judgeHealth({
    ...facts(health),
    pods,
    policy: DEFAULT_POLICY,
    rollout: [],
    hasConverged: false,
    before: undefined,
    ...more,
  });
}

function annotated(desired: DesiredPod, minReadySeconds: string): DesiredPod {
  const { pod } = desired;
  const annotations = { "agent/min-ready-seconds": minReadySeconds };
  return { ...desired, pod: { ...pod, metadata: { ...pod.metadata, annotations } } };
}

describe("judgeHealth", () => {
  test("has converged when each pod has proved itself by its own annotation", () => {
    const pods = [annotated(web, "0"), annotated(db, "60")];
    const health = [readyFor("web", 0), readyFor("db", 59)];
    expect(judged(pods, health)).toEqual({
      health: { type: "Progressing", pod: undefined },
      reviewAt: NOW + 1_000,
    });
    expect(judged(pods, [readyFor("web", 0), readyFor("db", 60)]).health.type).toBe("Converged");
  });

  test("gives the pods of files ten seconds, whatever their annotations", () => {
    const health = [readyFor("web", 9)];
    const verdict = judgeHealth({
      ...facts(health),
      pods: [annotated(web, "0")],
      rollout: [],
      hasConverged: false,
      before: undefined,
    });
    expect(verdict.reviewAt).toBe(NOW + 1_000);
  });

  test("leaves it to the trial whether a pod has failed", () => {
    const crashed = healthOf("web", { stage: "Starting", crashes: 3 });
    const rollout = [{ name: "default/web", status: { type: "OnTrial" } }] as const;
    const late = { name: "default/web", health: crashed };
    expect(judged([web], [crashed]).health).toEqual({ type: "Degraded", pod: late });
    expect(judged([web], [crashed], { rollout }).health).toEqual({
      type: "Progressing",
      pod: late,
    });
  });
});
