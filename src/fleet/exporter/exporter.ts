// Performs: `agent fleet exporter`: serves the metrics of the fleet to Prometheus, as long as it is not interrupted; connects
// to the broker again whenever that is lost.

import { CliError, UsageError } from "../../cli/exit-codes.ts";
import type { ListenAddress } from "../../config/listen-config.ts";
import { printable } from "../../cli/terminal-text.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { messageOf } from "../../lib/errors.ts";
import { isSha256Of, sha256 } from "../../lib/system-sha256.ts";
import { expositionOf, EXPOSITION_TYPE } from "../../server/metrics/exposition.ts";
import { knownNodes, subscribeNodes } from "../known-nodes.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "../open-broker.ts";
import { fleetMetrics } from "./fleet-metrics.ts";
import { readerAddress } from "../http/reader-request.ts";
import { tokenOfFile } from "../http/token-file.ts";
import { mayAnswer } from "./scrape-request.ts";

export interface ExporterFlags extends BrokerFlags {
  readonly listen: string;
  readonly tokenFile?: string;
  readonly perNode?: boolean;
}

const AGAIN_MS = 5_000;
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
  const exporter = new Exporter(parts, flags, tokenSha256);
  await exporter.connect();
  using _server = serve(exporter, listen, terminal);
  while (!signal.aborted) {
    await exporter.untilGone(signal);
    if (signal.aborted) break;
    await terminal.clock.sleep(AGAIN_MS, signal);
    await exporter.connect().catch((thrown: unknown) => {
      terminal.err(`${printable(messageOf(thrown))}; tried again in ${AGAIN_MS / 1_000} s\n`);
    });
  }
  await exporter[Symbol.asyncDispose]();
  return 0;
}

class Exporter implements AsyncDisposable {
  readonly #parts: FleetParts;
  readonly #flags: ExporterFlags;
  /** undefined = no token is wanted. */
  readonly #tokenSha256: string | undefined;
  #fleet: Fleet | undefined;

  constructor(parts: FleetParts, flags: ExporterFlags, tokenSha256: string | undefined) {
    this.#parts = parts;
    this.#flags = flags;
    this.#tokenSha256 = tokenSha256;
  }

  async connect(): Promise<void> {
    const fleet = await openFleet(this.#parts, this.#flags);
    try {
      await subscribeNodes(fleet, ["state", "reported"], this.#parts.terminal);
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
    // What is parsed now, the first scrape need not wait for.
    knownNodes(fleet);
    this.#fleet = fleet;
  }

  /** Until the connection ends. */
  async untilGone(signal: AbortSignal): Promise<void> {
    const fleet = this.#fleet;
    if (fleet === undefined) return;
    try {
      await fleet.session.until(() => undefined, { signal });
      return;
    } catch (thrown) {
      if (!(thrown instanceof CliError)) throw thrown;
      this.#parts.terminal.err(`${printable(messageOf(thrown))}\n`);
    }
    this.#fleet = undefined;
    await fleet[Symbol.asyncDispose]();
  }

  answer(request: Request): Response {
    const { pathname } = new URL(request.url);
    const denied = mayAnswer(request, (sent) => this.#isToken(sent));
    if (denied !== undefined) return new Response(`${denied.text}\n`, { status: denied.status });
    if (pathname !== "/metrics") return new Response("see /metrics\n", { status: 404 });
    const fleet = this.#fleet;
    const families = fleetMetrics({
      nodes: fleet === undefined ? [] : knownNodes(fleet),
      isConnected: fleet !== undefined,
      now: this.#parts.terminal.clock.now(),
      perNode: this.#flags.perNode === true,
    });
    return new Response(expositionOf(families), { headers: { "content-type": EXPOSITION_TYPE } });
  }

  #isToken(sent: string | undefined): boolean {
    return this.#tokenSha256 === undefined || isSha256Of(sent ?? "", this.#tokenSha256);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fleet?.[Symbol.asyncDispose]();
  }
}

function serve(exporter: Exporter, { host, port }: ListenAddress, terminal: Terminal): Disposable {
  try {
    const server = Bun.serve({
      hostname: host,
      port,
      maxRequestBodySize: BODY_BYTES,
      fetch: (request) => exporter.answer(request),
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
