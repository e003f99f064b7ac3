// Performs: the runtime's event stream as an interface. Events only speed up reactions; the state comes from a relist.

export type TaskEventType = "Created" | "Started" | "Exited" | "Deleted" | "OOM";

export interface TaskEvent {
  readonly type: TaskEventType;
  /** Of a container or sandbox, also of foreign ones. */
  readonly id: string;
  /** Only of `Exited`, and only if the runtime reports it: the process has ended, even if CRI still shows it running. */
  readonly exit?: TaskExit;
}

export interface TaskExit {
  readonly code: number;
  /** Wall ms; for display only. */
  readonly at: number;
}

export type RuntimeEvent =
  /** From here on no event is missed: list now. May be repeated. */
  { readonly type: "Subscribed" } | TaskEvent;

export interface RuntimeEvents {
  /**
   * One subscription = one stream. The iteration returns when the runtime ended the stream or `signal` aborted, and throws
   * a CriError otherwise. Nothing is replayed: subscribe again, then list. A runtime that hangs leaves the stream open:
   * call `Version` periodically, and abort if there is no answer.
   */
  subscribe(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

/** The same events; an error after `signal` aborted ends them quietly. */
export async function* untilAborted(
  signal: AbortSignal,
  events: AsyncIterable<RuntimeEvent>,
): AsyncGenerator<RuntimeEvent, void, undefined> {
  try {
    yield* events;
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}
