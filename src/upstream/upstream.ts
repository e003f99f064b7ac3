// Performs: connects the node to its broker: reports go through the outbox, messages to their receiver.

import type { SourceName } from "../api/pod/desired-pod.ts";
import { topicFor } from "../protocol/mqtt-topics.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { MqttMessage, MqttSession } from "../mqtt/mqtt-link.ts";
import type { UpstreamFacts } from "../rollout/require-upstream.ts";
import { Acknowledgements, type NodeTruth, type RunningFacts } from "./report/acknowledge.ts";
import {
  connectScope,
  refreshScope,
  larger,
  REPORT_CREDITS,
  type Refresh,
} from "./report/report-timing.ts";
import { UpstreamConnection, type UpstreamConnectionOptions } from "./link/connection.ts";
import { LinkMeter, type LinkBytes } from "./link/link-bytes.ts";
import { podLine } from "./report/pod-line.ts";
import { Publisher } from "./publisher.ts";
import { ReportLoop } from "./report/report-loop.ts";
import { PodTopics } from "./report/pod-topics.ts";
import { report, reportContent } from "./report/report.ts";
import type { Ack, MessageNumber, ReportedState } from "../protocol/reported-state.ts";
import type { Edges } from "../edges.ts";
import { jsonBytes } from "../protocol/wire-text.ts";
import { Alarm } from "../lib/alarm.ts";

export interface UpstreamOptions extends Pick<
  UpstreamConnectionOptions,
  "config" | "nodeName" | "agentVersion" | "groups" | "topics" | "onMessage"
> {
  readonly edges: Edges;
  /** Milliseconds between two reports when nothing changes. */
  readonly frequency: number;
  readonly truth: () => NodeTruth;
  readonly onConverged: (source: SourceName, generation: number) => void;
  /** A session is about to publish what waits in the outbox. */
  readonly onSession: (session: MqttSession, number: number) => void;
  /** The broker refuses messages on a topic. */
  readonly onSetAside: (topic: string, why: string) => void;
  /** The broker has answered. */
  readonly onReached?: () => void;
  /** Counts over several connections; absent = its own. */
  readonly meter?: LinkMeter;
}

const REPORT_AGAIN_MS = 30_000;

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #connection: UpstreamConnection;
  readonly #meter: LinkMeter;
  readonly #publisher: Publisher;
  readonly #reports: ReportLoop;
  readonly #acknowledgements = new Acknowledgements();
  readonly #podTopics: PodTopics;
  /** Time alone changes an acknowledgement. */
  readonly #review: Alarm;
  /** A report could not be written. */
  readonly #retry: Alarm;
  #owed: Refresh = "nothing";
  #refreshes = 0;
  /** Of the newest message; before the first connection of this process, a number of its own. */
  #session: number;
  #seq = 0;
  #reachedAt: Monotonic | undefined;
  #hasAcknowledged = false;

  constructor(options: UpstreamOptions) {
    const { edges } = options;
    const { clock, random, log } = edges;
    const { incarnation, outbox } = edges.store;
    this.#review = new Alarm(clock, () => this.changed());
    this.#retry = new Alarm(clock, () => this.#report("nothing"));
    this.#options = options;
    this.#meter = options.meter ?? new LinkMeter(options.config.topicRoot);
    const onChange = (): void => this.changed();
    this.#publisher = new Publisher({
      clock,
      log,
      outbox,
      incarnation: incarnation.id,
      onSetAside: options.onSetAside,
      onTaken: () => {
        this.#hasAcknowledged = true;
        this.#reached();
      },
      onChange,
    });
    this.#podTopics = new PodTopics({
      ...options,
      outbox,
      nextNumber: () => this.#nextNumber(),
    });
    this.#connection = new UpstreamConnection({
      ...edges,
      ...options,
      mqtt: this.#meter.metered(edges.mqtt),
      incarnation: incarnation.id,
      nextSession: () => incarnation.nextSession(),
      onChange,
      publish: (session, number, signal) => {
        this.#reached();
        options.onSession(session, number);
        const scope = connectScope(session.ack.sessionPresent, options.config.profile);
        if (scope !== "nothing") this.#report(scope);
        return this.#publisher.run(session, number, signal);
      },
    });
    this.#session = incarnation.nextSession();
    const { frequency } = options;
    this.#reports = new ReportLoop({
      clock,
      random,
      frequency,
      credit: REPORT_CREDITS[options.config.profile],
      report: (why) => {
        // A late will may have overwritten the retained state.
        if (why === "Refresh") this.#connection.announce();
        return this.#report(why === "Refresh" ? this.#refresh() : "nothing");
      },
      hasAnswer: () => this.#hasAnswer(),
    });
  }

  conditions(): readonly NodeCondition[] {
    return [...this.#connection.conditions(), ...this.#publisher.conditions()];
  }

  /** Bytes on the wire so far. */
  bytes(): LinkBytes {
    return this.#meter.bytes();
  }

  /** The state of the connection. */
  facts(): UpstreamFacts {
    return {
      isConnected: this.#connection.session() !== undefined,
      reachedAt: this.#reachedAt,
      hasAcknowledged: this.#hasAcknowledged,
    };
  }

  /** The report as it is now, beside the outbox. */
  report(): MqttMessage {
    const { config, nodeName, truth } = this.#options;
    return {
      topic: topicFor({ type: "NodeReported", root: config.topicRoot, node: nodeName }),
      payload: jsonBytes(this.#reported(truth())),
      qos: 1,
      retain: true,
    };
  }

  /** The content of a report has changed. */
  changed(): void {
    this.#reports.changed();
  }

  /** `groups()` or `topics()` has changed. */
  groupsChanged(): void {
    this.#connection.groupsChanged();
  }

  /** What a birth says has changed. */
  announce(): void {
    this.#connection.announce();
  }

  /** The outbox has new rows beside reports. */
  wake(): void {
    this.#publisher.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#connection.run(signal), this.#reports.run(signal)]);
    this.#review[Symbol.dispose]();
    this.#retry[Symbol.dispose]();
  }

  #reached(): void {
    this.#reachedAt = this.#options.edges.clock.monotonic();
    this.#options.onReached?.();
  }

  #refresh(): Refresh {
    this.#refreshes += 1;
    return refreshScope(this.#refreshes);
  }

  /** Whether there is something to publish. A report that cannot be written, as on a full disk, is tried again. */
  #report(again: Refresh): boolean {
    this.#retry.set(undefined);
    this.#owed = larger(this.#owed, again);
    try {
      const isNew = this.#put(this.#options.truth(), this.#owed);
      this.#owed = "nothing";
      this.#publisher.wake();
      return isNew;
    } catch (error) {
      this.#options.edges.log.error("cannot write the report to the outbox; trying again", {
        error: messageOf(error),
      });
      this.#retry.after(REPORT_AGAIN_MS);
      return true;
    }
  }

  /** Whether any of it has changed. */
  #put(truth: NodeTruth, again: Refresh): boolean {
    const { edges, config, nodeName } = this.#options;
    const { store } = edges;
    const reported = this.#reported(truth);
    const root = config.topicRoot;
    const isNewReport = store.outbox.put({
      kind: "reported",
      topic: topicFor({ type: "NodeReported", root, node: nodeName }),
      payload: jsonBytes(reported),
      content: reportContent(reported),
      qos: 1,
      retain: true,
      refresh: again !== "nothing",
    });
    const areNewTopics = this.#podTopics.put(truth, again === "all");
    return isNewReport || areNewTopics;
  }

  #reported(truth: NodeTruth): ReportedState {
    const { edges, nodeName } = this.#options;
    return report({
      ...this.#nextNumber(),
      node: nodeName,
      time: edges.clock.now(),
      clockTrusted: edges.clockSynchronised(),
      desired: this.#acknowledge(truth),
      labels: truth.labels,
      status: truth.status,
      pods: truth.shown.map(({ desired, status }) => podLine(desired, status)),
      rejected: truth.rejected,
      ...(truth.settings === undefined ? {} : { settings: truth.settings }),
    });
  }

  /** (session, seq) only grows: seq within the process, session from process to process. */
  #nextNumber(): MessageNumber {
    this.#session = Math.max(this.#session, this.#connection.session() ?? 0);
    this.#seq += 1;
    const incarnation = this.#options.edges.store.incarnation.id;
    return { incarnation, session: this.#session, seq: this.#seq };
  }

  /** Also stores what converged, and schedules a report for when time alone changes the acknowledgement. */
  #acknowledge(truth: NodeTruth): readonly Ack[] {
    const { onConverged } = this.#options;
    const { acks, converged, reviewAt } = this.#acknowledgements.next(truth, this.#time());
    for (const { source, generation } of converged) onConverged(source, generation);
    this.#review.set(reviewAt);
    return acks;
  }

  #hasAnswer(): boolean {
    const { hasAnswer, reviewAt } = this.#acknowledgements.look(
      this.#options.truth(),
      this.#time(),
    );
    this.#review.set(reviewAt);
    return hasAnswer;
  }

  #time(): Pick<RunningFacts, "now" | "wall"> {
    const { clock } = this.#options.edges;
    return { now: clock.monotonic(), wall: clock.now() };
  }
}

const OFFLINE: UpstreamFacts = { isConnected: false, reachedAt: undefined };

/** Stands for the upstream where something is built before it; without a broker it does nothing. */
export class UpstreamPort {
  readonly #followers = new Set<() => void>();
  #upstream: Upstream | undefined;

  attach(upstream: Upstream): void {
    this.#upstream = upstream;
  }

  /** Something that is reported has changed. */
  readonly changed = (): void => {
    this.#upstream?.changed();
    for (const run of this.#followers) run();
  };

  /** Calls `run` whenever something that is reported has changed, until it is disposed. */
  readonly follow = (run: () => void): Disposable => {
    this.#followers.add(run);
    return { [Symbol.dispose]: () => void this.#followers.delete(run) };
  };

  /** The outbox has new rows beside reports. */
  readonly wake = (): void => this.#upstream?.wake();

  /** The report as it is now; undefined = no broker is configured. */
  readonly report = (): MqttMessage | undefined => this.#upstream?.report();

  /** `groups()` or `topics()` of the upstream has changed. */
  readonly groupsChanged = (): void => this.#upstream?.groupsChanged();

  /** What a birth says has changed. */
  readonly announce = (): void => this.#upstream?.announce();

  readonly facts = (): UpstreamFacts => this.#upstream?.facts() ?? OFFLINE;

  conditions(): readonly NodeCondition[] {
    return this.#upstream?.conditions() ?? [];
  }

  /** undefined = no broker is configured. */
  bytes(): LinkBytes | undefined {
    return this.#upstream?.bytes();
  }
}
