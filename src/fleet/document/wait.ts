// Performs: `agent fleet apply --wait`: prints how far each node is with the document, until all are done or time is up.

import { formatDuration } from "../../api/resource/duration.ts";
import { CliError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { knownNode, retainedOf, type RetainedNode } from "../known-nodes.ts";
import type { Fleet } from "../open-broker.ts";
import { followApply, type Published, type Step } from "./apply-progress.ts";

export interface WaitOptions {
  readonly fleet: Fleet;
  readonly terminal: Terminal;
  readonly published: Published;
  readonly names: readonly string[];
  /** Ms. */
  readonly timeout: number;
}

/** The exit code: 0 only when every node is Healthy. */
export async function waitForNodes(options: WaitOptions): Promise<0 | 1> {
  const { fleet, terminal, names, timeout } = options;
  if (names.length === 0)
    throw new CliError(
      "no node is known to be in this group, so there is nothing to wait for; name its members in fleet.yaml",
    );
  const watched = names.map((name) => new WatchedNode(name, options));
  const look = (): readonly Step[] | undefined => {
    const steps = watched.map((node) => node.look());
    return steps.every(({ outcome }) => outcome !== "Waiting") ? steps : undefined;
  };
  const signal = terminal.interrupted();
  const steps = await fleet.session.until(look, { ms: timeout, signal });
  if (steps !== undefined) return steps.every(({ outcome }) => outcome === "Healthy") ? 0 : 1;
  const why = signal.aborted ? "interrupted" : `not done within ${formatDuration(timeout)}`;
  terminal.err(`${why}; the published document stays in effect\n`);
  return 1;
}

/** Prints one line for each change of the node's progress. */
class WatchedNode {
  readonly #name: string;
  readonly #options: WaitOptions;
  /** Every message of the fleet triggers a look at every node: unchanged payloads are not parsed again. */
  #seen: (RetainedNode & { readonly step: Step }) | undefined;

  constructor(name: string, options: WaitOptions) {
    this.#name = name;
    this.#options = options;
  }

  look(): Step {
    const { fleet, published, terminal } = this.#options;
    const now = retainedOf(fleet, this.#name);
    const seen = this.#seen;
    if (seen !== undefined && seen.state === now.state && seen.report === now.report)
      return seen.step;
    const known = knownNode(fleet, this.#name);
    const step = followApply(published, known.report, known.state);
    if (seen?.step.line !== step.line)
      terminal.out(`${printable(`${this.#name}: ${step.line}`)}\n`);
    this.#seen = { ...now, step };
    return step;
  }
}
