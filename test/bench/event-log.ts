// The bench's own clock of what happens in containerd: every event with the time at which it arrived here.

import { GrpcChannel } from "../../src/cri/grpc-connection.ts";
import { Events } from "../../src/containerd/gen/containerd/services/events/v1/events_pb.ts";
import type { Envelope } from "../../src/containerd/gen/containerd/types/types_pb.ts";
import { CRI_NAMESPACE, CRI_NAMESPACE_HEADERS } from "../../src/containerd/containerd.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { stringFields } from "./wire.ts";

/** Sandboxes have a container of their own; it is told apart by its image. */
export type EventKind = "made" | "started" | "exited" | "deleted";

export interface LoggedEvent {
  readonly kind: EventKind;
  readonly id: string;
  /** performance.now() of its arrival. */
  readonly at: number;
  readonly sandbox: boolean;
  /** Of the first process; 0 unless `started`. */
  readonly pid: number;
}

const MARKER = "/bench/subscribed";
const KINDS: Readonly<Record<string, EventKind>> = {
  "/containers/create": "made",
  "/tasks/start": "started",
  "/tasks/exit": "exited",
  "/containers/delete": "deleted",
};

export class EventLog implements Disposable {
  readonly events: LoggedEvent[] = [];
  readonly #stop = new AbortController();
  readonly #channel: GrpcChannel;
  readonly #sandboxImage: string;
  readonly #sandboxes = new Set<string>();
  readonly #waiting = new Set<() => void>();
  #subscribed = false;

  private constructor(options: EventLogOptions) {
    this.#channel = new GrpcChannel(options);
    this.#sandboxImage = options.sandboxImage;
  }

  /** Subscribed when it resolves: a marker is published until it comes back. */
  static async start(options: EventLogOptions): Promise<EventLog> {
    const log = new EventLog(options);
    void log.#read();
    const end = performance.now() + 10_000;
    while (!log.#subscribed) {
      if (performance.now() > end) throw new Error("containerd's event stream told nothing");
      const marker = { topic: MARKER, event: { typeUrl: "google.protobuf.Empty" } };
      await log.#channel.unary(Events.method.publish, marker, { headers: CRI_NAMESPACE_HEADERS });
      await Bun.sleep(5);
    }
    return log;
  }

  /** A place in the log: what comes later is found with it. */
  mark(): number {
    return this.events.length;
  }

  since(mark: number, kind: EventKind): readonly LoggedEvent[] {
    return this.events.slice(mark).filter((event) => event.kind === kind);
  }

  /** App containers, not sandboxes. */
  appsSince(mark: number, kind: EventKind): readonly LoggedEvent[] {
    return this.since(mark, kind).filter(({ sandbox }) => !sandbox);
  }

  sandboxesSince(mark: number, kind: EventKind): readonly LoggedEvent[] {
    return this.since(mark, kind).filter(({ sandbox }) => sandbox);
  }

  /** Waits until `look` gives a value; it looks again after each event. */
  async until<T>(what: string, look: () => T | undefined, timeout = 60_000): Promise<T> {
    const found = Promise.withResolvers<T>();
    const check = (): void => {
      const value = look();
      if (value !== undefined) found.resolve(value);
    };
    const timer = setTimeout(
      () => found.reject(new Error(`not within ${timeout / 1000} s: ${what}`)),
      timeout,
    );
    this.#waiting.add(check);
    check();
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(check);
    }
  }

  /** The last of `count` app containers that start after `mark`. */
  async lastStart(mark: number, count: number): Promise<LoggedEvent> {
    return this.until(`${count} containers have started`, () =>
      this.appsSince(mark, "started").at(count - 1),
    );
  }

  /** When `count` pods have lost their containers and, last, their sandboxes. */
  async lastGone(mark: number, count: number): Promise<number> {
    const last = await this.until(`${count} sandboxes are gone`, () =>
      this.sandboxesSince(mark, "deleted").at(count - 1),
    );
    return last.at;
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.#channel[Symbol.dispose]();
  }

  async #read(): Promise<void> {
    const filters = Object.keys(KINDS).map(
      (topic) => `namespace==${CRI_NAMESPACE},topic=="${topic}"`,
    );
    const request = { filters: [...filters, `namespace==${CRI_NAMESPACE},topic=="${MARKER}"`] };
    const settings = { signal: this.#stop.signal };
    try {
      for await (const envelope of this.#channel.stream(Events.method.subscribe, request, settings))
        this.#add(envelope);
    } catch (thrown) {
      if (!this.#stop.signal.aborted) throw thrown;
    }
  }

  #add(envelope: Envelope): void {
    const at = performance.now();
    if (envelope.topic === MARKER) this.#subscribed = true;
    const kind = KINDS[envelope.topic];
    if (kind === undefined) return;
    const { strings, numbers } = stringFields(envelope.event?.value ?? new Uint8Array());
    const id = strings.get(1) ?? "";
    // The end of an exec names the process in field 2.
    if (kind === "exited" && strings.get(2) !== id) return;
    if (kind === "made" && strings.get(2)?.endsWith(this.#sandboxImage) === true)
      this.#sandboxes.add(id);
    const pid = kind === "started" ? (numbers.get(2) ?? 0) : 0;
    this.events.push({ kind, id, at, sandbox: this.#sandboxes.has(id), pid });
    for (const check of this.#waiting) check();
  }
}

export interface EventLogOptions {
  readonly endpoint: string;
  readonly clock: Clock;
  /** `local/pause:1`; containerd puts a registry in front of it. */
  readonly sandboxImage: string;
}
