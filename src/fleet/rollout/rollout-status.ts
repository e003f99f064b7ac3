// Performs: `agent fleet rollout status` and `history`.

import { GrowingTable, cellsOf, printable, titlesOf } from "../../cli/terminal-text.ts";
import type { FleetParts } from "../open-broker.ts";
import { atDesk, groupOf, orderOf, presentVersion, viewAtDesk, type RolloutFlags } from "./desk.ts";
import { keptVersions } from "./history.ts";
import { PROGRESS_COLUMNS, progressLine } from "./rollout-text.ts";

export interface StatusFlags extends RolloutFlags {
  readonly watch?: boolean;
}

/** One line on the whole, and one on each node that is not healthy. */
export function rolloutStatus(parts: FleetParts, flags: StatusFlags): Promise<0 | 1> {
  const { terminal } = parts;
  return atDesk(parts, flags, async (desk) => {
    const published = presentVersion(desk);
    const { generation, digest } = published;
    terminal.out(`group ${desk.target.group}, generation ${generation}, ${printable(digest)}\n`);
    const line = (): string =>
      printable(progressLine(viewAtDesk(desk, published), orderOf(desk, published)?.plan));
    let said = line();
    terminal.out(`${said}\n`);
    const signal = terminal.interrupted();
    while (flags.watch === true && !signal.aborted) {
      const changed = (): string | undefined => {
        const now = line();
        return now === said ? undefined : now;
      };
      const next = await desk.fleet.session.until(changed, { signal });
      if (next === undefined) break;
      said = next;
      terminal.out(`${said}\n`);
    }
    const rows = viewAtDesk(desk, published).nodes.filter(({ stage }) => stage !== "Healthy");
    if (rows.length === 0) return 0;
    const view = { isWide: false, now: terminal.clock.now() };
    const table = new GrowingTable(titlesOf(PROGRESS_COLUMNS, false), terminal);
    terminal.out(table.add(rows.map((node) => cellsOf(PROGRESS_COLUMNS, node, view))));
    return 0;
  });
}

/** Needs no broker. */
export function rolloutHistory({ terminal }: FleetParts, flags: RolloutFlags): 0 {
  const group = groupOf(flags);
  const versions = keptVersions(flags.history, group);
  for (const { epoch, generation } of versions)
    terminal.out(printable(`${generation}${epoch === "" ? "" : ` of epoch ${epoch}`}`) + "\n");
  if (versions.length === 0)
    terminal.err(`${printable(flags.history)} has nothing of group ${group}\n`);
  return 0;
}
