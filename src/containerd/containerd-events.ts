// Performs: RuntimeEvents from containerd's own event stream: complete, within a millisecond, on every version.

import type { GrpcChannel } from "../cri/grpc-connection.ts";
import type { Clock } from "../lib/clock.ts";
import { Events } from "./gen/containerd/services/events/v1/events_pb.ts";
import type { Envelope } from "./gen/containerd/types/types_pb.ts";
import { CRI_NAMESPACE, CRI_NAMESPACE_HEADERS } from "./containerd.ts";
import { subscription, type RuntimeEvent, type RuntimeEvents } from "./runtime-events.ts";
import { taskEvent } from "./task-event.ts";

const MARKER_TOPIC = "/agent/subscribed";
const MARKER = { topic: MARKER_TOPIC, event: { typeUrl: "google.protobuf.Empty" } };
const PUBLISH_MS = 10_000;
const FIRST_WAIT_MS = 1;
const MAX_WAIT_MS = 1000;

// An event passes if any filter matches.
const FILTERS = [
  `namespace==${CRI_NAMESPACE},topic~="^/tasks/(create|start|exit|delete|oom)$"`,
  `namespace==${CRI_NAMESPACE},topic=="${MARKER_TOPIC}"`,
];

interface Containerd {
  readonly channel: GrpcChannel;
  readonly clock: Clock;
}

export function containerdEvents(containerd: Containerd): RuntimeEvents {
  return { subscribe: (signal) => subscription(signal, (own) => events(containerd, own)) };
}

async function* events(
  containerd: Containerd,
  signal: AbortSignal,
): AsyncGenerator<RuntimeEvent, void> {
  const filters = { filters: FILTERS };
  const envelopes = containerd.channel.stream(Events.method.subscribe, filters, { signal });
  try {
    const first = envelopes.next();
    await provoke(containerd, first, signal);
    let next = await first;
    if (next.done !== true) yield { type: "Subscribed" };
    for (; next.done !== true; next = await envelopes.next()) {
      const event = taskEvent(next.value);
      if (event !== undefined) yield event;
    }
  } finally {
    await envelopes.return();
  }
}

// containerd does not acknowledge a subscription, and the answer to a later call on the same connection proves nothing:
// it handles both concurrently (482 of 500 events published right after a subscription were lost). So a marker event
// that the filter accepts is published repeatedly until any event arrives: from then on the subscription is active.
async function provoke(
  { channel, clock }: Containerd,
  first: Promise<IteratorResult<Envelope, void>>,
  signal: AbortSignal,
): Promise<void> {
  const arrived = new AbortController();
  const settle = (): void => arrived.abort();
  first.then(settle, settle);
  let wait = FIRST_WAIT_MS;
  while (!arrived.signal.aborted) {
    await channel.unary(Events.method.publish, MARKER, {
      signal,
      timeoutMs: PUBLISH_MS,
      headers: CRI_NAMESPACE_HEADERS,
    });
    await clock.sleep(wait, arrived.signal);
    wait = Math.min(wait * 2, MAX_WAIT_MS);
  }
}
