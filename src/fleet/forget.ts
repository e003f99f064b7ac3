// Performs: `agent fleet forget`: clears what a node that is gone has left on the broker.

import { isTopicName, parseTopic, topicFor } from "../protocol/mqtt-topics.ts";
import { CliError } from "../cli/exit-codes.ts";
import { printable } from "../cli/terminal-text.ts";
import { isConfirmed, type Terminal } from "../cli/process-io.ts";
import { named, nodeFilters } from "./fleet-topics.ts";
import { knownNode } from "./known-nodes.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "./open-broker.ts";

export interface ForgetFlags extends BrokerFlags {
  readonly yes?: boolean;
  readonly force?: boolean;
}

const NOTHING = new Uint8Array();

/** The exit code: 1 when nothing was cleared because the question was not answered with yes. */
export async function forget(parts: FleetParts, node: string, flags: ForgetFlags): Promise<0 | 1> {
  const { terminal } = parts;
  named(node);
  await using fleet = await openFleet(parts, flags);
  const topics = await topicsOf(fleet, node);
  if (topics.length === 0) throw new CliError(`the broker holds nothing of node ${node}`);
  const { state } = knownNode(fleet, node);
  if (state?.state === "online" && flags.force !== true)
    throw new CliError(`node ${node} is online; stop its agent first, or add --force`);
  if (flags.yes !== true && !(await isMeant(terminal, topics))) {
    terminal.err("nothing was cleared; add --yes if it is meant\n");
    return 1;
  }
  for (const topic of topics) await fleet.session.publish(topic, NOTHING, true);
  terminal.out(`node ${node} is forgotten: ${topics.length} topics cleared\n`);
  return 0;
}

async function isMeant(terminal: Terminal, topics: readonly string[]): Promise<boolean> {
  const list = topics.map((topic) => `  ${printable(topic)}\n`).join("");
  terminal.out(`these topics would be cleared:\n${list}`);
  return terminal.isInteractive && (await isConfirmed(terminal, "Type yes to clear them: "));
}

/** Those that hold something. Pods are found by wildcard, and by the node's own list where there is none. */
async function topicsOf(fleet: Fleet, node: string): Promise<readonly string[]> {
  const { session, root } = fleet;
  await session.subscribe(nodeFilters(root, [node], ["state", "reported", "desired"]));
  const listed = (knownNode(fleet, node).report?.pods ?? []).flatMap(({ namespace, name }) =>
    isTopicName(namespace) && isTopicName(name)
      ? [topicFor({ type: "PodReported", root, node, namespace, pod: name })]
      : [],
  );
  // Some brokers refuse wildcards: then the list must do.
  await session.subscribeWhatMay([`${root}/node/${node}/reported/pod/+/+`]);
  const missing = listed.filter((topic) => !session.latest.has(topic));
  if (missing.length > 0) await session.subscribe(missing);
  const topics = [...session.latest.keys()].filter((topic) => {
    const parsed = parseTopic(root, topic);
    return parsed !== undefined && "node" in parsed && parsed.node === node;
  });
  return topics.toSorted();
}
