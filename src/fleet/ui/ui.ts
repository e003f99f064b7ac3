// Performs: `agent fleet ui`: follows nodes and rollouts on the broker and serves the page until Ctrl-C; with a key it changes
// rollouts and reads logs.

import { X509Certificate } from "node:crypto";
import { networkInterfaces } from "node:os";
import { UsageError } from "../../cli/exit-codes.ts";
import { readNamedFile } from "../../cli/read-file.ts";
import { printable } from "../../cli/terminal-text.ts";
import { messageOf } from "../../lib/errors.ts";
import { randomSecret } from "../../lib/random.ts";
import { isSha256Of, sha256 } from "../../lib/system-sha256.ts";
import { isIP } from "../../server/secure/server-names.ts";
import { parseTopic, topicFor } from "../../protocol/mqtt-topics.ts";
import { nodeFilters } from "../fleet-topics.ts";
import type { ReaderAddress } from "../http/reader-request.ts";
import { tokenOfFile } from "../http/token-file.ts";
import { knownNode, knownNodes, subscribeNodes } from "../known-nodes.ts";
import { readEvents } from "../node-report.ts";
import { KeptConnection } from "../kept-connection.ts";
import { openFleet, type Fleet, type FleetParts } from "../open-broker.ts";
import { readSigner } from "../trust/signing-keys.ts";
import { aboutPage } from "./about-page.ts";
import { FleetView } from "./fleet-view.ts";
import type { Door } from "./judge-request.ts";
import { NodeLogs } from "./node-logs.ts";
import { detailsOf, rowOf } from "./node-row.ts";
import { isOwnHost, pageAddress, printedAddress, type AddressFlags } from "./page-address.ts";
import { PageSessions } from "./page-sessions.ts";
import { RecentEvents } from "./recent-events.ts";
import { RolloutActions, type ActionFlags } from "./rollout-actions.ts";
import { Rollouts } from "./rollouts.ts";
import { UiServer, type PageWork, type UiServerOptions } from "./ui-server.ts";

export type UiFlags = ActionFlags & AddressFlags;

/** Throws UsageError for what was written wrong, CliError when the first connection to the broker fails. */
export async function fleetUi(parts: FleetParts, flags: UiFlags): Promise<0> {
  const { terminal, random } = parts;
  const { clock } = terminal;
  const address = pageAddress(flags);
  const tls = readTls(flags);
  const fixed = flags.tokenFile === undefined ? undefined : tokenOfFile(flags.tokenFile);
  const token = fixed ?? randomSecret(random);
  const signers = (flags.key ?? []).map(readSigner);
  const view = new FleetView();
  const events = new RecentEvents();
  /** This connection or, while there is none, the last. */
  let shown: Fleet | undefined;
  const signal = terminal.interrupted();
  await using connection: KeptConnection = new KeptConnection(
    terminal,
    () => openFleet(parts, flags),
    async (fleet) => {
      fleet.session.listen(({ topic, payload }) => follow({ fleet, view, events }, topic, payload));
      await subscribeNodes(fleet, ["state", "reported"], terminal);
      await fleet.session.subscribeLive(nodeFilters(fleet.root, fleet.file.nodes, ["event"]));
      shown = fleet;
      view.keep(knownNodes(fleet).map(rowOf));
      await rollouts.follow(fleet, (why) =>
        terminal.err(`${printable(why)}, so their rollouts are not shown\n`),
      );
    },
  );
  const fleetNow = (): Fleet | undefined => connection.fleet;
  await using actions: RolloutActions = new RolloutActions({
    parts,
    fleet: fleetNow,
    flags,
    onChange: () => rollouts.changed(),
  });
  const rollouts: Rollouts = new Rollouts({
    fleet: () => shown,
    clock,
    signers,
    history: flags.history,
    actionOf: (group: string) => actions.of(group),
  });
  await connection.connect();
  const isSecure = tls !== undefined;
  const about = aboutPage(flags);
  const logs = new NodeLogs(parts, fleetNow, signers);
  await using server = await UiServer.open({
    clock,
    view,
    rollouts,
    about,
    isAway: () => connection.fleet === undefined,
    address,
    tls,
    door: doorOf(address, tls, sha256(token)),
    sessions: new PageSessions({ clock, random, isSecure }),
    details: (name) =>
      shown !== undefined && isKnown(shown, name)
        ? detailsOf(knownNode(shown, name), events.of(name))
        : undefined,
    work: workOf(about.isReadOnly, actions, logs),
  });
  const listen = { ...address, port: server.port };
  const printedToken = fixed === undefined ? token : undefined;
  const scheme = isSecure ? "https" : "http";
  terminal.out(`${printedAddress({ scheme, listen, own: ownAddresses(), token: printedToken })}\n`);
  terminal.err(notice(flags, { isSecure, isLoopback: address.isLoopback }));
  await connection.run(signal);
  return 0;
}

type Tls = UiServerOptions["tls"];

function readTls({ tlsCert, tlsKey }: AddressFlags): Tls {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const [cert, key] = [tlsCert, tlsKey].map((path) =>
    new TextDecoder().decode(readNamedFile(path)),
  );
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

function doorOf({ isLoopback }: ReaderAddress, tls: Tls, tokenSha256: string): Door {
  const certificate = tls === undefined ? undefined : certificateOf(tls.cert);
  const isCertified = (name: string): boolean =>
    certificate !== undefined && isFor(certificate, name);
  return {
    scheme: tls === undefined ? "http" : "https",
    isOwnHost: (host) => isOwnHost(host, { isLoopback, isCertified }),
    isToken: (written) => isSha256Of(written, tokenSha256),
  };
}

/** By its alternative names only, as browsers do. */
function isFor(certificate: X509Certificate, name: string): boolean {
  if (isIP(name)) return certificate.checkIP(name) !== undefined;
  return certificate.checkHost(name, { subject: "never" }) !== undefined;
}

function certificateOf(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (thrown) {
    throw new UsageError(
      `the file of --tls-cert has no certificate in PEM: ${messageOf(thrown)}`,
      thrown,
    );
  }
}

function workOf(isReadOnly: boolean, actions: RolloutActions, logs: NodeLogs): PageWork {
  const refusal =
    "this page only reads, because agent fleet ui was started without --key; use the verbs of agent fleet";
  return {
    refusal: isReadOnly ? refusal : undefined,
    change: (order) => actions.start(order),
    logs: (order, signal) => logs.read(order, signal),
  };
}

function ownAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return all
    .filter(({ internal, family }) => !internal && family === "IPv4")
    .map((one) => one.address);
}

interface Reached {
  readonly isSecure: boolean;
  readonly isLoopback: boolean;
}

function notice({ key = [], tokenFile }: UiFlags, { isSecure, isLoopback }: Reached): string {
  const what = key.length === 0 ? "sees the fleet" : "sees the fleet, and changes its rollouts";
  const who = tokenFile === undefined ? "who has this address" : "who has the token";
  const open =
    isSecure || isLoopback ? "" : "without TLS the token can be read on the way; add --tls-cert\n";
  return `${who} ${what}, until this command ends with Ctrl-C\n${open}`;
}

interface Following {
  readonly fleet: Fleet;
  readonly view: FleetView;
  readonly events: RecentEvents;
}

function follow({ fleet, view, events }: Following, topic: string, payload: Uint8Array): void {
  const parsed = parseTopic(fleet.root, topic);
  if (parsed?.type === "NodeEvent") return events.add(parsed.node, readEvents(payload));
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
