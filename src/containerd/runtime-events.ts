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

/**
 * Iterates a stream whose calls end with the signal that `open` gets: it aborts also when the loop is left, because a
 * generator that waits for the server returns only then. An error after `signal` aborted ends the iteration quietly.
 */
export async function* subscription(
  signal: AbortSignal,
  open: (signal: AbortSignal) => AsyncGenerator<RuntimeEvent, void>,
): AsyncGenerator<RuntimeEvent, void> {
  const stop = new AbortController();
  const events = open(AbortSignal.any([signal, stop.signal]));
  try {
    let next = await events.next();
    for (; next.done !== true; next = await events.next()) yield next.value;
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    stop.abort();
    await events.return();
  }
}
