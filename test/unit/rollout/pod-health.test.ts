import { describe, expect, test } from "bun:test";

import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { ContainerState, ContainerStatus, PodStatus } from "../../../src/api/v1/pod-status.ts";
import {
  podHealth,
  provenAt,
  type HealthFacts,
  type PodHealth,
} from "../../../src/rollout/pod-health.ts";
import { aContainer } from "../../fakes/a-pod.ts";
import {
  NOW,
  RUNNING,
  aContainerStatus,
  aStatus,
  exited,
  healthOf,
  podNamed,
} from "../upstream/health.ts";

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
  "is Failed, with the pod's own reason and message": [
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

/** What has its own table below. */
function withoutTotals({ hasBegun: _begun, totalCrashes: _total, ...health }: PodHealth) {
  return health;
}

/** One plain init container, one sidecar, one app container. */
const staged = podNamed("web");
const initContainers = [aContainer("i"), aContainer("s", { restartPolicy: "Always" })];
const withInit: DesiredPod = {
  ...staged,
  pod: { ...staged.pod, spec: { ...staged.pod.spec, initContainers } },
};
const initializing = { waiting: { reason: "PodInitializing" } };
const isInitialized = { type: "Initialized", status: "True" } as const;

function stagedStatus(
  init: readonly ContainerStatus[],
  app: ContainerState,
  more: Partial<PodStatus> = {},
): PodStatus {
  return aStatus([aContainerStatus(app)], {
    phase: "Pending",
    initContainerStatuses: init.map((one, index) => ({
      ...one,
      name: initContainers[index]?.name ?? "",
    })),
    ...more,
  });
}

const idleInit = aContainerStatus(initializing);
const doneInit = aContainerStatus(exited(0), { ready: true });
const running = aContainerStatus(RUNNING);

const initCases: Readonly<Record<string, readonly [PodStatus, Partial<PodHealth>]>> = {
  "is Pending before the first has begun": [
    stagedStatus([idleInit, idleInit], initializing),
    { stage: "Pending", reason: "Init:0/2" },
  ],
  "is Downloading while an init container's image is pulled": [
    stagedStatus([aContainerStatus(waiting("ImagePullBackOff")), idleInit], initializing),
    { stage: "Downloading", reason: "Init:ImagePullBackOff", message: "why" },
  ],
  "is Downloading while a sidecar's image is pulled": [
    stagedStatus([doneInit, aContainerStatus(waiting("ErrImagePull"))], initializing),
    { stage: "Downloading", reason: "Init:ErrImagePull", message: "why" },
  ],
  "is Starting while an init container runs": [
    stagedStatus([{ ...running, ready: false }, idleInit], initializing),
    { stage: "Starting", reason: "Init:0/2" },
  ],
  "is Starting while the sidecar has not started": [
    stagedStatus([doneInit, { ...running, ready: false, started: false }], initializing),
    { stage: "Starting", reason: "Init:1/2" },
  ],
  "is Starting while an init container waits to start again, and counts its crashes": [
    stagedStatus(
      [
        aContainerStatus(waiting("CrashLoopBackOff"), { restartCount: 4, lastState: exited(1) }),
        idleInit,
      ],
      initializing,
    ),
    { stage: "Starting", crashes: 5, reason: "Init:CrashLoopBackOff", message: "why" },
  ],
  "is Starting between the last init container and the app container": [
    stagedStatus([doneInit, running], initializing, { conditions: [isInitialized] }),
    { stage: "Starting", reason: "PodInitializing" },
  ],
  "is Running once the app container runs": [
    stagedStatus([doneInit, running], RUNNING, {
      phase: "Running",
      conditions: [isInitialized, { type: "Ready", status: "True" }],
    }),
    { stage: "Running", readySince: NOW },
  ],
  "is Starting again while a sidecar is down": [
    stagedStatus([doneInit, aContainerStatus(waiting("CrashLoopBackOff"))], RUNNING, {
      phase: "Running",
      conditions: [isInitialized, { type: "Ready", status: "False" }],
    }),
    { stage: "Starting", reason: "Init:CrashLoopBackOff", message: "why" },
  ],
  "has failed in its init container": [
    stagedStatus([aContainerStatus(exited(1)), idleInit], initializing, { phase: "Failed" }),
    { stage: "Failed", crashes: 1, reason: "Init:Error" },
  ],
  "has failed in its app container, however its sidecar was stopped": [
    stagedStatus([doneInit, aContainerStatus(exited(143))], exited(2, "OOMKilled"), {
      phase: "Failed",
      conditions: [isInitialized],
    }),
    { stage: "Failed", crashes: 1, reason: "OOMKilled" },
  ],
  "has succeeded, whatever it took and however its sidecar was stopped": [
    stagedStatus([doneInit, aContainerStatus(exited(143), { restartCount: 9 })], exited(0), {
      phase: "Succeeded",
      conditions: [isInitialized],
    }),
    { stage: "Succeeded" },
  ],
};

describe("of a pod with init containers podHealth", () => {
  test.each(Object.entries(initCases))("%s", (_sentence, [status, expected]) => {
    expect(withoutTotals(podHealth(withInit, { status, now: NOW }))).toEqual(
      withoutTotals(healthOf("web", expected)),
    );
  });
});

describe("podHealth", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [status, more, expected]) => {
    expect(withoutTotals(podHealth(web, { status, now: NOW, ...more }))).toEqual(
      withoutTotals(healthOf("web", expected)),
    );
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

const finished = podNamed("web", "OnFailure");

describe("the life of a pod", () => {
  const lives: Readonly<
    Record<string, readonly [DesiredPod, PodStatus | undefined, begun: boolean, total: number]>
  > = {
    "has not begun without a status": [web, undefined, false, 0],
    "has not begun while its first container waits": [
      web,
      aStatus([aContainerStatus(waiting("ContainerCreating"))]),
      false,
      0,
    ],
    "has begun with its first init container": [
      withInit,
      stagedStatus([{ ...running, ready: false }, idleInit], initializing),
      true,
      0,
    ],
    "counts the crashes of a container that is Ready again": [
      web,
      aStatus([aContainerStatus(RUNNING, { restartCount: 9 })]),
      true,
      9,
    ],
    "counts the end that a back-off follows": [
      web,
      aStatus([
        aContainerStatus(waiting("CrashLoopBackOff"), { restartCount: 2, lastState: exited(1) }),
      ]),
      true,
      3,
    ],
    "counts an end with exit code 0 that is to be followed by a restart": [
      web,
      aStatus([aContainerStatus(exited(0))]),
      true,
      1,
    ],
    "counts no end that was meant to be the last": [
      finished,
      aStatus([aContainerStatus(exited(0))], { phase: "Succeeded" }),
      true,
      0,
    ],
  };

  test.each(Object.entries(lives))("%s", (_sentence, [desired, status, hasBegun, totalCrashes]) => {
    expect(podHealth(desired, { status, now: NOW })).toMatchObject({ hasBegun, totalCrashes });
  });
});

describe("provenAt", () => {
  const terms = { isMeantToFinish: false, minReadySeconds: 10, since: 500 };
  const ready = { stage: "Running", readySince: 1000 } as const;

  test("counts minReadySeconds from when it was Ready, but not from before `since`", () => {
    expect(provenAt(ready, terms)).toBe(11_000);
    expect(provenAt(ready, { ...terms, since: 3000 })).toBe(13_000);
  });

  test("is undefined while something has to happen first", () => {
    expect(provenAt(undefined, terms)).toBeUndefined();
    expect(provenAt({ ...ready, readySince: undefined }, terms)).toBeUndefined();
    expect(provenAt({ ...ready, stage: "Terminating" }, terms)).toBeUndefined();
    expect(provenAt(ready, { ...terms, isMeantToFinish: true })).toBeUndefined();
  });

  test("is over at once for a pod that was meant to finish and has succeeded", () => {
    const succeeded = { stage: "Succeeded", readySince: undefined } as const;
    expect(provenAt(succeeded, { ...terms, isMeantToFinish: true })).toBe(500);
    expect(provenAt(succeeded, terms)).toBeUndefined();
  });
});
