// What the publisher needs of the outbox; store/outbox is one.

export interface OutboxRow {
  readonly id: number;
  readonly kind: "state" | "reported" | "pod" | "event" | "response";
  readonly topic: string;
  /** Of an event: the JSON object of one event without its number, which is `id`. */
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** MQTT 5's Correlation Data, of a response. */
  readonly correlation?: Uint8Array;
}

export interface OutboxRows {
  /** At most `limit` rows in the order of sending; they are in flight until `sentAll`, `retry` or `released`. */
  nextBatch(limit: number): readonly OutboxRow[];
  /** The broker has them. */
  sentAll(ids: readonly number[]): void;
  /** It was not taken, and may be sent again. */
  retry(id: number): void;
  /** The connection is gone: nothing is in flight any more. */
  released(): void;
  /** Nothing more on this topic until `readmit`. */
  setAside(topic: string): void;
  /** Everything that was set aside may be tried again. */
  readmit(): void;
}
