// Performs: sends a page the rows of all nodes and rollouts as server-sent events, and from then on what changes.

import type { ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { PAGE_HEADERS } from "../../server/page/page-route.ts";
import type { FleetView } from "./fleet-view.ts";
import type { Rollouts } from "./rollouts.ts";

export interface StreamOptions {
  readonly clock: Clock;
  readonly view: FleetView;
  readonly rollouts: Pick<Rollouts, "current">;
  /** There is no connection to the broker now: what is shown may be old. */
  readonly isAway: () => boolean;
  /** What does not change while the command runs. */
  readonly about: object;
}

/** Changes of so long go out together. */
const COALESCE_MS = 400;
/** In one event, so that a slow reader is noticed between two. */
const ROWS_AT_ONCE = 500;

/** Until `signal` aborts. */
export async function streamFleet(
  { clock, view, rollouts, about, isAway }: StreamOptions,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const type = { "content-type": "text/event-stream", "cache-control": "no-store" };
  response.writeHead(200, { ...PAGE_HEADERS, ...type });
  response.flushHeaders();
  const send = (data: object): Promise<void> =>
    written(response, `data: ${JSON.stringify(data)}\n\n`, signal);
  await send({ about });
  let rolloutVersion = 0;
  let wasAway = false;
  for (let version = 0; !signal.aborted; await clock.sleep(COALESCE_MS, signal)) {
    if (isAway() !== wasAway) {
      wasAway = !wasAway;
      await send({ isAway: wasAway });
    }
    const counted = rollouts.current();
    if (counted.version !== rolloutVersion) await send({ rollouts: counted.rows });
    rolloutVersion = counted.version;
    const changes = view.since(version);
    if (changes === undefined) continue;
    const { rows, removed, isWhole } = changes;
    let from = 0;
    do {
      const part = rows.slice(from, from + ROWS_AT_ONCE);
      const isFirst = from === 0;
      await send({ isReset: isWhole && isFirst, rows: part, removed: isFirst ? removed : [] });
      from += ROWS_AT_ONCE;
    } while (from < rows.length && !signal.aborted);
    ({ version } = changes);
  }
}

/** Resolves when the reader has taken enough for more to follow. */
async function written(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted || response.write(text)) return;
  const free = Promise.withResolvers<void>();
  const resolve = (): void => free.resolve();
  response.once("drain", resolve);
  signal.addEventListener("abort", resolve, { once: true });
  await free.promise;
  response.off("drain", resolve);
  signal.removeEventListener("abort", resolve);
}
