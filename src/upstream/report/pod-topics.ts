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
import type { Outbox } from "../../store/outbox/outbox.ts";
import type { NodeTruth } from "./acknowledge.ts";
import { fitting, sizeOf } from "./report.ts";

const MESSAGE = { kind: "pod", qos: 1, retain: true } as const;

/** For what stands beside the status. */
const SPARE_BYTES = 1024;

export interface PodTopicsOptions {
  readonly outbox: Pick<Outbox, "put" | "topics">;
  readonly config: Pick<MqttConfig, "podStatus" | "topicRoot">;
  readonly nodeName: string;
  readonly nextNumber: () => MessageNumber;
}

/** What a topic was made of. */
interface Made {
  readonly desired: DesiredPod;
  readonly status: PodStatus;
}

export class PodTopics {
  readonly #options: PodTopicsOptions;
  /** In the outbox or published, by topic: most pods are as they were at the last report. */
  readonly #made = new Map<string, Made>();

  constructor(options: PodTopicsOptions) {
    this.#options = options;
  }

  /** `refresh`: also publishes what has not changed. The result: whether there is something new to publish. */
  put(
    { shown, arePodsKnown }: Pick<NodeTruth, "shown" | "arePodsKnown">,
    refresh: boolean,
  ): boolean {
    const { outbox, config, nodeName } = this.#options;
    const topics = new Set<string>();
    let isNew = false;
    for (const { desired, status } of config.podStatus === "off" ? [] : shown) {
      const { namespace, name } = desired.pod.metadata;
      const root = config.topicRoot;
      const topic = topicFor({ type: "PodReported", root, node: nodeName, namespace, pod: name });
      topics.add(topic);
      // The pod exists and its status is unknown: its last report stays.
      if (status === undefined) continue;
      if (this.#putPod(topic, { desired, status }, refresh)) isNew = true;
    }
    const isGone = arePodsKnown || config.podStatus === "off";
    for (const topic of isGone ? outbox.topics("pod") : [])
      if (!topics.has(topic) && this.#clear(topic)) isNew = true;
    return isNew;
  }

  #putPod(topic: string, made: Made, refresh: boolean): boolean {
    const { outbox, nextNumber } = this.#options;
    const before = this.#made.get(topic);
    const isSame = before?.desired === made.desired && before.status === made.status;
    if (isSame && !refresh) return false;
    const payload = podTopicPayload(made.desired, made.status, nextNumber());
    const isNew = outbox.put({ ...MESSAGE, ...payload, topic, refresh });
    this.#made.set(topic, made);
    return isNew;
  }

  #clear(topic: string): boolean {
    this.#made.delete(topic);
    // An empty retained message clears the topic.
    return this.#options.outbox.put({ ...MESSAGE, topic, payload: new Uint8Array() });
  }
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
