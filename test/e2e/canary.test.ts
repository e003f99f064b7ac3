// Secrets that a pod prints wherever it can are heard by nobody who listens to the whole broker.

import { randomBytes } from "node:crypto";
import { expect } from "bun:test";

import type { LinkBytes } from "../../src/upstream/link/link-bytes.ts";
import { startBroker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { openStage } from "./support-b-stage.ts";
import { desired, publishDesired, topicOf, Upstream } from "./support-b-upstream.ts";

const { e2e, temp, agent: makeAgent } = await openStage();
const NODE = "canary";
const canary = (): string => `canary-${randomBytes(12).toString("hex")}`;

/** Where they may be: what was sent to the node, and what somebody asked it to send of a log. */
function mayHold(topic: string): boolean {
  return topic === topicOf(NODE, "desired") || topic.startsWith(topicOf(NODE, "log/"));
}

const SAYS = 'echo "I have $INSIDE and $PLAIN"';

function container(name: string, script: string, more: object = {}): object {
  return {
    name,
    image: BUSYBOX_1.name,
    command: ["sh", "-c", `${SAYS}; ${script}`],
    env: [
      { name: "PLAIN", value: plain },
      { name: "INSIDE", valueFrom: { secretKeyRef: { name: "keys", key: "inside" } } },
    ],
    ...more,
  };
}

const plain = canary();
const inside = canary();
const unused = canary();

e2e(
  "a subscriber of everything sees no secret but in what was sent to the node",
  async () => {
    const broker = await startBroker(temp, { name: "canary-broker" });
    await using client = await broker.client();
    const all = await client.collect("#");
    const upstream = await Upstream.follow(client, NODE);
    const agent = makeAgent(NODE, { broker, config: { logLevel: "debug" } });
    await agent.startReady();
    await upstream.untilState("online");
    const die = `${SAYS} >/dev/termination-log; exit 3`;
    const probe = { exec: { command: ["sh", "-c", `${SAYS}; exit 1`] }, periodSeconds: 1 };
    const resources = [
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "keys" },
        stringData: { inside, unused },
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "talker" },
        spec: {
          restartPolicy: "Never",
          terminationGracePeriodSeconds: 1,
          containers: [
            container("dies", die),
            container("fails", "exit 4", { terminationMessagePolicy: "FallbackToLogsOnError" }),
            container("unwell", "exec sleep 1000", { readinessProbe: probe }),
          ],
        },
      },
    ];
    await publishDesired(broker, NODE, desired(NODE, { generation: 1, epoch: "e1", resources }));
    await eventually(
      "both ends and the probe's answer were told",
      async () => {
        const pod = JSON.stringify((await upstream.podStatus("talker")) ?? "");
        const events = all.messages.filter(({ topic }) => topic === topicOf(NODE, "event"));
        expect(pod).toContain('"exitCode":3');
        expect(pod).toContain('"exitCode":4');
        expect(pod.match(/I have <hidden> and <hidden>/g)).toHaveLength(2);
        expect(events.map(({ payload }) => payload).join("")).toContain("Unhealthy");
        return true;
      },
      { timeout: 60_000, explain: () => agent.logTail(40) },
    );
    const { stdout } = await agent.cli("get", "node", agent.nodeName, "-o", "json");
    const { metrics } = JSON.parse(stdout) as { metrics: { mqttBytes: LinkBytes } };
    expect(metrics.mqttBytes.desired?.in).toBeGreaterThan(1_000);
    expect(metrics.mqttBytes.reported?.out).toBeGreaterThan(1_000);
    await agent.kill();
    await upstream.untilState("offline");
    const needles = [plain, inside, unused].flatMap((text) => [
      text,
      Buffer.from(text).toString("base64"),
    ]);
    const heard = all.messages.filter(({ topic }) => !mayHold(topic));
    expect(heard.length).toBeGreaterThan(5);
    const leaks = heard.filter(({ payload }) => needles.some((needle) => payload.includes(needle)));
    expect(leaks).toEqual([]);
    // The eyes work: the document holds them.
    const sent = all.messages.filter(({ topic }) => topic === topicOf(NODE, "desired"));
    expect(sent.some(({ payload }) => payload.includes(inside))).toBe(true);
    await broker.stop();
  },
  180_000,
);
