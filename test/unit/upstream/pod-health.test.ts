import { describe, expect, test } from "bun:test";

import type { PodStatus } from "../../../src/api/pod-status.ts";
import { podHealth, type HealthFacts, type PodHealth } from "../../../src/upstream/pod-health.ts";
import { NOW, RUNNING, aContainerStatus, aStatus, exited, healthOf, podNamed } from "./health.ts";

const web = podNamed("web");
const waiting = (reason: string) => ({ waiting: { reason, message: "why" } });

const cases: Readonly<
  Record<
    string,
    readonly [
      status: PodStatus | undefined,
      facts: Partial<HealthFacts>,
      expected: Partial<PodHealth>,
    ]
  >
> = {
  "is Pending without a status": [undefined, {}, { stage: "Pending" }],
  "is Downloading while its image is pulled": [
    undefined,
    { pulling: true },
    { stage: "Downloading" },
  ],
  "is Downloading while a pull is tried again": [
    aStatus([aContainerStatus(waiting("ImagePullBackOff"))], { phase: "Pending" }),
    {},
    { stage: "Downloading", reason: "ImagePullBackOff", message: "why" },
  ],
  "is Pending while its sandbox is made": [
    aStatus([aContainerStatus(waiting("ContainerCreating"))], { phase: "Pending" }),
    {},
    { stage: "Pending", reason: "ContainerCreating", message: "why" },
  ],
  "is Running and Ready from now on": [
    aStatus([aContainerStatus(RUNNING)]),
    {},
    { stage: "Running", readySince: NOW },
  ],
  "is Starting while it waits to start again": [
    aStatus([aContainerStatus(waiting("CrashLoopBackOff"), { restartCount: 2 })]),
    {},
    { stage: "Starting", crashes: 2, reason: "CrashLoopBackOff", message: "why" },
  ],
  "counts the end that has not been followed by a restart": [
    aStatus([aContainerStatus(exited(1), { restartCount: 2 })]),
    {},
    { stage: "Starting", crashes: 3, reason: "Error" },
  ],
  "counts no crash of a container that is Ready": [
    aStatus([aContainerStatus(RUNNING, { restartCount: 9 })]),
    {},
    { stage: "Running", readySince: NOW, crashes: 0 },
  ],
  "is Succeeded": [
    aStatus([aContainerStatus(exited(0))], { phase: "Succeeded" }),
    {},
    { stage: "Succeeded" },
  ],
  "is Failed, with the pod's own words": [
    aStatus([aContainerStatus(exited(1))], { phase: "Failed", reason: "Evicted", message: "disk" }),
    {},
    { stage: "Failed", crashes: 1, reason: "Evicted", message: "disk" },
  ],
  "is Terminating and not Ready while it is stopped": [
    aStatus([aContainerStatus(RUNNING)]),
    { terminating: true },
    { stage: "Terminating" },
  ],
};

describe("podHealth", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [status, more, expected]) => {
    expect(podHealth(web, { status, now: NOW, ...more })).toEqual(healthOf("web", expected));
  });

  test("goes on counting while it stays Ready, and begins anew after a break", () => {
    const ready = aStatus([aContainerStatus(RUNNING)]);
    const broken = aStatus([aContainerStatus(exited(1))]);
    const first = podHealth(web, { status: ready, now: 1000 });
    const second = podHealth(web, { status: ready, now: 2000 }, first);
    const third = podHealth(web, { status: broken, now: 3000 }, second);
    const fourth = podHealth(web, { status: ready, now: 4000 }, third);
    expect([first, second, third, fourth].map(({ readySince }) => readySince)).toEqual([
      1000,
      1000,
      undefined,
      4000,
    ]);
  });

  test("does not inherit the time of another pod", () => {
    const ready = aStatus([aContainerStatus(RUNNING)]);
    const other = podHealth(podNamed("other"), { status: ready, now: 1000 });
    expect(podHealth(web, { status: ready, now: 5000 }, other).readySince).toBe(5000);
  });
});
