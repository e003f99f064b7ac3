// A node with groups on a real store, and everything that its documents say.

import { storedDocuments } from "../../fakes/in-the-store.ts";
import { readdirSync } from "node:fs";
import { join } from "node:path";

import type { DesiredState, SourceName, SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import type { GroupMember } from "../../../src/protocol/groups.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { MqttSource, type MqttSourceOptions } from "../../../src/source/document/mqtt-source.ts";
import { mergeSnapshots } from "../../../src/source/merge-sources.ts";
import type { Store } from "../../../src/store/store.ts";
import { ROOMY } from "../../fakes/a-node.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import type { DocumentStore } from "../../../src/source/document/document-rules.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { aWrittenPod, bytes, written } from "../../unit/source/desired-arrival.ts";
import { openStore } from "../store/open-store.ts";
import { withoutKeys } from "./trusting.ts";

export interface NodeOptions {
  /** `mqtt.groups`. */
  readonly groups?: readonly (GroupMember | string)[];
  /** Stands before the real checkpoint. */
  readonly documents?: (store: Store) => DocumentStore;
  readonly trust?: MqttSourceOptions["trust"];
}

/** One life of a node. Dispose it before the next one on the same directory. */
export class GroupNode implements Disposable {
  readonly store: Store;
  readonly source: MqttSource;
  readonly clock = new VirtualClock();
  readonly snapshots: SourceSnapshot[] = [];
  readonly log: string[] = [];
  /** How often the groups have changed. */
  regrouped = 0;
  readonly #stateDir: string;

  constructor(stateDir: string, { groups = [], documents, trust }: NodeOptions = {}) {
    const { clock } = this;
    this.#stateDir = stateDir;
    this.store = openStore(stateDir);
    this.source = new MqttSource({
      documents: documents?.(this.store) ?? this.store.documents,
      clock,
      log: createLogger({ clock, level: "info", write: (line) => this.log.push(line) }),
      sha256,
      node: "pi-1",
      topicRoot: "agent/v1",
      groups: groups.map((one) => (typeof one === "string" ? { name: one, priority: 0 } : one)),
      facts: { agentVersion: "1.0.0", arch: "arm64", features: new Set() },
      ...withoutKeys,
      meta: this.store.meta,
      ...(trust === undefined ? {} : { trust }),
      clockTrusted: () => true,
      emit: (snapshot) => this.snapshots.push(snapshot),
      onState: () => undefined,
    });
    this.source.onGroups(() => (this.regrouped += 1));
    this.source.start();
  }

  [Symbol.dispose](): void {
    this.source[Symbol.dispose]();
    this.store[Symbol.dispose]();
  }

  /** A document with one pod of this name for the node itself. */
  node(generation: number, pod: string, more: object = {}): void {
    this.send("node/pi-1", written({ generation, resources: [aWrittenPod(pod)], ...more }));
  }

  group(name: string, generation: number, more: object = {}): void {
    const resources = [aWrittenPod(`of-${name}`)];
    const text = written({ target: { group: name }, generation, resources, ...more });
    this.send(`group/${name}`, text);
  }

  send(to: string, message: string): void {
    this.source.receive(`agent/v1/${to}/desired`, bytes(message));
  }

  /** A Rollout of a group. */
  rollout(group: string, fields: object): void {
    const order = { apiVersion: "agent/v1", kind: "Rollout", group, salt: "s", ...fields };
    this.source.receive(`agent/v1/group/${group}/rollout`, bytes(JSON.stringify(order)));
  }

  /** The newest word of a source. */
  said(source: SourceName): SourceSnapshot | undefined {
    return this.snapshots.findLast((one) => one.source === source);
  }

  /** What runs: as the agent merges it. */
  get desired(): DesiredState {
    const newest = new Map(this.snapshots.map((one) => [one.source, one]));
    const priorities = this.source.fleet().groups.map((one) => [one.name, one.priority] as const);
    return mergeSnapshots([...newest.values()], { ...ROOMY, groupPriorities: new Map(priorities) });
  }

  get pods(): readonly string[] {
    return this.desired.pods.map(({ pod }) => pod.metadata.name);
  }

  /** Source, generation, refusal of every document. */
  get answers(): readonly string[] {
    return this.source.states().map(({ source, document, lastRejected }) => {
      const refused = lastRejected === undefined ? "" : ` ${lastRejected.code}`;
      return `${source.replace("mqtt:", "")} ${document?.generation ?? 0}${refused}`;
    });
  }

  /** Codes of what is rejected, with the name of the object. */
  get rejected(): readonly string[] {
    return this.desired.rejected.map(({ code, name, source }) => `${code} ${name ?? source}`);
  }

  /** Sources with a row, and files of documents. */
  get kept(): readonly string[] {
    const files = readdirSync(join(this.#stateDir, "desired"));
    return [
      ...storedDocuments(this.store.documents).map(({ source }) => source),
      ...files.toSorted(),
    ];
  }
}
