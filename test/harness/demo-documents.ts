// The documents of the demo, one after the other: a new pod, its update, and an update that goes wrong.

import { isConverged, isRolledBack } from "./demo-report.ts";
import { BUSYBOX_1 } from "./images.ts";

export const NODE = "demo";
export const FROM_MQTT = "from-mqtt";

export interface DemoStep {
  readonly generation: number;
  /** What is told when it is published. */
  readonly what: string;
  /** What somebody would send with `mosquitto_pub -r`. */
  readonly document: object;
  /** Whether the node has said at the broker that it is through with it. */
  readonly isTold: (reported: unknown) => boolean;
  readonly told: string;
}

export const DEMO_STEPS: readonly DemoStep[] = [
  {
    generation: 1,
    what: `a pod ${FROM_MQTT}`,
    document: documentOf(1, "while true; do date; sleep 5 & wait $!; done"),
    isTold: (reported) => isConverged(reported, 1),
    told: "all three pods run, and the broker knows it",
  },
  {
    generation: 2,
    what: `an update of pod ${FROM_MQTT}`,
    document: documentOf(2, "while true; do date -u; sleep 5 & wait $!; done"),
    isTold: (reported) => isConverged(reported, 2),
    told: "it is updated",
  },
  {
    generation: 3,
    what: `an update of pod ${FROM_MQTT} that ends at once, again and again`,
    document: documentOf(3, "echo this cannot work; exit 1"),
    isTold: (reported) => isRolledBack(reported, { generation: 3, lastGood: 2 }),
    told: "the update failed, so the node went back by itself: what generation 2 asked for runs again",
  },
];

function documentOf(generation: number, script: string): object {
  return {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node: NODE },
    generation,
    policy: { minReadySeconds: 1, progressDeadlineSeconds: 30 },
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
            },
          ],
        },
      },
    ],
  };
}
