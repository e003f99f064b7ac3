// Performs: `agent fleet logs`: reads the log of a pod through a session with its node; where there can be none, with the
// command `logs`, which brings the last lines, or new ones as long as a lease lasts.

import { readValue } from "../../api/schema/read-value.ts";
import type { VerbCall } from "../../cli/define-verb.ts";
import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { logs } from "../../cli/logs/logs.ts";
import { printable } from "../../cli/terminal-text.ts";
import { VERBS } from "../../command/verbs.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { FleetParts } from "../open-broker.ts";
import { command, type CommandFlags } from "../send-command.ts";
import { NoSession, withSession, type SessionFlags, type SessionTarget } from "./open-session.ts";

export interface FleetLogsFlags extends CommandFlags, Pick<SessionFlags, "keys"> {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly tail?: number;
  /** These two are of a lease. */
  readonly seconds?: number;
  readonly bytes?: number;
  /** Only a session has these. */
  readonly allContainers?: boolean;
  readonly limitBytes?: number;
  readonly since?: number;
  readonly sinceTime?: string;
  readonly timestamps?: boolean;
  readonly prefix?: boolean;
  readonly ignoreErrors?: boolean;
}

interface Order {
  readonly call: VerbCall;
  readonly target: SessionTarget;
  readonly flags: FleetLogsFlags;
}

/** The exit code. */
export async function fleetLogs(parts: FleetParts, order: Order): Promise<number> {
  const { target, flags } = order;
  const { key = [] } = flags;
  const needs = needsSession(flags);
  if (needs !== undefined && (key.length === 0 || wantsLease(flags)))
    throw new UsageError(
      wantsLease(flags)
        ? `${needs} needs a session, and --seconds and --bytes are for a log without one: leave one of them out`
        : `${needs} needs a session: sign its start with --key`,
    );
  if (key.length === 0 || wantsLease(flags)) return withoutSession(parts, order);
  try {
    return await withSession(parts, { flags: { ...flags, key }, target }, (client) => {
      const { call } = order;
      const args = [target.pod, ...call.args.slice(2)];
      return logs({ ...call, args, connect: () => Promise.resolve(client) });
    });
  } catch (error) {
    if (!(error instanceof NoSession)) throw error;
    if (needs !== undefined)
      throw new CliError(`${error.message}; ${needs} needs a session`, error);
    const limits = flags.follow === true ? ", for 10 minutes and 1 MiB at most" : "";
    parts.terminal.err(
      `${printable(error.message)}; the log is read without a session: not encrypted${limits}\n`,
    );
    return withoutSession(parts, order);
  }
}

function wantsLease({ seconds, bytes }: FleetLogsFlags): boolean {
  return seconds !== undefined || bytes !== undefined;
}

/** The first flag that the command `logs` does not know. */
function needsSession(flags: FleetLogsFlags): string | undefined {
  const { follow, tail, allContainers, limitBytes, since, sinceTime } = flags;
  const given: readonly (readonly [string, boolean])[] = [
    ["--tail with --follow", follow === true && tail !== undefined],
    ["--previous with --follow", follow === true && flags.previous === true],
    ["--tail -1", tail === -1],
    ["--all-containers", allContainers === true],
    ["--limit-bytes", limitBytes !== undefined],
    ["--since", since !== undefined],
    ["--since-time", sinceTime !== undefined],
    ["--timestamps", flags.timestamps === true],
    ["--prefix", flags.prefix === true],
  ];
  return given.find(([, isGiven]) => isGiven)?.[0];
}

function withoutSession(parts: FleetParts, { target, flags }: Order): Promise<0 | 1> {
  const { node, ...pod } = target;
  const { container, follow, previous, tail, seconds, bytes } = flags;
  const args = {
    ...pod,
    ...withoutUndefined({ container, follow, previous, tail, seconds, bytes }),
  };
  const judged = readValue<unknown>(VERBS.logs.arguments, args);
  if (!judged.ok)
    throw new UsageError(`${judged.errors[0]?.message ?? ""}; see agent fleet logs --help`);
  return command(parts, flags, { node, verb: "logs", args });
}
