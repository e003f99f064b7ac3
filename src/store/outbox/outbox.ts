// Performs: messages that the broker has not acknowledged yet. State topics: one row each, the newest wins. Events: a
// ring.

import type { Database, Query } from "../sqlite/database.ts";
import { Table } from "../sqlite/table.ts";
import { EventRing, type EventCaps } from "./event-ring.ts";
import type { Meta } from "../meta.ts";
import { sha256 } from "../../lib/system-sha256.ts";

/** Topics of which only the newest message matters. */
type TopicKind = "state" | "reported" | "pod";

export interface OutboxMessage {
  readonly kind: TopicKind;
  readonly topic: string;
  /** Empty = clear the retained message. */
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** Equal content is not written again; default: the payload. For messages that contain a time or a counter. */
  readonly content?: string;
  /** Send it even if the broker acknowledged the same content; such a repetition is kept in memory only. */
  readonly refresh?: boolean;
}

/** One thing to publish. Consecutive events may share a message; `id` is then the event's number `n`. */
export interface OutboxRow {
  readonly id: number;
  readonly kind: TopicKind | "event" | "response";
  readonly topic: string;
  /** Of an event: the JSON object of one event without its number, which is `id`. */
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** MQTT 5's Correlation Data, of a response. */
  readonly correlation?: Uint8Array;
}

/** What the broker acknowledged last on a topic. */
type PublishedRow = Pick<Row, "topic" | "kind" | "content">;

interface OutboxOptions {
  readonly database: Database;
  readonly meta: Meta;
  /** Default: 5,000 of each. */
  readonly caps?: EventCaps;
}

interface Row extends Omit<OutboxRow, "retain" | "correlation"> {
  readonly rank: number;
  readonly retain: 0 | 1;
  readonly content: string;
  readonly correlation?: Uint8Array | null;
}

/** Order of sending: state, reported, Warning events, rest. */
const RANK: Readonly<Record<TopicKind, number>> = { state: 0, reported: 1, pod: 3 };
/** Rows of which a topic needs only the newest; the index outbox_by_topic covers the first condition. */
const OF_TOPIC = "kind <> 'event' AND kind <> 'response'";

export class Outbox {
  readonly #database: Database;
  readonly events: EventRing;
  readonly #inFlight = new Map<number, Row>();
  /** Refreshes by topic; their ids are negative. */
  readonly #refreshes = new Map<string, Row>();
  #lastRefresh = 0;
  readonly #rowsOfTopic: Query<[string], Row>;
  readonly #insert: Query<[number, string, string, Uint8Array, number, number, string], unknown>;
  readonly #replace: Query<[Uint8Array, number, number, string, number], unknown>;
  readonly #delete: Query<[number], unknown>;
  readonly #deleteUpTo: Query<[string, number], unknown>;
  readonly #next: Query<[string, string, string, number], Row>;
  readonly #superseded: Query<[string, string], unknown>;
  readonly #published: Table<PublishedRow, "topic">;
  readonly #topics: Query<[string, string], { readonly topic: string }>;
  readonly #size: Query<[], { readonly size: number }>;

  constructor(options: OutboxOptions) {
    const { database } = options;
    this.#database = database;
    this.events = new EventRing(options);
    this.#rowsOfTopic = database.query(
      `SELECT * FROM outbox WHERE topic = ? AND ${OF_TOPIC} ORDER BY id`,
    );
    this.#insert = database.query(
      "INSERT INTO outbox (rank, kind, topic, payload, qos, retain, content) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#replace = database.query(
      "UPDATE outbox SET payload = ?, qos = ?, retain = ?, content = ? WHERE id = ?",
    );
    this.#delete = database.query("DELETE FROM outbox WHERE id = ?");
    this.#deleteUpTo = database.query(
      `DELETE FROM outbox WHERE topic = ? AND ${OF_TOPIC} AND id <= ?`,
    );
    // A full disk may keep rows that a newer one of their topic supersedes: they are never sent.
    this.#next = database.query(
      `SELECT * FROM outbox AS row WHERE id NOT IN (SELECT value FROM json_each(?))
         AND (kind IN ('event', 'response') OR topic NOT IN (SELECT value FROM json_each(?))
           AND id = (SELECT max(id) FROM outbox WHERE topic = row.topic AND ${OF_TOPIC}))
         AND topic NOT IN (SELECT value FROM json_each(?))
       ORDER BY rank, id LIMIT ?`,
    );
    this.#superseded = database.query(
      `DELETE FROM outbox WHERE topic = ? AND ${OF_TOPIC}
         AND id < (SELECT max(id) FROM outbox WHERE topic = ? AND ${OF_TOPIC})`,
    );
    this.#size = database.query("SELECT count(*) AS size FROM outbox");
    const values = ["kind", "content"] as const;
    this.#published = new Table(database, "published", { key: ["topic"], values });
    this.#topics = database.query(
      "SELECT topic FROM published WHERE kind = ? UNION SELECT topic FROM outbox WHERE kind = ? ORDER BY topic",
    );
    // Left by the last process: nothing is in flight yet.
    const topics = database.query<[], { readonly topic: string }>(
      `SELECT topic FROM outbox WHERE ${OF_TOPIC} GROUP BY topic HAVING count(*) > 1`,
    );
    this.#dropSuperseded(topics.all().map(({ topic }) => topic));
  }

  /** How many messages wait for the broker. */
  get size(): number {
    return this.#size.all()[0]?.size ?? 0;
  }

  /**
   * Keeps the newest message of its topic; true when there is something new to send. Nothing is written when the same
   * content already waits, or was acknowledged last.
   */
  put(message: OutboxMessage): boolean {
    const { topic, payload } = message;
    const content = contentOf(message);
    const rows = this.#rowsOfTopic.all(topic);
    const last = rows.at(-1);
    const waiting = last !== undefined && this.#inFlight.has(last.id) ? undefined : last;
    const newest = last ?? this.#refreshInFlight(topic);
    if (newest !== undefined) {
      if (newest.content === content) return false;
      return this.#write(message, content, waiting);
    }
    const published = this.#published.get({ topic })?.content;
    if (published === content) return message.refresh === true && this.#refresh(message, content);
    // Nothing was ever published on this topic, so nothing to clear.
    if (published === undefined && payload.length === 0) return false;
    return this.#write(message, content, undefined);
  }

  #write(message: OutboxMessage, content: string, waiting: Row | undefined): true {
    const { kind, topic, payload, qos } = message;
    const retain = message.retain ? 1 : 0;
    this.#database.transaction(() => {
      if (waiting !== undefined) this.#replace.run(payload, qos, retain, content, waiting.id);
      else this.#insert.run(RANK[kind], kind, topic, payload, qos, retain, content);
    });
    this.#refreshes.delete(topic);
    return true;
  }

  #refresh(message: OutboxMessage, content: string): true {
    const { kind, topic } = message;
    this.#lastRefresh -= 1;
    const rank = RANK[kind];
    const retain = message.retain ? 1 : 0;
    this.#refreshes.set(topic, { ...message, id: this.#lastRefresh, rank, retain, content });
    return true;
  }

  #refreshInFlight(topic: string): Row | undefined {
    return this.#inFlightRows().find((row) => row.id < 0 && row.topic === topic);
  }

  /** At most `limit` rows to publish now, of other topics than `setAside`; they are in flight until `sent`, `retry` or
   * `released`. `ofOneTopic`: only as many as have the topic of the first. */
  nextBatch(
    limit: number,
    setAside: readonly string[] = [],
    ofOneTopic = false,
  ): readonly OutboxRow[] {
    if (limit <= 0) return [];
    const flying = this.#inFlightRows();
    const topics = flying.filter(isOfTopic).map(({ topic }) => topic);
    const stored = this.#next.all(
      JSON.stringify(flying.map(({ id }) => id)),
      JSON.stringify(topics),
      JSON.stringify(setAside),
      limit,
    );
    const refreshes = [...this.#refreshes.values()].filter(
      ({ topic }) => !topics.includes(topic) && !setAside.includes(topic),
    );
    const sorted = [...stored, ...refreshes].toSorted((a, b) => a.rank - b.rank).slice(0, limit);
    const other = ofOneTopic ? sorted.findIndex(({ topic }) => topic !== sorted[0]?.topic) : -1;
    const batch = other < 0 ? sorted : sorted.slice(0, other);
    for (const row of batch) {
      this.#inFlight.set(row.id, row);
      if (row.id < 0) this.#refreshes.delete(row.topic);
    }
    return batch.map(published);
  }

  /** The broker has acknowledged them. One transaction for all; an id that is not in flight is ignored. */
  sent(ids: readonly number[]): void {
    const rows = [...new Set(ids)].flatMap((id) => this.#inFlight.get(id) ?? []);
    const stored = rows.filter(({ id }) => id > 0);
    if (stored.length > 0) {
      const gone = this.#database.transaction(() => stored.filter((row) => this.#acknowledge(row)));
      for (const row of gone) if (row.kind === "event") this.events.acknowledged(row.rank);
    }
    for (const { id } of rows) this.#inFlight.delete(id);
  }

  /** False when the ring dropped the row meanwhile. */
  #acknowledge(row: Row): boolean {
    if (!isOfTopic(row)) return this.#delete.run(row.id) > 0;
    const wasThere = this.#deleteUpTo.run(row.topic, row.id) > 0;
    if (row.payload.length === 0) this.#published.remove(row);
    else this.#published.put(row);
    return wasThere;
  }

  /** The broker did not take it; it may be sent again. */
  retry(id: number): void {
    const row = this.#inFlight.get(id);
    if (row === undefined) return;
    this.#inFlight.delete(id);
    this.#takeBack(row);
    this.#dropSuperseded([row.topic]);
  }

  /** After a disconnect: nothing is in flight, everything unacknowledged is sent again. */
  released(): void {
    const rows = this.#inFlightRows();
    this.#inFlight.clear();
    for (const row of rows) this.#takeBack(row);
    this.#dropSuperseded(rows.map(({ topic }) => topic));
  }

  #takeBack(row: Row): void {
    const newer = this.#refreshes.has(row.topic) || this.#rowsOfTopic.get(row.topic) !== undefined;
    if (row.id < 0 && !newer) this.#refreshes.set(row.topic, row);
  }

  /** Topics of this kind with a retained message at the broker, or soon: to be cleared when their pod is gone. */
  topics(kind: TopicKind): readonly string[] {
    return this.#topics.all(kind, kind).map(({ topic }) => topic);
  }

  #inFlightRows(): readonly Row[] {
    return [...this.#inFlight.values()];
  }

  /** Deletes rows that were kept only because they were in flight while a newer one was added. */
  #dropSuperseded(topics: readonly string[]): void {
    if (topics.length === 0) return;
    this.#database.transaction(() => {
      for (const topic of topics) this.#superseded.run(topic, topic);
    });
  }
}

function contentOf({ payload, content }: OutboxMessage): string {
  return payload.length === 0 ? "" : (content ?? sha256(payload));
}

function isOfTopic({ kind }: Row): boolean {
  return kind !== "event" && kind !== "response";
}

function published({ id, kind, topic, payload, qos, retain, correlation }: Row): OutboxRow {
  const row = { id, kind, topic, payload, qos, retain: retain === 1 };
  return correlation === undefined || correlation === null ? row : { ...row, correlation };
}
