// Performs: `agent prepare-image`: makes an image for many devices out of the disk of one that has run.

import { existsSync, lstatSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { LABEL } from "../../api/pod/labels.ts";
import type { AgentConfig } from "../../config/config.ts";
import { grpcCriClient } from "../../cri/cri-client.ts";
import { ContainerState } from "../../cri/gen/runtime/v1/api_pb.ts";
import { lockStateDir } from "../../host/agent-lock.ts";
import { machineIdOf, readMachineFacts } from "../../host/machine.ts";
import { syncPath } from "../../lib/files/system-durable-file.ts";
import { messageOf } from "../../lib/errors.ts";
import { planPreparation, prepare, type PreparePlan } from "../../provision/prepare-image.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError } from "../exit-codes.ts";
import { CONFIG_FILE } from "../flags.ts";
import { configPath, loadConfig, type ConnectionFlags } from "../load-config.ts";
import { isConfirmed, type Terminal } from "../process-io.ts";
import { printable } from "../terminal-text.ts";
import { configNow } from "./starting-config.ts";
import { placeBelow, placesOf } from "./prepare-places.ts";
import { sharedByCopies, type SharedFacts } from "./shared-by-copies.ts";

interface PrepareFlags {
  readonly dryRun?: boolean;
  readonly machineId?: boolean;
  readonly claims?: boolean;
  readonly yes?: boolean;
  readonly root: string;
}

const MACHINE_ID = "etc/machine-id";
/** Debian's dbus makes it as a file of its own, from which systemd fills an empty /etc/machine-id. */
const DBUS_ID = "var/lib/dbus/machine-id";
const CALL_MS = 5_000;

/** The exit code: 1 when the question was not answered with yes. Throws CliError when an agent or its pods run. */
export async function prepareImage({ flags, terminal }: VerbCall): Promise<0 | 1> {
  const wanted = flags<PrepareFlags>();
  const { root, dryRun: isDry = false, yes = false, machineId = false, claims = false } = wanted;
  const config = await configIn(wanted, terminal);
  const places = placesOf(config, root);
  const ids = machineIdFiles(wanted);
  using _lock = existsSync(places.stateDir) && !isDry ? locked(places.stateDir) : undefined;
  if (root === "/" && !isDry) await mustBeIdle(config, terminal);
  const plan = planPreparation(places, claims);
  tellPlan(plan, { ...wanted, stateDir: places.stateDir }, terminal);
  warnOfShared({ config, keepsClaims: plan.keepsClaims, keepsId: !machineId }, terminal);
  if (isDry) return 0;
  if (!yes && !(await isMeant(terminal))) return 1;
  try {
    // First: a copy that finishes this may take an ID that it finds for its own.
    if (ids !== undefined) removeMachineId(ids);
    prepare(places, { claims, ...imageFacts(root, ids) });
  } catch (error) {
    throw new CliError(
      `${messageOf(error)}; run it again, or let the next start of the agent finish it`,
      error,
    );
  }
  terminal.out("the image is prepared: turn the machine off, and copy its disk\n");
  return 0;
}

function warnOfShared(facts: SharedFacts, terminal: Terminal): void {
  for (const { what, remedy } of sharedByCopies(facts))
    terminal.err(`Warning: ${printable(what)}; ${printable(remedy)}\n`);
}

async function isMeant(terminal: Terminal): Promise<boolean> {
  if (terminal.isInteractive && (await isConfirmed(terminal, "Type yes to go on: "))) return true;
  terminal.err("nothing was removed; add --yes if it is meant\n");
  return false;
}

function tellPlan(
  plan: PreparePlan,
  flags: PrepareFlags & { readonly stateDir: string },
  terminal: Terminal,
): void {
  const isDry = flags.dryRun === true;
  const line = (text: string): void => terminal.out(`${printable(text)}\n`);
  for (const { path, what } of plan.removed)
    line(`${isDry ? "would remove" : "removes"} ${path}: ${what}`);
  if (flags.machineId === true)
    line(
      `${isDry ? "would empty" : "empties"} ${join(flags.root, MACHINE_ID)}, and D-Bus's copy of it`,
    );
  for (const name of plan.unknown)
    line(`${join(flags.stateDir, name)} stays: it is not the agent's`);
}

/** That of the image is at the same place below its root. */
function configIn(
  { root, ...flags }: PrepareFlags & ConnectionFlags,
  { environment }: Terminal,
): Promise<AgentConfig> {
  if (root === "/") return configNow(flags, environment);
  const config = join(root, configPath(flags, environment) ?? CONFIG_FILE);
  return existsSync(config)
    ? loadConfig({ config }, {})
    : configNow({ config: join(root, "no-such-file") }, {});
}

function locked(stateDir: string): Disposable {
  try {
    return lockStateDir(stateDir);
  } catch (error) {
    throw new CliError(
      `${messageOf(error)}. Stop it first: agent shutdown, then systemctl stop agent`,
      error,
    );
  }
}

/** Pods run on without an agent, and would lose their volumes. A runtime that does not answer runs nothing. */
async function mustBeIdle(config: AgentConfig, terminal: Terminal): Promise<void> {
  const { clock } = terminal;
  using cri = grpcCriClient({ endpoint: config.containerRuntimeEndpoint, clock });
  const labelSelector = { [LABEL.managed]: "true", [LABEL.instance]: config.instance };
  const state = { state: ContainerState.CONTAINER_RUNNING };
  let running: number;
  try {
    const options = { timeoutMs: CALL_MS };
    running = (await cri.listContainers({ labelSelector, state }, options)).length;
  } catch {
    terminal.err(
      "Note: the container runtime does not answer, so no container of a pod is looked for\n",
    );
    return;
  }
  if (running === 0) return;
  const containers = running === 1 ? "1 container" : `${running} containers`;
  throw new CliError(
    `${containers} of pods still run, and would lose their volumes; start the agent, run agent shutdown, and stop the agent`,
  );
}

/** What every copy begins with. `removed`: files of the machine ID, which it has no more. */
function imageFacts(root: string, removed: MachineIdFiles | undefined) {
  const hostname = root === "/" ? readMachineFacts().hostname : textOf(root, "etc/hostname");
  return { hostname, machineId: removed === undefined ? machineIdOf(root) : "" };
}

function textOf(root: string, path: string): string {
  try {
    return readFileSync(join(root, path), "utf8").trim();
  } catch {
    // An image without it has none.
    return "";
  }
}

interface MachineIdFiles {
  readonly path: string;
  readonly dbus: string;
}

/** undefined = they stay. Throws CliError when a link in the image leads out of it. */
function machineIdFiles({ machineId, root }: PrepareFlags): MachineIdFiles | undefined {
  if (machineId !== true) return undefined;
  const dbus = join(placeBelow(root, dirname(DBUS_ID)), basename(DBUS_ID));
  return { path: placeBelow(root, MACHINE_ID), dbus };
}

/** machine-id(5): an empty file is filled at the next boot, from D-Bus's if that is there. */
function removeMachineId({ path, dbus }: MachineIdFiles): void {
  // A link leads to the file that is emptied.
  if (lstatSync(dbus, { throwIfNoEntry: false })?.isFile() === true) {
    rmSync(dbus);
    syncPath(dirname(dbus));
  }
  if (!existsSync(path)) return;
  truncateSync(path, 0);
  syncPath(path);
}
