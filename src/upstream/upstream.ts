// Performs: wires what is true here to the broker: reports through the outbox, documents to their source.

import type { MqttConfig } from "../config/config.ts";
import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import { topicFor } from "../protocol/mqtt-topics.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { MqttMessage, MqttSession } from "../mqtt/mqtt-link.ts";
import type { UpstreamFacts } from "../rollout/trial-facts.ts";
import { acknowledge, acknowledgeStatic, type RunningFacts } from "./report/acknowledge.ts";
import { againAtConnect, againAtRefresh, both, type Again } from "./refresh-policy.ts";
import { UpstreamConnection } from "./link/connection.ts";
import { LinkMeter, type LinkBytes } from "./link/link-bytes.ts";
import { shadowedAmong } from "../rollout/document-health.ts";
import { podLine } from "./report/pod-line.ts";
import { Publisher } from "./publisher.ts";
import { ReportLoop } from "./report/report-loop.ts";
import { podTopicPayload, report, reportContent, reportPayload } from "./report/report.ts";
import type { Ack } from "../protocol/reported-state.ts";
import { reportedSource } from "../protocol/wire-text.ts";
import type { Edges } from "../edges.ts";
import type { NodeTruth } from "./report/node-truth.ts";
import { NextSpeaker } from "./session-clock.ts";

export interface UpstreamOptions {
  readonly edges: Edges;
  readonly config: MqttConfig;
  /** Milliseconds between two reports when nothing changes. */
  readonly frequency: number;
  readonly nodeName: string;
  readonly agentVersion: string;
  readonly truth: () => NodeTruth;
  /** Groups whose topics are wanted, and those whose topics no longer are; absent = none. */
  readonly groups?: () => { readonly wanted: readonly string[]; readonly left: readonly string[] };
  readonly onMessage: (message: MqttMessage) => void;
  readonly onConverged: (source: SourceName, generation: number) => void;
  readonly onConditions: () => void;
  /** A session is about to publish what waits. */
  readonly onSession: (session: MqttSession, number: number) => void;
  /** The broker does not take what is said on a topic. */
  readonly onSetAside: (topic: string, why: string) => void;
  /** Something went to the broker and came back. */
  readonly onReached?: () => void;
}

const REPORT_AGAIN_MS = 30_000;

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #connection: UpstreamConnection;
  readonly #meter: LinkMeter;
  readonly #publisher: Publisher;
  readonly #reports: ReportLoop;
  readonly #speaker: NextSpeaker;
  #acks = new Map<string, Ack>();
  #review: Disposable | undefined;
  #again: Disposable | undefined;
  #owes: Again = "nothing";
  #refreshes = 0;
  #reachedAt: Monotonic | undefined;
  #connectionConditions: readonly NodeCondition[] = [];
  #publisherConditions: readonly NodeCondition[] = [];

  constructor(options: UpstreamOptions) {
    const { edges, config, nodeName, agentVersion, onMessage } = options;
    const { clock, random, log, files, store, mqtt } = edges;
    const { incarnation } = store;
    this.#options = options;
    this.#meter = new LinkMeter(config.topicRoot);
    this.#publisher = new Publisher({
      clock,
      log,
      outbox: store.outbox,
      incarnation: incarnation.id,
      onSetAside: options.onSetAside,
      onTaken: () => this.#reached(),
      onConditions: (conditions) => {
        this.#publisherConditions = conditions;
        options.onConditions();
      },
    });
    this.#connection = new UpstreamConnection({
      clock,
      random,
      log,
      link: this.#meter.metered(mqtt),
      files,
      config,
      nodeName,
      incarnation: incarnation.id,
      clockTrusted: edges.clockSynchronised,
      groups: () => options.groups?.().wanted ?? [],
      leftGroups: () => options.groups?.().left ?? [],
      nextSession: () => incarnation.nextSession(),
      about: () => ({ bootID: edges.bootId, agent: agentVersion }),
      onMessage,
      onFreshSession: () => this.#report("all"),
      onConditions: (conditions) => {
        this.#connectionConditions = conditions;
        options.onConditions();
      },
      publisher: {
        run: (session, number, signal) => {
          this.#reached();
          options.onSession(session, number);
          this.#connected(session.ack.sessionPresent);
          return this.#publisher.run(session, number, signal);
        },
      },
    });
    this.#speaker = new NextSpeaker({
      incarnation: incarnation.id,
      firstSession: incarnation.nextSession(),
      session: () => this.#connection.status().session,
    });
    const { frequency } = options;
    this.#reports = new ReportLoop({
      clock,
      random,
      frequency,
      report: (why) => {
        // A will that came late must not be the last word.
        if (why === "Refresh") this.#connection.announce();
        this.#report(why === "Refresh" ? this.#refresh() : "nothing");
      },
    });
  }

  /** `DuplicateIdentity`, `SubscribeDenied`, … */
  conditions(): readonly NodeCondition[] {
    return [...this.#connectionConditions, ...this.#publisherConditions];
  }

  /** What the line has cost so far. */
  bytes(): LinkBytes {
    return this.#meter.bytes();
  }

  /** How the line stands. */
  facts(): UpstreamFacts {
    return { isConnected: this.#connection.status().connected, reachedAt: this.#reachedAt };
  }

  /** Something that a report tells is different. */
  changed(): void {
    this.#reports.changed();
  }

  /** `groups()` is another one. */
  groupsChanged(): void {
    this.#connection.groupsChanged();
  }

  /** Something else than a report waits in the outbox. */
  wake(): void {
    this.#publisher.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#connection.run(signal), this.#reports.run(signal)]);
    this.#review?.[Symbol.dispose]();
    this.#again?.[Symbol.dispose]();
  }

  #reached(): void {
    this.#reachedAt = this.#options.edges.clock.monotonic();
    this.#options.onReached?.();
  }

  /** A new session has been told everything already. */
  #connected(sessionPresent: boolean): void {
    const again = againAtConnect(sessionPresent, this.#options.config.profile);
    if (sessionPresent && again !== "nothing") this.#report(again);
  }

  #refresh(): Again {
    this.#refreshes += 1;
    return againAtRefresh(this.#refreshes);
  }

  /** What cannot be written down now (a full disk) is owed until it can. */
  #report(again: Again): void {
    const { clock, log } = this.#options.edges;
    this.#again?.[Symbol.dispose]();
    this.#again = undefined;
    this.#owes = both(this.#owes, again);
    try {
      this.#put(this.#options.truth(), this.#owes);
      this.#owes = "nothing";
      this.#publisher.wake();
    } catch (error) {
      log.error("cannot report", { error: messageOf(error) });
      this.#again = clock.after(REPORT_AGAIN_MS, () => this.#report("nothing"));
    }
  }

  #put(truth: NodeTruth, again: Again): void {
    const { edges, config, nodeName } = this.#options;
    const { clock, store } = edges;
    const reported = report({
      ...this.#speaker.next(),
      node: nodeName,
      time: clock.now(),
      clockTrusted: edges.clockSynchronised(),
      desired: this.#acknowledge(truth),
      status: truth.status,
      pods: truth.shown.map(({ desired, status }) => podLine(desired, status)),
      rejected: truth.rejected,
    });
    const root = config.topicRoot;
    store.outbox.put({
      kind: "reported",
      topic: topicFor({ type: "NodeReported", root, node: nodeName }),
      payload: reportPayload(reported),
      content: reportContent(reported),
      qos: 1,
      retain: true,
      refresh: again !== "nothing",
    });
    this.#putPods(truth, again === "all");
  }

  #putPods({ shown, arePodsKnown }: NodeTruth, refresh: boolean): void {
    const { edges, config, nodeName } = this.#options;
    const { outbox } = edges.store;
    const message = { kind: "pod", qos: 1, retain: true } as const;
    const topics = new Set<string>();
    for (const { desired, status } of config.podStatus === "off" ? [] : shown) {
      const { namespace, name } = desired.pod.metadata;
      const root = config.topicRoot;
      const topic = topicFor({ type: "PodReported", root, node: nodeName, namespace, pod: name });
      topics.add(topic);
      // It is there, and nothing is known of it yet: what was said before stands.
      if (status === undefined) continue;
      outbox.put({
        ...message,
        ...podTopicPayload(desired, status, this.#speaker.next()),
        topic,
        refresh,
      });
    }
    const isGone = arePodsKnown || config.podStatus === "off";
    for (const topic of isGone ? outbox.topics("pod") : [])
      if (!topics.has(topic)) outbox.put({ ...message, topic, payload: new Uint8Array() });
  }

  /** Also remembers what converged, and comes back when time alone will change the answer. */
  #acknowledge(truth: NodeTruth): readonly Ack[] {
    const { clock } = this.#options.edges;
    const facts = (source: SourceName, own: readonly DesiredPod[]): RunningFacts => {
      const uids = new Set(own.map(({ uid }) => uid));
      return {
        health: truth.health,
        shadowed: shadowedAmong(own, truth.rejected),
        leftovers: truth.pods.filter(
          ({ desired }) => desired.source === source && !uids.has(desired.uid),
        ).length,
        now: clock.monotonic(),
        wall: clock.now(),
        previous: this.#acks.get(reportedSource(source)),
      };
    };
    const files = acknowledgeStatic(truth.files, facts("file", truth.files.pods));
    const documents = truth.documents.flatMap((state) => {
      const answer = acknowledge(state, facts(state.source, state.document?.pods ?? []));
      if (answer?.converged === true && state.document !== undefined)
        this.#options.onConverged(state.source, state.document.generation);
      return answer ?? [];
    });
    const answers = [files, ...documents];
    this.#acks = new Map(answers.map(({ ack }) => [ack.source, ack]));
    this.#comeBack(answers.map(({ reviewAt }) => reviewAt).filter((at) => at !== undefined));
    // What runs comes first: who asks for a source without a digest asks for that.
    return [
      ...answers.map(({ ack }) => ack),
      ...documents.flatMap(({ superseded }) => superseded ?? []),
    ];
  }

  #comeBack(times: readonly number[]): void {
    this.#review?.[Symbol.dispose]();
    this.#review = undefined;
    if (times.length === 0) return;
    const { clock } = this.#options.edges;
    const wait = Math.max(0, Math.min(...times) - clock.monotonic());
    this.#review = clock.after(wait, () => this.changed());
  }
}
