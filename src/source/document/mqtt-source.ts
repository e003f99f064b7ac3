// Performs: the documents that reach a node over MQTT: restores them at the start, routes each message to the node's own
// document or to that of a group, and keeps the groups in step with the configuration and the node's document.

import { type DocumentState, groupOf, groupSource } from "../../protocol/desired-document.ts";
import type { SourceName, SourceSnapshot } from "../../api/pod/desired-pod.ts";
import {
  DEFAULT_GROUP_PRIORITY,
  type FleetFacts,
  type GroupMember,
} from "../../protocol/groups.ts";
import { parseTopic, topicFor } from "../../protocol/mqtt-topics.ts";
import { messageOf } from "../../lib/errors.ts";
import type { JudgeContext } from "./judge-document.ts";
import type { DocumentHost, DocumentRules } from "./document-rules.ts";
import { DocumentSource } from "./document-source.ts";
import { RolloutOrders, type RolloutOrdersOptions } from "./rollout-orders.ts";
import { membership, type Membership, tooMany } from "./group-membership.ts";
import type { Trust } from "../../trust/trust.ts";
import { reportedSource } from "../../protocol/wire-text.ts";

export interface MqttSourceOptions extends DocumentRules {
  /** This node's name. */
  readonly node: string;
  /** `mqtt.topicRoot`. */
  readonly topicRoot: string;
  /** `mqtt.groups` in force at the start; absent = none. */
  readonly groups?: readonly GroupMember[];
  readonly trust: Pick<Trust, "look" | "receive" | "verify">;
  /** The node's own labels, which no document replaces; absent = none. */
  readonly ownLabels?: Readonly<Record<string, string>>;
  /** Where the times at which Rollouts were issued are kept. */
  readonly meta: RolloutOrdersOptions["meta"];
  /** Receives a snapshot of each source at the start and after every change. */
  readonly emit: (snapshot: SourceSnapshot) => void;
  /** Receives the node's labels and groups at the start and after every document of the node. */
  readonly onFleet?: (facts: FleetFacts) => void;
  /** Receives the state of every document source at the start and after every change. */
  readonly onState: (states: readonly DocumentState[]) => void;
}

const NODE: SourceName = "mqtt:node";

export class MqttSource implements Disposable {
  readonly #options: MqttSourceOptions;
  readonly #nodeTopic: string;
  readonly #host: DocumentHost;
  readonly #node: DocumentSource;
  /** Of the configuration. */
  #configured: readonly GroupMember[];
  /** By the name of the group, in the order in which they count. */
  #groups: ReadonlyMap<string, DocumentSource> = new Map();
  readonly #orders: RolloutOrders;
  #membership: Membership = { members: [], surplus: [] };
  /** Groups that the node has left: the broker may still have a subscription. */
  readonly #left = new Set<string>();
  #onGroups: () => void = () => undefined;

  constructor(options: MqttSourceOptions) {
    const { node, topicRoot: root } = options;
    this.#options = options;
    this.#configured = options.groups ?? [];
    this.#orders = new RolloutOrders(options);
    this.#nodeTopic = topicFor({ type: "NodeDesired", root, node });
    this.#host = {
      generations: () => this.#generations(),
      staged: (source) => this.#stagedFacts(source),
      publish: (snapshot) =>
        snapshot.source === NODE ? this.#publishNode(snapshot) : options.emit(snapshot),
      stateChanged: () => this.#publishStates(),
      accepted: (source) => this.#onAccepted(source),
    };
    this.#node = this.#documentSource(NODE, this.#nodeTopic);
  }

  /** Restores the accepted documents and publishes them before it returns, the node's own last. Throws what the
   * checkpoint throws. */
  start(): void {
    this.#node.restore();
    this.#updateFleet();
    this.#regroup();
    for (const group of this.#storedGroups()) if (!this.#groups.has(group)) this.#leave(group);
    this.#node.publish();
    this.#publishStates();
  }

  /** A message from the broker: a document of this node or of one of its groups, or a trust bundle. Never throws. */
  receive(topic: string, payload: Uint8Array): void {
    const parsed = parseTopic(this.#options.topicRoot, topic);
    if (parsed?.type === "Trust") this.#options.trust.receive(payload);
    else if (topic === this.#nodeTopic) this.#node.receive(payload);
    else if (parsed?.type === "GroupDesired") this.#groups.get(parsed.group)?.receive(payload);
    else if (parsed?.type === "GroupRollout") this.#receiveRollout(parsed.group, topic, payload);
  }

  #receiveRollout(group: string, topic: string, payload: Uint8Array): void {
    const source = this.#groups.get(group);
    if (source === undefined) return;
    source.receiveRollout(() => this.#orders.receive({ group, topic, payload }));
  }

  #stagedFacts(source: SourceName): JudgeContext["staged"] {
    const group = groupOf({ source });
    if (group === undefined) return undefined;
    const { node, sha256, ownLabels } = this.#options;
    const labels = { ...this.fleet().labels, ...ownLabels };
    return { node, sha256, labels, order: this.#orders.of(group) };
  }

  /** Trust was reset: documents of any version follow. Throws what the checkpoint throws. */
  forgetVersion(): void {
    for (const source of this.#all()) source.forgetVersion();
  }

  /** Other keys are in force: judges refused messages again, because the broker does not send them twice. */
  judgeAgain(): void {
    this.#node.judgeAgain();
    for (const [group, source] of this.#groups) {
      const arrival = this.#orders.refused(group);
      if (arrival !== undefined) source.receiveRollout(() => this.#orders.receive(arrival));
      source.judgeAgain();
    }
  }

  /** Remembers that this generation has converged, for the acknowledgement after a restart. */
  observed(source: SourceName, generation: number): void {
    this.#all()
      .find((one) => one.source === source)
      ?.observed(generation);
  }

  /** The node's own first, then its groups' in the order in which they count. */
  states(): readonly DocumentState[] {
    return this.#all().map((source) => source.state());
  }

  /** What the node is by its configuration and its own document. */
  fleet(): FleetFacts {
    return { labels: this.#node.document?.labels ?? {}, groups: this.#membership.members };
  }

  /** Names of the groups whose topics are wanted, and of those whose topics no longer are. */
  groupNames(): { readonly wanted: readonly string[]; readonly left: readonly string[] } {
    return { wanted: [...this.#groups.keys()], left: [...this.#left] };
  }

  /** Names of the groups whose topics would be wanted if the configuration had these. */
  groupNamesWith(configured: readonly GroupMember[]): readonly string[] {
    const ofDocument = this.#node.document?.groups ?? [];
    return membership(configured, ofDocument).members.map(({ name }) => name);
  }

  /** The groups of the configuration are these from now on. */
  configure(groups: readonly GroupMember[]): void {
    if (JSON.stringify(groups) === JSON.stringify(this.#configured)) return;
    this.#configured = groups;
    this.#updateFleet();
    this.#regroup();
    this.#publishStates();
  }

  /** `groupNames()` is another one; one listener. */
  onGroups(listener: () => void): void {
    this.#onGroups = listener;
  }

  [Symbol.dispose](): void {
    for (const source of this.#all()) source[Symbol.dispose]();
  }

  #all(): readonly DocumentSource[] {
    return [this.#node, ...this.#groups.values()];
  }

  #documentSource(source: SourceName, topic: string): DocumentSource {
    const { node } = this.#options;
    const address = { source, ref: topic, node };
    return new DocumentSource({ rules: this.#options, address, host: this.#host });
  }

  #generations(): JudgeContext["accepted"] {
    return Object.fromEntries(
      this.#all().flatMap(({ source, generation }) =>
        generation === undefined ? [] : [[reportedSource(source), generation]],
      ),
    );
  }

  /** Terminates: each acceptance raises a generation. */
  #onAccepted(source: SourceName): void {
    for (const other of this.#all()) if (other.source !== source) other.judgeUnmetAgain();
  }

  #decide(): Membership {
    const ofDocument = this.#node.document?.groups ?? [];
    const named = new Set(ofDocument.map(({ name }) => name));
    // A document that cannot be read whole might name any group that has a document: the node leaves none of them.
    const kept = this.#node.isDamaged
      ? this.#storedGroups().filter((name) => !named.has(name) && this.#has(name))
      : [];
    const rest = kept.map((name) => ({ name, priority: DEFAULT_GROUP_PRIORITY }));
    return membership(this.#configured, [...ofDocument, ...rest]);
  }

  /** Groups that ever had a document. */
  #storedGroups(): readonly string[] {
    return this.#options.documents.synced().flatMap((source) => groupOf({ source }) ?? []);
  }

  #has(group: string): boolean {
    return this.#options.documents.get(groupSource(group)) !== undefined;
  }

  /** The node's document may change the groups that the node is in. */
  #publishNode(snapshot: SourceSnapshot): void {
    this.#updateFleet();
    const surplus = this.#membership.surplus.map(({ name }) => tooMany(name, this.#nodeTopic));
    this.#options.emit({ ...snapshot, rejected: [...snapshot.rejected, ...surplus] });
    this.#regroup();
  }

  #updateFleet(): void {
    this.#membership = this.#decide();
    this.#options.onFleet?.(this.fleet());
  }

  #regroup(): void {
    const before = this.#groups;
    const names = this.#membership.members.map(({ name }) => name);
    this.#groups = new Map(names.map((name) => [name, before.get(name) ?? this.#join(name)]));
    const left = [...before].filter(([name]) => !this.#groups.has(name));
    for (const [name, source] of left) {
      source[Symbol.dispose]();
      this.#leave(name);
    }
    if (left.length > 0 || names.some((name) => !before.has(name))) this.#onGroups();
  }

  #join(group: string): DocumentSource {
    const { topicRoot: root, log } = this.#options;
    const topic = topicFor({ type: "GroupDesired", root, group });
    const source = this.#documentSource(groupSource(group), topic);
    this.#left.delete(group);
    log.info("the node is in a group", { group });
    source.restore();
    source.publish();
    return source;
  }

  /** Removes the document of a group. After a crash in between, the next start does it: it leaves every group that has a
   * document and is none of the node's. */
  #leave(group: string): void {
    const { documents, emit, log } = this.#options;
    const source = groupSource(group);
    this.#left.add(group);
    this.#orders.forget(group);
    emit({ source, ready: true, pods: [], objects: [], rejected: [] });
    try {
      if (documents.get(source) === undefined) return;
      documents.remove(source);
      log.info("the node has left a group", { group });
    } catch (thrown) {
      const error = messageOf(thrown);
      log.warn("cannot remove the document of a group; the next start does", { group, error });
    }
  }

  #publishStates(): void {
    this.#options.onState(this.states());
  }
}
