// Performs: `agent fleet ui`: follows the nodes on the broker and serves the page until Ctrl-C.

import { randomSecret } from "../../lib/random.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { parseTopic, topicFor } from "../../protocol/mqtt-topics.ts";
import { nodeFilters } from "../fleet-topics.ts";
import { knownNode, knownNodes, subscribeNodes } from "../known-nodes.ts";
import { readEvents } from "../node-report.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "../open-broker.ts";
import { FleetView } from "./fleet-view.ts";
import { detailsOf, rowOf, type NodeDetails } from "./node-row.ts";
import { UiServer } from "./ui-server.ts";

export interface UiFlags extends BrokerFlags {
  readonly port: number;
}

export async function fleetUi(parts: FleetParts, flags: UiFlags): Promise<0> {
  const { terminal, random } = parts;
  const { clock } = terminal;
  await using fleet = await openFleet(parts, flags);
  const view = new FleetView();
  using _ = fleet.session.listen(({ topic }) => follow(fleet, view, topic));
  await subscribeNodes(fleet, ["state", "reported"], terminal);
  await fleet.session.subscribeLive(nodeFilters(fleet.root, fleet.file.nodes, ["event"]));
  for (const node of knownNodes(fleet)) view.put(rowOf(node));
  const token = randomSecret(random);
  const details = (name: string): NodeDetails | undefined => lookUp(fleet, name);
  const options = { clock, view, tokenSha256: sha256(token), details };
  await using server = await UiServer.open(options, flags.port);
  terminal.out(`http://127.0.0.1:${server.port}/#token=${token}\n`);
  terminal.err("whoever has this address sees the fleet, until this command ends with Ctrl-C\n");
  await fleet.session.until((): true | undefined => undefined, { signal: terminal.interrupted() });
  return 0;
}

function follow(fleet: Fleet, view: FleetView, topic: string): void {
  const parsed = parseTopic(fleet.root, topic);
  if (parsed?.type !== "NodeState" && parsed?.type !== "NodeReported") return;
  const { node: name } = parsed;
  if (isKnown(fleet, name)) view.put(rowOf(knownNode(fleet, name)));
  else view.remove(name);
}

/** The file names it, or the broker retains something of it. */
function isKnown({ session: { latest }, root, file }: Fleet, node: string): boolean {
  if (file.nodes?.includes(node) === true) return true;
  const types = ["NodeState", "NodeReported"] as const;
  return types.some((type) => latest.has(topicFor({ type, root, node })));
}

function lookUp(fleet: Fleet, node: string): NodeDetails | undefined {
  if (!isKnown(fleet, node)) return undefined;
  const { session, root } = fleet;
  const last = session.latest.get(topicFor({ type: "NodeEvent", root, node }));
  return detailsOf(knownNode(fleet, node), last === undefined ? [] : readEvents(last));
}
