// Performs: publishes the outbox in one session after the other. Only the outbox resends; a row is removed at its
// PUBACK.

import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Edges } from "../edges.ts";
import { nextBackoff, retryAt, type BackoffEntry } from "../lib/backoff.ts";
import { deadline, type Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { LatestBox } from "../lib/mailbox.ts";
import type { MqttSession } from "../mqtt/mqtt-link.ts";
import type { Outbox } from "../store/outbox/outbox.ts";
import { allowed, excess, publishWindow } from "./connack-limits.ts";
import { packetsOf, type Packet } from "./publish-packets.ts";
import {
  afterDisconnect,
  afterRefusal,
  afterSuccess,
  anyOnProbation,
  nextRetry,
  topicsCondition,
  topicsSetAside,
  UNANSWERED,
  type Suspects,
} from "./link/topic-circuit-breaker.ts";

export type OutboxRows = Pick<Outbox, "nextBatch" | "sent" | "retry" | "released">;

interface PublisherOptions extends Pick<Edges, "clock" | "log"> {
  readonly outbox: OutboxRows;
  /** Part of every batch of events. */
  readonly incarnation: string;
  /** `conditions()` has changed. */
  readonly onChange: () => void;
  /** Nothing is sent on this topic for an hour; called once until the broker accepts the topic again. */
  readonly onSetAside?: (topic: string, why: string) => void;
  /** The broker has accepted a message. */
  readonly onTaken?: () => void;
}

/** The state of one session. */
interface Drain {
  readonly session: MqttSession;
  readonly number: number;
  readonly signal: AbortSignal;
  readonly inFlight: Set<Packet>;
  /** Until the outbox was empty once: at most ten packets a second. */
  catchingUp: boolean;
  lastSentAt: Monotonic;
  quota: BackoffEntry | undefined;
}

const CATCH_UP_GAP_MS = 100;
/** The session is aborted if the broker does not answer for this long. */
const ACK_TIMEOUT_MS = 60_000;
const STRIKE_OUT_AGAIN_MS = 10_000;
const QUOTA_EXCEEDED = 0x97;
const QUOTA_BACKOFF = { initial: 1_000, max: 300_000, resetAfter: 600_000 };

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #work = new LatestBox<true>();
  /** Topics that the broker refused, with the reason; tried again after an hour, and kept until the broker accepts them. */
  readonly #denied = new Map<string, string>();
  #suspects: Suspects = new Map();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  conditions(): readonly NodeCondition[] {
    return topicsCondition("PublishDenied", "TopicRefused", this.#denied);
  }

  /** The outbox may have new rows. */
  wake(): void {
    this.#work.put(true);
  }

  /** Publishes until `signal` aborts, which it must do when the session ends; never rejects. */
  async run(session: MqttSession, number: number, signal: AbortSignal): Promise<void> {
    const drain: Drain = {
      session,
      number,
      signal,
      inFlight: new Set(),
      catchingUp: true,
      lastSentAt: Number.NEGATIVE_INFINITY,
      quota: undefined,
    };
    while (!signal.aborted) await this.#step(drain);
    this.#giveBack(() => this.#options.outbox.released());
    const end = await Promise.race([session.ended, Promise.resolve(undefined)]);
    if (end?.by === "broker") this.#blame([...drain.inFlight]);
  }

  async #step(drain: Drain): Promise<void> {
    // Rows are taken when they may leave: a newer report goes before the rest of what has gathered.
    await this.#pace(drain);
    const now = this.#options.clock.monotonic();
    const packets = drain.signal.aborted ? [] : this.#next(drain, now);
    for (const packet of packets) {
      await this.#pace(drain);
      if (drain.signal.aborted) return;
      this.#send(drain, packet);
    }
    if (packets.length === 0) await this.#wait(drain, now);
  }

  #next(drain: Drain, now: Monotonic): readonly Packet[] {
    const isOnProbation = anyOnProbation(this.#suspects, now);
    const window = isOnProbation ? 1 : publishWindow(drain.session.ack);
    const free = window - drain.inFlight.size;
    if (free <= 0 || now < retryAt(drain.quota)) return [];
    const setAside = topicsSetAside(this.#suspects, now);
    const rows = this.#options.outbox.nextBatch(free, setAside, drain.catchingUp);
    const nothingLeft = rows.length === 0 && drain.inFlight.size === 0;
    if (nothingLeft) drain.catchingUp = false;
    const origin = { incarnation: this.#options.incarnation, session: drain.number };
    return packetsOf(rows, origin, drain.session.ack.maximumPacketSize);
  }

  async #pace(drain: Drain): Promise<void> {
    const { clock } = this.#options;
    const gap = drain.lastSentAt + CATCH_UP_GAP_MS - clock.monotonic();
    if (drain.catchingUp && gap > 0) await clock.sleep(gap, drain.signal);
  }

  async #wait(drain: Drain, now: Monotonic): Promise<void> {
    const times = [nextRetry(this.#suspects, now), retryAt(drain.quota)];
    const ahead = times.filter((time) => time !== undefined && time > now);
    if (ahead.length === 0) {
      await this.#work.take(drain.signal);
      return;
    }
    const until = Math.min(...ahead.map(Number));
    using limit = deadline(this.#options.clock, until - now, drain.signal);
    await this.#work.take(limit.signal);
  }

  #send(drain: Drain, packet: Packet): void {
    const { ack } = drain.session;
    const over = excess(packet.message, ack);
    if (over > 0) {
      this.#tooLarge(drain, packet, over);
      return;
    }
    drain.inFlight.add(packet);
    drain.lastSentAt = this.#options.clock.monotonic();
    void this.#deliver(drain, packet);
  }

  /** One event or answer that is too large for this broker must not block the others of its topic. */
  #tooLarge(drain: Drain, packet: Packet, over: number): void {
    const { maximumPacketSize = 0 } = drain.session.ack;
    const why = `is ${over} bytes over the broker's Maximum Packet Size of ${maximumPacketSize}`;
    if (packet.message.retain) {
      this.#deny(packet, why);
      return;
    }
    this.#options.log.warn("a message for the broker is dropped", {
      topic: packet.message.topic,
      why,
    });
    this.#strikeOut(drain, packet.ids);
  }

  /** Never rejects. A message without an answer stays in flight until `run` releases it. */
  async #deliver(drain: Drain, packet: Packet): Promise<void> {
    const { clock, log } = this.#options;
    const { session, signal, inFlight } = drain;
    using _ = clock.after(ACK_TIMEOUT_MS, () => session.abort());
    try {
      const code = await session.publish(allowed(packet.message, session.ack));
      if (signal.aborted) return;
      inFlight.delete(packet);
      this.#answered(drain, packet, code);
    } catch (error) {
      log.debug("publish failed", { topic: packet.message.topic, error: messageOf(error) });
    } finally {
      this.wake();
    }
  }

  #answered(drain: Drain, packet: Packet, code: number): void {
    const { clock, outbox } = this.#options;
    const { topic } = packet.message;
    if (code < 0x80) {
      this.#options.onTaken?.();
      drain.quota = undefined;
      this.#suspects = afterSuccess(this.#suspects, topic);
      if (this.#denied.delete(topic)) this.#options.onChange();
      this.#strikeOut(drain, packet.ids);
      return;
    }
    if (code === QUOTA_EXCEEDED) {
      drain.quota = nextBackoff(drain.quota, clock.monotonic(), QUOTA_BACKOFF);
      for (const id of packet.ids) this.#giveBack(() => outbox.retry(id));
      return;
    }
    this.#deny(packet, `was refused with reason code 0x${code.toString(16)}`);
  }

  /** Removes acknowledged rows; until the disk permits that, newer rows of the topic wait behind them. */
  #strikeOut(drain: Drain, ids: readonly number[]): void {
    const { clock, log, outbox } = this.#options;
    try {
      outbox.sent(ids);
    } catch (error) {
      log.warn("cannot remove acknowledged messages from the outbox; trying again", {
        error: messageOf(error),
      });
      clock.after(STRIKE_OUT_AGAIN_MS, () => {
        if (drain.signal.aborted) return;
        this.#strikeOut(drain, ids);
        this.wake();
      });
    }
  }

  #deny({ message: { topic }, ids }: Packet, why: string): void {
    const { clock, outbox } = this.#options;
    this.#suspects = afterRefusal(this.#suspects, topic, clock.monotonic());
    this.#setAside(topic, why);
    for (const id of ids) this.#giveBack(() => outbox.retry(id));
  }

  /** Where a full disk prevents the removal of superseded rows, they go with the acknowledgement of the newer one. */
  #giveBack(give: () => void): void {
    try {
      give();
    } catch (error) {
      this.#options.log.warn("cannot return unsent messages to the outbox", {
        error: messageOf(error),
      });
    }
  }

  #blame(unanswered: readonly Packet[]): void {
    const now = this.#options.clock.monotonic();
    const topics = [...new Set(unanswered.map(({ message }) => message.topic))];
    const before = topicsSetAside(this.#suspects, now);
    this.#suspects = afterDisconnect(this.#suspects, topics, now);
    for (const topic of topicsSetAside(this.#suspects, now))
      if (!before.includes(topic)) this.#setAside(topic, UNANSWERED);
  }

  #setAside(topic: string, why: string): void {
    const { log, onSetAside } = this.#options;
    log.warn("the broker does not accept a topic; nothing is sent on it for an hour", {
      topic,
      why,
    });
    const isKnown = this.#denied.has(topic);
    this.#denied.set(topic, why);
    if (!isKnown) onSetAside?.(topic, why);
    this.#options.onChange();
  }
}
