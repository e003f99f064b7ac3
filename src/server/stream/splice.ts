// Performs: joins two connections: each gets what the other sends, with back-pressure, until either is gone.

import type { Duplex } from "node:stream";
import { Alarm } from "../../lib/alarm.ts";
import type { Clock } from "../../lib/clock.ts";

/** A client that has ended its connection waits for no more; the runtime closes as soon as the end reaches it. */
const LEAVE_MS = 10_000;

/**
 * `inner` ends: `outer` still gets what is on the way, and what it sends is dropped, so that its last bytes are not lost
 * to a reset. `outer` ends: `inner` is closed. Resolves when both are.
 */
export async function splice(outer: Duplex, inner: Duplex, clock: Clock): Promise<void> {
  const closed = [closing(outer), closing(inner)];
  using leave = new Alarm(clock, () => {
    inner.destroy();
    outer.destroy();
  });
  const innerEnded = (): void => {
    outer.unpipe(inner);
    outer.resume();
    outer.end();
    inner.destroy();
  };
  outer.on("error", () => outer.destroy());
  inner.on("error", () => inner.destroy());
  inner.once("end", innerEnded);
  inner.once("close", innerEnded);
  outer.once("end", () => leave.after(LEAVE_MS));
  outer.once("close", () => inner.destroy());
  outer.pipe(inner);
  inner.pipe(outer);
  await Promise.all(closed);
}

function closing(socket: Duplex): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => void socket.once("close", () => resolve()));
}
