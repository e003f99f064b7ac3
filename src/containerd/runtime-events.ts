// Performs: the fast signal that something happened in the runtime. A hint, never the truth (DESIGN: law 4).

export type TaskEventType = "Created" | "Started" | "Exited" | "Deleted" | "OOM";

export interface TaskEvent {
  readonly type: TaskEventType;
  /** A container's or a sandbox's; foreign ones are among them. */
  readonly id: string;
  /** Only of `Exited`, and only where the runtime says it: the process has ended, whatever CRI still shows. */
  readonly exit?: TaskExit;
}

export interface TaskExit {
  readonly code: number;
  /** Wall ms; for showing only. */
  readonly at: number;
}

export type RuntimeEvent =
  /** From here on nothing is missed: list now. May come more than once. */
  { readonly type: "Subscribed" } | TaskEvent;

export interface RuntimeEvents {
  /**
   * One subscription = one stream. The iteration ends with the stream: quietly when the runtime ended
   * it or `signal` aborted, with a CriError otherwise. Nothing is replayed: subscribe again, then list.
   * A runtime that hangs leaves the stream silently open: ask `Version` now and then, abort on no answer.
   */
  subscribe(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}
