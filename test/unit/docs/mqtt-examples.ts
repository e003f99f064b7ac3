// What docs/mqtt-api.md shows of the way up, each in its own type: an example that is no such thing does not compile.

import type { CommandResponse } from "../../../src/protocol/command.ts";
import type { LogBatch } from "../../../src/protocol/log-batch.ts";
import type { EventBatch } from "../../../src/upstream/report/event-batch.ts";
import type { Ack, PodReport, ReportedState } from "../../../src/protocol/reported-state.ts";
import { type Command } from "../../../src/command/judge-command.ts";

const INCARNATION = "8c0ff7a1b2c34d5e";
const UID = "0fccd994-a2eb-82c9-b101-260e1f0ea161";
const DIGEST = "sha256:325c5931733390aae8d73ff13daa639d619b575e57342fe93f87f493118bb26a";
const OTHER = "sha256:d55c958d6da94be5fa9e435a29fb9781124413414e3f8e1320965f479236977a";

/** `state` is what stateMessage writes. */
export const STATE = {
  state: "online",
  incarnation: INCARNATION,
  session: 102,
  time: "2026-11-21T08:00:04Z",
  bootID: "6cd0aa6a-2dbe-4a3f-9c0e-5b9f2a3a1d11",
  agent: "0.1.0",
  protocol: 1,
} as const;

export const SUPERSEDED: Ack = {
  source: "node",
  epoch: "3f0c",
  generation: 6,
  observedGeneration: 5,
  digest: OTHER,
  signed: true,
  phase: "Superseded",
  code: 410,
  message: "generation 7 took its place before it had converged",
  since: "2026-11-21T08:00:02Z",
};

export const REPORTED: ReportedState = {
  apiVersion: "agent/v1",
  kind: "ReportedState",
  node: "pi-1",
  incarnation: INCARNATION,
  session: 102,
  seq: 7,
  time: "2026-11-21T08:00:20Z",
  clockTrusted: true,
  desired: [
    {
      source: "static",
      epoch: "",
      generation: 0,
      observedGeneration: 0,
      digest: OTHER,
      signed: false,
      phase: "Healthy",
      code: 200,
      since: "2026-11-21T08:00:01Z",
    },
    {
      source: "node",
      epoch: "3f0c",
      generation: 7,
      observedGeneration: 7,
      digest: DIGEST,
      signed: true,
      phase: "Healthy",
      code: 200,
      since: "2026-11-21T08:00:20Z",
      lastRejected: {
        generation: 6,
        digest: OTHER,
        code: 410,
        message:
          "generation 6 is older than the accepted generation 7; publish it as generation 8 or higher",
        at: "2026-11-21T08:00:15Z",
        count: 1,
      },
    },
  ],
  status: {
    conditions: [
      { type: "Ready", status: "True", reason: "KubeletReady", message: "the agent is ready" },
    ],
    addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
    capacity: { cpu: "4", memory: "3884356Ki", pods: "110" },
    allocatable: { cpu: "4", memory: "3884356Ki", pods: "110" },
    nodeInfo: { architecture: "arm64", containerRuntimeVersion: "containerd://1.6.20" },
  },
  pods: [
    {
      namespace: "default",
      name: "web",
      uid: UID,
      source: "node",
      specHash: "6c1c0f1e2d3a4b5c",
      phase: "Running",
      ready: "1/1",
      restarts: 0,
      since: "2026-11-21T08:00:10Z",
    },
  ],
  rejected: [],
};

export const POD_REPORT: PodReport = {
  incarnation: INCARNATION,
  session: 102,
  seq: 8,
  uid: UID,
  specHash: "6c1c0f1e2d3a4b5c",
  source: "node",
  status: {
    observedGeneration: 1,
    phase: "Running",
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-11-21T08:00:10Z" }],
    startTime: "2026-11-21T08:00:08Z",
    initContainerStatuses: [],
    containerStatuses: [
      {
        name: "main",
        state: { running: { startedAt: "2026-11-21T08:00:09Z" } },
        lastState: {},
        ready: true,
        started: true,
        restartCount: 0,
        image: "registry.example/web:1",
        imageID: "sha256:9b1c",
        containerID: "containerd://f1918aad124a",
      },
    ],
    qosClass: "BestEffort",
  },
};

export const EVENTS: EventBatch = {
  incarnation: INCARNATION,
  session: 102,
  events: [
    {
      n: 41,
      time: "2026-11-21T08:02:00Z",
      boot: "6cd0aa6a-2dbe-4a3f-9c0e-5b9f2a3a1d11",
      type: "Warning",
      reason: "BackOff",
      object: { kind: "Pod", namespace: "default", name: "web" },
      message: "Back-off restarting failed container main in pod web",
      count: 3,
    },
  ],
};

export const COMMAND: Omit<Command, "issuedAt"> & { readonly issuedAt: string } = {
  id: "01JD7Z9N3W8B4V6Q2K5XH0RTYM",
  verb: "logs",
  target: { node: "pi-1" },
  session: 102,
  args: { namespace: "default", pod: "web", tail: 2 },
  issuedAt: "2026-11-21T08:05:00Z",
  ttl: 60,
  replyTo: "agent/v1/node/pi-1/response/desk-4",
};

export const RESPONSE: CommandResponse = {
  id: "01JD7Z9N3W8B4V6Q2K5XH0RTYM",
  phase: "denied",
  code: 401,
  error: {
    category: "Unauthorized",
    component: "commands",
    message: "the command is not signed, and this node obeys signed ones only",
  },
};

export const LOG: LogBatch = {
  id: "01JD7Z9N3W8B4V6Q2K5XH0RTYM",
  seq: 0,
  lines: [{ time: "2026-11-21T08:05:01.123456789Z", stream: "stdout", text: "word 17" }],
};
