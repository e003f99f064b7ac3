// The documents of the demo, one after the other: a new pod, its update, and an update that never becomes ready.

import { isConverged, isRolledBack } from "./demo-report.ts";
import { BUSYBOX_1 } from "./images.ts";

export const NODE = "demo";
export const FROM_MQTT = "from-mqtt";

export interface DemoStep {
  readonly generation: number;
  /** Printed when it is published. */
  readonly what: string;
  /** What an operator would send with `mosquitto_pub -r`. */
  readonly document: object;
  /** Whether the node has reported how it ended. */
  readonly isDone: (reported: unknown) => boolean;
  readonly result: string;
}

/** How long the pod may take to become ready: enough for a small device, and little to wait for in the demo. */
const USUAL_DEADLINE_S = 60;
const SHORT_DEADLINE_S = 5;

export const DEMO_STEPS: readonly DemoStep[] = [
  {
    generation: 1,
    what: `a pod ${FROM_MQTT}`,
    document: documentOf(1, "touch /tmp/ready; while true; do date; sleep 5 & wait $!; done"),
    isDone: (reported) => isConverged(reported, 1),
    result: "all three pods run, and the broker knows it",
  },
  {
    generation: 2,
    what: `an update of pod ${FROM_MQTT}`,
    document: documentOf(2, "touch /tmp/ready; while true; do date -u; sleep 5 & wait $!; done"),
    isDone: (reported) => isConverged(reported, 2),
    result: "it is updated",
  },
  {
    generation: 3,
    what: `an update of pod ${FROM_MQTT} whose readiness probe never succeeds`,
    document: documentOf(
      3,
      "touch /tmp/redy; while true; do date; sleep 5 & wait $!; done",
      SHORT_DEADLINE_S,
    ),
    isDone: (reported) => isRolledBack(reported, { generation: 3, lastGood: 2 }),
    result: `it was not ready within ${SHORT_DEADLINE_S} s, so the node went back by itself: what generation 2 asked for runs again`,
  },
];

function documentOf(
  generation: number,
  script: string,
  progressDeadlineSeconds = USUAL_DEADLINE_S,
): object {
  return {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node: NODE },
    generation,
    policy: { minReadySeconds: 1, progressDeadlineSeconds },
    resources: [
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name: FROM_MQTT,
          namespace: "default",
        },
        spec: {
          terminationGracePeriodSeconds: 5,
          containers: [
            {
              name: "main",
              image: BUSYBOX_1.name,
              command: ["sh", "-c", `trap 'exit 0' TERM; ${script}`],
              readinessProbe: {
                exec: { command: ["test", "-e", "/tmp/ready"] },
                periodSeconds: 1,
              },
            },
          ],
        },
      },
    ],
  };
}
