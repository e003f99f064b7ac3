// Performs: `agent uninstall`: the service goes. Its pods run on, because they are the container runtime's, unless they are to be
// stopped first; what the agent knows stays, unless it is to be forgotten.

import { join } from "node:path";
import type { Files } from "../../host/files.ts";
import { realFiles } from "../../host/real-files.ts";
import { messageOf } from "../../lib/errors.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { isConfirmed, type Terminal } from "../process-io.ts";
import { shutDown } from "../shutdown.ts";
import { forgetOnBroker } from "./forget-on-broker.ts";
import { installedPackage } from "./package-mark.ts";
import { placesOf, type Prefix } from "./service-files.ts";
import { hasSystemd, systemctl } from "./systemctl.ts";

interface UninstallFlags {
  readonly dryRun?: boolean;
  readonly drain?: boolean;
  readonly purge?: boolean;
  readonly yes?: boolean;
  readonly root: string;
  readonly prefix: Prefix;
}

/** The exit code: 1 when the question was not answered with yes. Throws CliError, UsageError for what would lose data. */
export async function uninstall(call: VerbCall): Promise<0 | 1> {
  const { terminal } = call;
  const flags = call.flags<UninstallFlags>();
  if (flags.purge === true && flags.drain !== true && flags.root === "/")
    throw new UsageError(
      "--purge removes the claims and the other data of the pods, which would run on: add --drain, or leave --purge out",
    );
  const files = realFiles();
  const packageName = installedPackage(files, flags.root);
  if (packageName !== undefined)
    throw new CliError(
      `the agent belongs to the package ${packageName}: "apt remove agent" takes it away and keeps configuration and state, "apt purge agent" takes these too; "agent shutdown" before that stops the pods`,
    );
  const { kept, removed } = pathsOf(flags, files);
  terminal.out(intention(flags, kept, removed));
  if (flags.dryRun === true) return 0;
  if (flags.yes !== true && !(await isMeant(terminal))) {
    terminal.err("nothing was removed; add --yes if it is meant\n");
    return 1;
  }
  if (flags.drain === true) await shutDown(call);
  await endService(call, flags);
  try {
    for (const path of removed) files.removeTree(path);
  } catch (error) {
    throw new CliError(messageOf(error), error);
  }
  if (isHere(flags)) await systemctl(["daemon-reload"]);
  terminal.out("the agent is removed\n");
  return 0;
}

function pathsOf({ root, prefix, purge = false }: UninstallFlags, files: Files) {
  const { binary, launcher, unit, config, state } = placesOf(prefix);
  const below = (path: string): string => join(root, path);
  const known = [config, state].map(below);
  // The binary last: should something before it stay, it is there to try again.
  const all = [...(purge ? known : []), ...[unit, launcher, binary].map(below)];
  const removed = all.filter((path) => files.info(path) !== undefined);
  return { kept: purge ? [] : known, removed };
}

function intention(
  { drain = false, dryRun = false }: UninstallFlags,
  kept: readonly string[],
  removed: readonly string[],
): string {
  const pods = drain
    ? "the pods are stopped first"
    : "the pods run on: the container runtime keeps them; --drain stops them first";
  const stay = kept.length === 0 ? [] : [`${kept.join(" and ")} stay; --purge removes them`];
  const go = removed.map((path) => `${dryRun ? "would remove" : "removes"} ${path}`);
  return [pods, ...stay, ...go].map((line) => `${line}\n`).join("");
}

async function isMeant(terminal: Terminal): Promise<boolean> {
  return terminal.isInteractive && (await isConfirmed(terminal, "Type yes to remove it: "));
}

/** The service of this machine, not of an image. */
function isHere({ root }: UninstallFlags): boolean {
  return root === "/" && hasSystemd();
}

async function endService(call: VerbCall, flags: UninstallFlags): Promise<void> {
  if (isHere(flags)) await systemctl(["disable", "--now", "agent.service"]);
  // Once the agent has ended: it would publish its state again.
  if (flags.purge === true && flags.root === "/") await forgetOnBroker(call);
}
