// Performs: RuntimeEvents from CRI's GetContainerEvents, for runtimes other than containerd.

import type { CriClient } from "../cri/cri-client.ts";
import { ContainerEventType, type ContainerEventResponse } from "../cri/gen/runtime/v1/api_pb.ts";
import type { Clock } from "../lib/clock.ts";
import { subscription, type RuntimeEvent, type RuntimeEvents } from "./runtime-events.ts";

/** Longer than any runtime needs to handle a request that it has received. */
const SETTLED_MS = 2000;

interface CriRuntime {
  readonly cri: Pick<CriClient, "getContainerEvents" | "version">;
  readonly clock: Clock;
}

/** If the runtime lacks the call, the iteration throws a CriError with `isUnimplemented` (perhaps after a first `Subscribed`). */
export function criEvents(runtime: CriRuntime): RuntimeEvents {
  return { subscribe: (signal) => subscription(signal, (own) => events(runtime, own)) };
}

// CRI does not acknowledge a subscription. An answer to Version proves the connection, but the runtime may handle it
// before the subscription. So "Subscribed" is emitted again a while later: the list after it finds missed changes.
async function* events(
  { cri, clock }: CriRuntime,
  signal: AbortSignal,
): AsyncGenerator<RuntimeEvent, void> {
  const responses = cri.getContainerEvents({ signal })[Symbol.asyncIterator]();
  try {
    let next = responses.next();
    await Promise.race([next, cri.version({ signal })]);
    yield { type: "Subscribed" };
    const settled = clock.sleep(SETTLED_MS, signal).then(() => "settled" as const);
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
    await responses.return?.();
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
