// Performs: the documents that reach a node over MQTT, its own and those of its groups: who gets which message, and
// which groups those are by now.

import { type DocumentState, documentName, groupOf } from "../../protocol/desired-document.ts";
import type { Rejection, SourceName, SourceSnapshot } from "../../api/pod/desired-pod.ts";
import {
  DEFAULT_GROUP_PRIORITY,
  type FleetFacts,
  type GroupMember,
} from "../../protocol/groups.ts";
import { MAX_GROUPS, parseTopic, topicFor } from "../../protocol/mqtt-topics.ts";
import { messageOf } from "../../lib/errors.ts";
import type { JudgeContext } from "./judge.ts";
import type { DocumentRules, DocumentStore } from "./document-rules.ts";
import { DocumentSource } from "./document-source.ts";
import { membership, type Membership } from "./group-membership.ts";
import type { Trust } from "../../trust/trust.ts";

export interface DocumentStores extends DocumentStore {
  /** Every source that has ever had a document. */
  synced(): readonly SourceName[];
  /** Forgets the document; that its source has spoken stays known. */
  remove(source: SourceName): void;
}

export interface MqttSourceOptions extends DocumentRules {
  readonly documents: DocumentStores;
  /** This node's name. */
  readonly node: string;
  /** `mqtt.topicRoot`. */
  readonly topicRoot: string;
  /** `mqtt.groups`; absent = none. */
  readonly groups?: readonly GroupMember[];
  readonly trust: Pick<Trust, "look" | "receive" | "verify">;
  /** Receives a snapshot of each source at the start and after every change. */
  readonly emit: (snapshot: SourceSnapshot) => void;
  /** Receives the state of every document source at the start and after every change. */
  readonly onState: (states: readonly DocumentState[]) => void;
}

const NODE: SourceName = "mqtt:node";

export class MqttSource implements Disposable {
  readonly #options: MqttSourceOptions;
  readonly #nodeTopic: string;
  readonly #node: DocumentSource;
  /** By the name of the group, in the order in which they count. */
  #groups: ReadonlyMap<string, DocumentSource> = new Map();
  #membership: Membership = { members: [], surplus: [] };
  /** Groups that are known to have been left: the broker may still know of a subscription. */
  readonly #left = new Set<string>();
  #onGroups: () => void = () => undefined;

  constructor(options: MqttSourceOptions) {
    const { node, topicRoot: root } = options;
    this.#options = options;
    this.#nodeTopic = topicFor({ type: "NodeDesired", root, node });
    const emit = (snapshot: SourceSnapshot): void => this.#emitNode(snapshot);
    this.#node = this.#documentSource(NODE, this.#nodeTopic, emit);
  }

  /** Restores the accepted documents and speaks, before it returns; the node's own speaks last. Throws what the
   * checkpoint throws. */
  start(): void {
    this.#node.restore();
    this.#membership = this.#decide();
    this.#regroup();
    for (const group of this.#spokenGroups()) if (!this.#groups.has(group)) this.#leave(group);
    this.#node.emit();
    this.#tell();
  }

  /** A message from the broker: a document of this node or of one of its groups, or who may sign them. Never throws. */
  receive(topic: string, payload: Uint8Array): void {
    const parsed = parseTopic(this.#options.topicRoot, topic);
    if (parsed?.type === "Trust") this.#options.trust.receive(payload);
    else if (topic === this.#nodeTopic) this.#node.receive(payload);
    else if (parsed?.type === "GroupDesired") this.#groups.get(parsed.group)?.receive(payload);
  }

  /** Trust was reset: documents of any version follow. Throws what the checkpoint throws. */
  forgetVersion(): void {
    for (const source of this.#all()) source.forgetVersion();
  }

  /** Other keys are in force: what was refused is judged again, for the broker does not send it twice. */
  judgeAgain(): void {
    this.#node.judgeAgain();
    for (const source of this.#groups.values()) source.judgeAgain();
  }

  /** The document of this generation has converged: remembered for the acknowledgement after a restart. */
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

  #documentSource(
    source: SourceName,
    topic: string,
    emit: (snapshot: SourceSnapshot) => void,
  ): DocumentSource {
    const { node } = this.#options;
    return new DocumentSource({
      rules: this.#options,
      address: { source, topic, node },
      accepted: () => this.#generations(),
      emit,
      onState: () => this.#tell(),
      onAccepted: () => this.#onAccepted(source),
    });
  }

  #generations(): JudgeContext["accepted"] {
    return Object.fromEntries(
      this.#all().flatMap(({ source, generation }) =>
        generation === undefined ? [] : [[documentName(source), generation]],
      ),
    );
  }

  /** Ends: each acceptance makes a generation higher. */
  #onAccepted(source: SourceName): void {
    for (const other of this.#all()) if (other.source !== source) other.judgeUnmetAgain();
  }

  #decide(): Membership {
    const ofDocument = this.#node.document?.groups ?? [];
    const named = new Set(ofDocument.map(({ name }) => name));
    // A document that cannot be read whole might name any group that there is a document of: none of them is left for that.
    const kept = this.#node.isDamaged
      ? this.#spokenGroups().filter((name) => !named.has(name) && this.#has(name))
      : [];
    const rest = kept.map((name) => ({ name, priority: DEFAULT_GROUP_PRIORITY }));
    return membership(this.#options.groups ?? [], [...ofDocument, ...rest]);
  }

  #spokenGroups(): readonly string[] {
    return this.#options.documents.synced().flatMap((source) => groupOf({ source }) ?? []);
  }

  #has(group: string): boolean {
    return this.#options.documents.get(sourceOf(group)) !== undefined;
  }

  /** Its document may say of which groups the node is by now. */
  #emitNode(snapshot: SourceSnapshot): void {
    this.#membership = this.#decide();
    const surplus = this.#membership.surplus.map(({ name }) => tooMany(name, this.#nodeTopic));
    this.#options.emit({ ...snapshot, rejected: [...snapshot.rejected, ...surplus] });
    this.#regroup();
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
    const { topicRoot: root, emit, log } = this.#options;
    const topic = topicFor({ type: "GroupDesired", root, group });
    const source = this.#documentSource(sourceOf(group), topic, emit);
    this.#left.delete(group);
    log.info("the node is in a group", { group });
    source.restore();
    source.emit();
    return source;
  }

  /** Nothing of it is wanted any more. A crash in between ends the same: whatever has spoken and is no group of the
   * node is left at the start. */
  #leave(group: string): void {
    const { documents, emit, log } = this.#options;
    const source = sourceOf(group);
    this.#left.add(group);
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

  #tell(): void {
    this.#options.onState(this.states());
  }
}

function sourceOf(group: string): SourceName {
  return `mqtt:group/${group}`;
}

function tooMany(group: string, ref: string): Rejection {
  const message = `the node is not in group ${group}: ${MAX_GROUPS} groups are the most; leave another one`;
  return { source: NODE, ref, code: "TooManyGroups", path: "groups", message };
}
