// Performs: keeps one retained message per shown pod in the outbox, and clears the topics of pods that are no longer shown.

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { type ContainerStatus, type PodStatus, withMessages } from "../../api/v1/pod-status.ts";
import type { MqttConfig } from "../../config/mqtt-config.ts";
import { canonicalJson } from "../../lib/json.ts";
import { topicFor } from "../../protocol/mqtt-topics.ts";
import type { MessageNumber, PodReport } from "../../protocol/reported-state.ts";
import {
  MAX_PAYLOAD_BYTES,
  jsonBytes,
  reportedSource,
  wireText,
} from "../../protocol/wire-text.ts";
import type { Outbox, OutboxMessage } from "../../store/outbox/outbox.ts";
import type { NodeTruth } from "./acknowledge.ts";
import { fitting, sizeOf } from "./report.ts";

/** For what stands beside the status. */
const SPARE_BYTES = 1024;

export interface PodTopicsOptions {
  readonly outbox: Pick<Outbox, "put" | "topics">;
  readonly config: Pick<MqttConfig, "podStatus" | "topicRoot">;
  readonly nodeName: string;
  readonly nextNumber: () => MessageNumber;
}

/** `refresh`: also publishes what has not changed. The result: whether there is something new to publish. */
export function putPodTopics(
  { shown, arePodsKnown }: Pick<NodeTruth, "shown" | "arePodsKnown">,
  refresh: boolean,
  { outbox, config, nodeName, nextNumber }: PodTopicsOptions,
): boolean {
  const message = { kind: "pod", qos: 1, retain: true } as const;
  const topics = new Set<string>();
  let isNew = false;
  const put = (one: OutboxMessage): void => {
    if (outbox.put(one)) isNew = true;
  };
  for (const { desired, status } of config.podStatus === "off" ? [] : shown) {
    const { namespace, name } = desired.pod.metadata;
    const root = config.topicRoot;
    const topic = topicFor({ type: "PodReported", root, node: nodeName, namespace, pod: name });
    topics.add(topic);
    // The pod exists and its status is unknown: its last report stays.
    if (status === undefined) continue;
    put({ ...message, ...podTopicPayload(desired, status, nextNumber()), topic, refresh });
  }
  const isGone = arePodsKnown || config.podStatus === "off";
  for (const topic of isGone ? outbox.topics("pod") : [])
    // An empty retained message clears the topic.
    if (!topics.has(topic)) put({ ...message, topic, payload: new Uint8Array() });
  return isNew;
}

/** The pod's own retained message; `content` is what has to differ for it to be published again. */
export function podTopicPayload(
  { uid, specHash, source }: DesiredPod,
  status: PodStatus,
  { incarnation, session, seq }: MessageNumber,
): { readonly payload: Uint8Array; readonly content: string } {
  const content = {
    incarnation,
    uid,
    specHash,
    source: reportedSource(source),
    status: reportedStatus(withMessages(status, wireText)),
  };
  const whole: PodReport = { ...content, session, seq };
  return { payload: jsonBytes(whole), content: canonicalJson(content) };
}

/**
 * Without mounts and resources: the spec, which the sender of a document has, contains them, and each refresh would carry
 * them. Of very many containers the first ones are reported; init containers take at most half of the room.
 */
function reportedStatus(status: PodStatus): PodStatus {
  const init = status.initContainerStatuses.map(stateOnly);
  const apps = status.containerStatuses.map(stateOnly);
  const bare = { ...status, initContainerStatuses: [], containerStatuses: [] };
  const left = MAX_PAYLOAD_BYTES - SPARE_BYTES - sizeOf(bare);
  const isRoomy = sizeOf(init) + sizeOf(apps) <= left;
  const initContainerStatuses = isRoomy ? init : fitting(init, left / 2);
  const containerStatuses = isRoomy ? apps : fitting(apps, left - sizeOf(initContainerStatuses));
  return { ...status, initContainerStatuses, containerStatuses };
}

function stateOnly({
  allocatedResources: _allocated,
  resources: _resources,
  volumeMounts: _mounts,
  ...state
}: ContainerStatus): ContainerStatus {
  return state;
}
