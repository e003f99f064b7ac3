// One node without containers: the agent's own connection, reports, outbox and documents. A pod of a document is ready two
// seconds after the document was accepted.

import { join } from "node:path";

import { addonPath } from "#sqlite-addon";
import { groupSource } from "../../src/protocol/desired-document.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/system-clock.ts";
import type { MqttLink, MqttMessage, MqttSession } from "../../src/mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../src/mqtt/mqttjs-link.ts";
import { MqttSource } from "../../src/source/document/mqtt-source.ts";
import { Store } from "../../src/store/store.ts";
import type { ReportedState } from "../../src/protocol/reported-state.ts";
import type { LinkBytes } from "../../src/upstream/link/link-bytes.ts";
import type { NodeTruth } from "../../src/upstream/report/acknowledge.ts";
import { Upstream } from "../../src/upstream/upstream.ts";
import { withoutKeys } from "../component/source-mqtt/trusting.ts";
import { labelsOf, withPods, type NodeModel } from "./node-model.ts";

export const GROUP = "all";
const READY_AFTER_MS = 2_000;
const AGENT_VERSION = "1.0.0";

/** What has happened to a node; `at` in wall-clock milliseconds. */
export interface Deed {
  readonly what: "connected" | "ended" | "accepted" | "healthy";
  readonly at: number;
  /** Of `ended`: when its connection began. */
  readonly since?: number;
  /** Of `ended`: by whom, and why. */
  readonly why?: string;
}

export interface LoadNodeOptions {
  readonly model: NodeModel;
  readonly clock: Clock;
  readonly number: number;
  readonly url: string;
  /** Of all nodes. */
  readonly directory: string;
  readonly note: (deed: Deed) => void;
}

export class LoadNode {
  readonly #options: LoadNodeOptions;
  readonly #store: Store;
  readonly #documents: MqttSource;
  readonly #upstream: Upstream;
  readonly #ready = new Set<string>();
  #generation = 0;
  #healthy = 0;

  constructor(options: LoadNodeOptions) {
    const { model, clock, number, url, directory } = options;
    this.#options = options;
    const nodeName = `node-${String(number).padStart(5, "0")}`;
    this.#store = Store.open({
      stateDir: join(directory, nodeName),
      files: model.edges.files,
      random: systemRandom,
      nativeBinding: addonPath,
    });
    const edges = {
      ...model.edges,
      clock,
      random: systemRandom,
      store: this.#store,
      mqtt: this.#noted(new MqttjsLink(clock)),
    };
    this.#documents = new MqttSource({
      ...withoutKeys,
      ...edges,
      documents: this.#store.documents,
      meta: this.#store.meta,
      node: nodeName,
      topicRoot: model.mqtt.topicRoot,
      groups: [{ name: GROUP, priority: 0 }],
      ownLabels: labelsOf(number),
      facts: { agentVersion: AGENT_VERSION, arch: "arm64", features: new Set() },
      clockTrusted: () => true,
      emit: () => undefined,
      onState: () => this.#onDocument(),
    });
    this.#upstream = new Upstream({
      edges,
      config: { ...model.mqtt, url },
      frequency: model.frequency,
      nodeName,
      agentVersion: AGENT_VERSION,
      truth: () => this.#truth(),
      groups: () => this.#documents.groupNames(),
      onMessage: ({ topic, payload }) => this.#documents.receive(topic, payload),
      onConverged: (source, generation) => this.#documents.observed(source, generation),
      onSession: () => undefined,
      onSetAside: () => undefined,
    });
    this.#documents.start();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#upstream.run(signal);
  }

  bytes(): LinkBytes {
    return this.#upstream.bytes();
  }

  close(): void {
    this.#documents[Symbol.dispose]();
    this.#store[Symbol.dispose]();
  }

  #noted(link: MqttLink): MqttLink {
    const { note, clock } = this.#options;
    return {
      connect: async (...args) => {
        const session = await link.connect(...args);
        const since = clock.now();
        note({ what: "connected", at: since });
        void session.ended.then(({ by, message }) =>
          note({ what: "ended", at: clock.now(), since, why: `${by}: ${message}` }),
        );
        return {
          ack: session.ack,
          ended: session.ended,
          subscribe: (filters, qos) => session.subscribe(filters, qos),
          unsubscribe: (filters) => session.unsubscribe(filters),
          publish: (message) => this.#published(session, message),
          end: () => session.end(),
          abort: () => session.abort(),
        };
      },
    };
  }

  /** Notes when the broker has the report that the newest document is Healthy. */
  async #published(session: MqttSession, message: MqttMessage): Promise<number> {
    const code = await session.publish(message);
    const { generation = 0 } = this.#document() ?? {};
    if (generation > this.#healthy && isHealthy(message, generation)) {
      this.#healthy = generation;
      this.#options.note({ what: "healthy", at: this.#options.clock.now() });
    }
    return code;
  }

  #onDocument(): void {
    const { clock, note } = this.#options;
    const { generation = 0, pods = [] } = this.#document() ?? {};
    if (generation > this.#generation) {
      this.#generation = generation;
      note({ what: "accepted", at: clock.now() });
      clock.after(READY_AFTER_MS, () => {
        for (const { uid } of pods) this.#ready.add(uid);
        this.#upstream.changed();
      });
    }
    this.#upstream.changed();
  }

  #document() {
    return this.#documents.states().find(({ source }) => source === groupSource(GROUP))?.document;
  }

  #truth(): NodeTruth {
    const { model, number } = this.#options;
    const { truth } = model;
    return {
      ...truth,
      ...withPods(truth, this.#document()?.pods ?? [], this.#ready),
      documents: this.#documents.states(),
      labels: labelsOf(number),
    };
  }
}

function isHealthy({ topic, payload }: MqttMessage, generation: number): boolean {
  if (!topic.endsWith("/reported")) return false;
  const { desired } = JSON.parse(new TextDecoder().decode(payload)) as ReportedState;
  return desired.some(
    (ack) =>
      ack.source === `group/${GROUP}` && ack.generation === generation && ack.phase === "Healthy",
  );
}
