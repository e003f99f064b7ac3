// Performs: runtimeEvents from CRI's GetContainerEvents, for runtimes that are not containerd.

import type { RuntimeServiceClient } from "../cri/cri-client.ts";
import { ContainerEventType, type ContainerEventResponse } from "../cri/gen/runtime/v1/api_pb.ts";
import type { Clock } from "../lib/clock.ts";
import type { RuntimeEvent, RuntimeEvents } from "./runtime-events.ts";

/** Longer than any runtime takes to act on a request that it has already received. */
const SETTLED_MS = 2000;

export interface CriEventsOptions {
  readonly cri: Pick<RuntimeServiceClient, "getContainerEvents" | "version">;
  readonly clock: Clock;
}

/** Where the runtime lacks the call, the iteration throws a CriError with `isUnimplemented` (perhaps behind a first `Subscribed`). */
export class CriEvents implements RuntimeEvents {
  readonly #cri: CriEventsOptions["cri"];
  readonly #clock: Clock;

  constructor(options: CriEventsOptions) {
    this.#cri = options.cri;
    this.#clock = options.clock;
  }

  async *subscribe(signal: AbortSignal): AsyncGenerator<RuntimeEvent, void, undefined> {
    try {
      yield* this.#events(signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  // CRI has no word for "subscribed". Version's answer shows that the connection stands, but the
  // runtime may handle it before the subscription: so "Subscribed" is said again a while later,
  // and the list that follows it finds what fell between.
  async *#events(signal: AbortSignal): AsyncGenerator<RuntimeEvent, void, undefined> {
    // A generator that waits for the server only returns when its call has been cancelled.
    const stop = new AbortController();
    const options = { signal: AbortSignal.any([signal, stop.signal]) };
    const responses = this.#cri.getContainerEvents(options)[Symbol.asyncIterator]();
    try {
      let next = responses.next();
      await Promise.race([next, this.#cri.version(options)]);
      yield { type: "Subscribed" };
      const settled = this.#clock.sleep(SETTLED_MS, stop.signal).then(() => "settled" as const);
      let waiting: Promise<"settled"> | undefined = settled;
      for (;;) {
        const answer = await Promise.race(waiting === undefined ? [next] : [next, waiting]);
        if (answer === "settled") {
          waiting = undefined;
          yield { type: "Subscribed" };
          continue;
        }
        if (answer.done === true) return;
        const event = runtimeEvent(answer.value);
        if (event !== undefined) yield event;
        next = responses.next();
      }
    } finally {
      stop.abort();
      await responses.return?.();
    }
  }
}

function runtimeEvent(response: ContainerEventResponse): RuntimeEvent | undefined {
  const id = response.containerId;
  switch (response.containerEventType) {
    case ContainerEventType.CONTAINER_CREATED_EVENT:
      return { type: "Created", id };
    case ContainerEventType.CONTAINER_STARTED_EVENT:
      return { type: "Started", id };
    case ContainerEventType.CONTAINER_STOPPED_EVENT:
      return { type: "Exited", id };
    case ContainerEventType.CONTAINER_DELETED_EVENT:
      return { type: "Deleted", id };
  }
  return undefined;
}
