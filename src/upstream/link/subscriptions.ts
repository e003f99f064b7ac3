// Performs: subscribes to every topic of the node at every connect and after a burst of messages, follows changes of its
// groups, and finds the one topic that the broker refuses or whose content is too large.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { Alarm } from "../../lib/alarm.ts";
import { deadline, type Monotonic, aborted } from "../../lib/clock.ts";
import type { Edges } from "../../edges.ts";
import { messageOf } from "../../lib/errors.ts";
import { Limiter } from "../../lib/concurrency-limit.ts";
import { LatestBox } from "../../lib/mailbox.ts";
import type { MqttSession, SessionEnd } from "../../mqtt/mqtt-link.ts";
import { afterMessage, subscribeAgainAt, type MessageBurst } from "./message-burst.ts";
import {
  afterDisconnect,
  afterRefusal,
  RETRY_MS,
  topicsCondition,
  topicsSetAside,
  UNANSWERED,
  type Suspects,
} from "./topic-circuit-breaker.ts";

interface SubscriptionsOptions extends Pick<Edges, "clock" | "log"> {
  /** The exact topics, read anew at each connect and after `changed()`. */
  readonly filters: () => readonly string[];
  /** Former topics whose subscriptions the broker may still have; absent = none. */
  readonly unwanted?: () => readonly string[];
  /** `conditions()` has changed. */
  readonly onChange: () => void;
}

const FILTERS_A_PACKET = 8;
const ANSWER_TIMEOUT_MS = 30_000;
/** When subscribing one by one: time for the retained message to arrive after the SUBACK. */
const SETTLE_MS = 1_000;
const PACKET_TOO_LARGE = 0x95;

export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  /** Topics that SUBACK refused, or that were in flight at disconnects, with the reason. */
  readonly #denied = new Map<string, string>();
  readonly #oversized = new Map<string, string>();
  #suspects: Suspects = new Map();
  /** One filter at a time, because the last session ended over one of them. */
  #oneByOne = false;
  #unanswered: readonly string[] = [];
  /** The filter whose retained message may still be arriving; only when subscribing one by one. */
  #settling: string | undefined;
  /** Filters requested in this session. */
  #asked: ReadonlySet<string> = new Set();
  /** Filters that were unsubscribed. */
  readonly #dropped = new Set<string>();
  readonly #changes = new LatestBox<"changed">();
  #burst: MessageBurst | undefined;
  readonly #burstOver: Alarm;
  /** One request to the broker at a time. */
  readonly #turn = new Limiter(1);

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    this.#burstOver = new Alarm(options.clock, () => this.#subscribeAgain());
  }

  conditions(): readonly NodeCondition[] {
    return [
      ...topicsCondition("SubscribeDenied", "TopicRefused", this.#denied),
      ...topicsCondition("OversizedRetained", "PacketTooLarge", this.#oversized),
    ];
  }

  /** Returns when every filter was answered or the session is over. `signal` aborts when the session ends. */
  async subscribeAll(session: MqttSession, signal: AbortSignal): Promise<void> {
    this.#asked = new Set();
    await this.#subscribeWanted(session, signal);
  }

  /** A message has arrived. */
  received(): void {
    this.#burst = afterMessage(this.#burst, this.#options.clock.monotonic());
    this.#burstOver.set(subscribeAgainAt(this.#burst));
  }

  #subscribeAgain(): void {
    const { messages = 0 } = this.#burst ?? {};
    this.#burst = undefined;
    this.#asked = new Set();
    this.#options.log.info(
      "subscribing again, because the broker may have dropped messages of a burst",
      { messages },
    );
    this.changed();
  }

  /** Until `signal` aborts: subscribes to new filters, and once an hour again to those denied or set aside. */
  async follow(session: MqttSession, signal: AbortSignal): Promise<void> {
    await Promise.all([this.#retry(session, signal), this.#followChanges(session, signal)]);
  }

  /** `filters()` or `unwanted()` has changed. */
  changed(): void {
    this.#changes.put("changed");
  }

  async #followChanges(session: MqttSession, signal: AbortSignal): Promise<void> {
    const drop = (): Promise<void> => this.#dropUnwanted(session, signal);
    const subscribe = (): Promise<void> => this.#subscribeWanted(session, signal);
    await this.#turn.run(drop);
    while ((await this.#changes.take(signal)) !== undefined) {
      await this.#turn.run(drop);
      await this.#turn.run(subscribe);
    }
  }

  async #subscribeWanted(session: MqttSession, signal: AbortSignal): Promise<void> {
    const setAside = topicsSetAside(this.#suspects, this.#options.clock.monotonic());
    const wanted = this.#options.filters();
    this.#forgetAllBut(wanted);
    const fresh = wanted.filter((filter) => !this.#asked.has(filter) && !setAside.includes(filter));
    this.#asked = new Set(wanted);
    await this.#ask(session, fresh, signal);
  }

  async #dropUnwanted(session: MqttSession, signal: AbortSignal): Promise<void> {
    const { unwanted, filters } = this.#options;
    const wanted = filters();
    const former = unwanted?.() ?? [];
    for (const filter of this.#dropped)
      if (wanted.includes(filter) || !former.includes(filter)) this.#dropped.delete(filter);
    const left = former.filter((filter) => !wanted.includes(filter) && !this.#dropped.has(filter));
    for (let at = 0; at < left.length && !signal.aborted; at += FILTERS_A_PACKET) {
      const some = left.slice(at, at + FILTERS_A_PACKET);
      const request = session.unsubscribe(some).then(() => true);
      const answer = await this.#answer(request, session, { filters: some, signal });
      if (answer === undefined) return;
      for (const filter of some) this.#dropped.add(filter);
    }
  }

  async #retry(session: MqttSession, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(RETRY_MS, signal);
      const again = new Set([...this.#denied.keys(), ...this.#oversized.keys()]);
      if (again.size === 0 || signal.aborted) continue;
      await this.#turn.run(async () => {
        this.#oneByOne = true;
        await this.#ask(session, [...again], signal);
        this.#oneByOne = false;
      });
    }
  }

  /** Finds the topic that ended the session. */
  ended(end: SessionEnd): void {
    const now = this.#options.clock.monotonic();
    const oversized = end.by === "us" && end.code === PACKET_TOO_LARGE;
    if (oversized && this.#settling !== undefined) this.#blameSize(this.#settling, end, now);
    if (end.by === "broker") this.#blameClose(now);
    this.#oneByOne = oversized || (end.by === "broker" && this.#unanswered.length > 0);
    this.#unanswered = [];
    this.#settling = undefined;
    this.#burst = undefined;
    this.#burstOver.set();
  }

  async #ask(session: MqttSession, filters: readonly string[], signal: AbortSignal): Promise<void> {
    const size = this.#oneByOne ? 1 : FILTERS_A_PACKET;
    for (let at = 0; at < filters.length && !signal.aborted; at += size) {
      const some = filters.slice(at, at + size);
      this.#unanswered = some;
      this.#settling = this.#oneByOne ? some[0] : undefined;
      const request = session.subscribe(some);
      const granted = await this.#answer(request, session, { filters: some, signal });
      if (granted === undefined) return;
      this.#unanswered = [];
      this.#granted(some, granted);
      if (this.#oneByOne) await this.#options.clock.sleep(SETTLE_MS, signal);
    }
    if (!signal.aborted) this.#settling = undefined;
  }

  /** The broker's answer to a request for these filters; undefined = there was none, and the session is over. */
  async #answer<T>(
    request: Promise<T>,
    session: MqttSession,
    { filters, signal }: { readonly filters: readonly string[]; readonly signal: AbortSignal },
  ): Promise<T | undefined> {
    const { clock, log } = this.#options;
    using limit = deadline(clock, ANSWER_TIMEOUT_MS, signal);
    try {
      const answer = await Promise.race([request, aborted(limit.signal)]);
      if (answer === undefined && !signal.aborted) session.abort();
      return answer;
    } catch (error) {
      log.debug("a subscription was not answered", { filters, error: messageOf(error) });
      // The answer does not match the request; if the session is over, abort() does nothing.
      session.abort();
      return undefined;
    }
  }

  #granted(filters: readonly string[], codes: readonly number[]): void {
    let changed = false;
    for (const [index, filter] of filters.entries()) {
      const code = codes[index] ?? 0x80;
      const wasKnown = this.#denied.delete(filter);
      changed = this.#oversized.delete(filter) || wasKnown || changed;
      if (code < 0x80) continue;
      const why = `was refused with SUBACK code 0x${code.toString(16)}`;
      this.#denied.set(filter, why);
      if (!wasKnown) this.#options.log.warn("the broker refused a subscription", { filter, why });
      changed = true;
    }
    if (changed) this.#options.onChange();
  }

  #blameSize(filter: string, end: SessionEnd, now: Monotonic): void {
    this.#suspects = afterRefusal(this.#suspects, filter, now);
    this.#oversized.set(filter, `holds ${end.message}`);
    this.#options.log.warn("a retained message is too large; not subscribing for an hour", {
      filter,
    });
    this.#options.onChange();
  }

  #blameClose(now: Monotonic): void {
    const before = topicsSetAside(this.#suspects, now);
    this.#suspects = afterDisconnect(this.#suspects, this.#unanswered, now);
    for (const filter of topicsSetAside(this.#suspects, now)) {
      if (before.includes(filter)) continue;
      this.#denied.set(filter, UNANSWERED);
      this.#options.log.warn("a subscription ends the connection; not subscribing for an hour", {
        filter,
      });
      this.#options.onChange();
    }
  }

  #forgetAllBut(wanted: readonly string[]): void {
    const kinds = [this.#denied, this.#oversized];
    const gone = kinds.flatMap((known) => [...known.keys()]).filter((one) => !wanted.includes(one));
    for (const filter of gone) for (const known of kinds) known.delete(filter);
    if (gone.length > 0) this.#options.onChange();
  }
}
