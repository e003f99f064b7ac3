// Performs: `--wait`: prints how far each node is, until all are done or time is up.

import { formatDuration } from "../../api/resource/duration.ts";
import { topicFor } from "../../protocol/mqtt-topics.ts";
import { CliError } from "../../cli/cli-error.ts";
import { printable } from "../../cli/terminal-text.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { followApply, type Published, type Step } from "./follow-apply.ts";
import { knownNode } from "../known-nodes.ts";
import type { Fleet } from "../open-broker.ts";
import { withoutUndefined } from "../../lib/json.ts";

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
      1,
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
  readonly #topics: { readonly state: string; readonly report: string };
  /** Every message of the fleet triggers a look at every node: unchanged payloads are not parsed again. */
  #seen:
    { readonly state?: Uint8Array; readonly report?: Uint8Array; readonly step: Step } | undefined;

  constructor(name: string, options: WaitOptions) {
    const { root } = options.fleet;
    this.#name = name;
    this.#options = options;
    this.#topics = {
      state: topicFor({ type: "NodeState", root, node: name }),
      report: topicFor({ type: "NodeReported", root, node: name }),
    };
  }

  look(): Step {
    const { fleet, published, terminal } = this.#options;
    const state = fleet.session.latest.get(this.#topics.state);
    const report = fleet.session.latest.get(this.#topics.report);
    const seen = this.#seen;
    if (seen !== undefined && seen.state === state && seen.report === report) return seen.step;
    const known = knownNode(fleet, this.#name);
    const step = followApply(published, known.report, known.state);
    if (seen?.step.line !== step.line)
      terminal.out(`${printable(`${this.#name}: ${step.line}`)}\n`);
    this.#seen = {
      ...withoutUndefined({ state, report }),
      step,
    };
    return step;
  }
}
