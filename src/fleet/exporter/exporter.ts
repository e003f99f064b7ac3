// Performs: `agent fleet exporter`: serves the metrics of the fleet to Prometheus, as long as it is not interrupted; connects
// to the broker again whenever that is lost.

import { CliError, UsageError } from "../../cli/exit-codes.ts";
import type { ListenAddress } from "../../config/listen-config.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { messageOf } from "../../lib/errors.ts";
import { isSha256Of, sha256 } from "../../lib/system-sha256.ts";
import { expositionOf, EXPOSITION_TYPE } from "../../server/metrics/exposition.ts";
import { knownNodes, subscribeNodes } from "../known-nodes.ts";
import { KeptConnection } from "../kept-connection.ts";
import { openFleet, type BrokerFlags, type FleetParts } from "../open-broker.ts";
import { fleetMetrics } from "./fleet-metrics.ts";
import { readerAddress } from "../http/reader-request.ts";
import { tokenOfFile } from "../http/token-file.ts";
import { mayAnswer } from "./scrape-request.ts";

export interface ExporterFlags extends BrokerFlags {
  readonly listen: string;
  readonly tokenFile?: string;
  readonly perNode?: boolean;
}

/** Of requests: Prometheus sends none. */
const BODY_BYTES = 1_024;

/** Throws UsageError for an address that needs a token, CliError when the first connection fails. */
export async function exportFleet(parts: FleetParts, flags: ExporterFlags): Promise<0> {
  const { terminal } = parts;
  const listen = readerAddress(flags.listen);
  const tokenSha256 =
    flags.tokenFile === undefined ? undefined : sha256(tokenOfFile(flags.tokenFile));
  if (!listen.isLoopback && tokenSha256 === undefined)
    throw new UsageError(
      `${flags.listen} can be reached from other machines; add --token-file, or listen on 127.0.0.1`,
    );
  const signal = terminal.interrupted();
  await using connection = new KeptConnection(
    terminal,
    () => openFleet(parts, flags),
    async (fleet) => {
      await subscribeNodes(fleet, ["state", "reported"], terminal);
      // What is parsed now, the first scrape need not wait for.
      knownNodes(fleet);
    },
  );
  await connection.connect();
  const answer = (request: Request): Response =>
    scraped(request, { connection, terminal, tokenSha256, perNode: flags.perNode === true });
  using _server = serve(answer, listen, terminal);
  await connection.run(signal);
  return 0;
}

interface Scraped {
  readonly connection: KeptConnection;
  readonly terminal: Terminal;
  /** undefined = no token is wanted. */
  readonly tokenSha256: string | undefined;
  readonly perNode: boolean;
}

function scraped(
  request: Request,
  { connection: { fleet }, terminal, tokenSha256, perNode }: Scraped,
): Response {
  const { pathname } = new URL(request.url);
  const isToken = (sent: string | undefined): boolean =>
    tokenSha256 === undefined || isSha256Of(sent ?? "", tokenSha256);
  const denied = mayAnswer(request, isToken);
  if (denied !== undefined) return new Response(`${denied.text}\n`, { status: denied.status });
  if (pathname !== "/metrics") return new Response("see /metrics\n", { status: 404 });
  const families = fleetMetrics({
    nodes: fleet === undefined ? [] : knownNodes(fleet),
    isConnected: fleet !== undefined,
    now: terminal.clock.now(),
    perNode,
  });
  return new Response(expositionOf(families), { headers: { "content-type": EXPOSITION_TYPE } });
}

type Answer = (request: Request) => Response;

function serve(answer: Answer, { host, port }: ListenAddress, terminal: Terminal): Disposable {
  try {
    const server = Bun.serve({
      hostname: host,
      port,
      maxRequestBodySize: BODY_BYTES,
      fetch: answer,
    });
    terminal.err(`metrics on http://${server.hostname}:${server.port}/metrics, until Ctrl-C\n`);
    return { [Symbol.dispose]: () => void server.stop(true) };
  } catch (thrown) {
    throw new CliError(
      `cannot listen on ${host}:${port}: ${messageOf(thrown)}; choose another address with --listen`,
      thrown,
    );
  }
}
