// Performs: `agent install`: this binary becomes the service of this machine. Doing it again changes nothing; doing it with
// another binary or other flags changes that, and restarts the agent, but no pod.

import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { podCIDRs } from "../../config/pod-cidr.ts";
import type { Files } from "../../host/files.ts";
import { realFiles } from "../../host/real-files.ts";
import { messageOf } from "../../lib/errors.ts";
import { MAX_BINARY_BYTES } from "../../protocol/agent-release.ts";
import { checkList, checkText } from "../check/check.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { editedConfig } from "./edit-config.ts";
import { installedPackage } from "./package-mark.ts";
import { planInstall, stepText, type Part, type Present, type Step } from "./plan-install.ts";
import {
  cniText,
  launcherText,
  openrcText,
  placesOf,
  sysvText,
  unitText,
  type Places,
  type Prefix,
} from "./service-files.ts";
import { hasSystemd, systemctl } from "./systemctl.ts";

export interface InstallFlags {
  readonly dryRun?: boolean;
  /** false with `--no-start`. */
  readonly start: boolean;
  readonly root: string;
  readonly prefix: Prefix;
  readonly print?: keyof typeof PRINTED;
  readonly broker?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly trust?: string;
  readonly name?: string;
}

const LARGEST_FILE = 1 << 20;
const CNI_DIRECTORY = "/etc/cni/net.d";
const DEFAULT_SUBNET = "10.88.0.0/16";

export const PRINTED = {
  unit: unitText,
  launcher: launcherText,
  openrc: openrcText,
  sysv: sysvText,
  cni: () => cniText(DEFAULT_SUBNET),
} as const;

/** The exit code: 1 when the checks of this machine find an error. Throws CliError. */
export async function install(call: VerbCall): Promise<0 | 1> {
  const { flags, terminal } = call;
  const wanted = flags<InstallFlags>();
  if (wanted.print !== undefined) {
    terminal.out(PRINTED[wanted.print](placesOf(wanted.prefix)));
    return 0;
  }
  const isDry = wanted.dryRun === true;
  const files = realFiles();
  const at = (path: string): string => join(wanted.root, path);
  try {
    const packageName = installedPackage(files, wanted.root);
    const places = placesOf(packageName === undefined ? wanted.prefix : "/usr");
    const stage = { places, files, at };
    const parts =
      packageName === undefined ? partsOf(wanted, stage) : besides(packageName, wanted, stage);
    const plan = planInstall(parts, (part) => presentOf(files, part));
    for (const step of plan.steps) {
      if (!isDry) perform(files, step);
      terminal.out(`${stepText(step, isDry)}\n`);
    }
    if (plan.steps.every(({ type }) => type === "Keep"))
      terminal.out(
        packageName === undefined
          ? "the agent is installed: there is nothing to do\n"
          : `the package ${packageName} has installed the agent: there is nothing to do\n`,
      );
    if (wanted.root !== "/" || !wanted.start || isDry) return 0;
    await startService(terminal, plan.isServiceChanged);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(messageOf(error), error);
  }
  const list = await checkList(call.flags(), terminal);
  terminal.out(`\n${checkText(list.items, terminal.palette)}`);
  return list.items.some(({ level }) => level === "error") ? 1 : 0;
}

/** What a package of the distribution leaves to be done: fields of the configuration, and the network. */
function besides(packageName: string, flags: InstallFlags, stage: Stage): readonly Part[] {
  const { places, files, at } = stage;
  const own = process.execPath;
  const theirs = at(places.binary);
  const isSame =
    own === theirs ||
    (files.target(theirs) !== undefined &&
      Buffer.from(files.readFollowing(own, MAX_BINARY_BYTES)).equals(
        files.readFollowing(theirs, MAX_BINARY_BYTES),
      ));
  if (!isSame)
    throw new CliError(
      `${theirs} belongs to the package ${packageName}, and ${own} is another version: install the package of that version, or bring it beside with "agent self-update ${own}"`,
    );
  return [...configParts(flags, stage), ...networkParts(stage)];
}

interface Stage {
  readonly places: Places;
  readonly files: Files;
  /** Below `--root`. */
  readonly at: (path: string) => string;
}

function partsOf(flags: InstallFlags, stage: Stage): readonly Part[] {
  const { places, files, at } = stage;
  const { binary, launcher, unit, config, state } = places;
  const service = (path: string, mode: number, what: string, text: string): Part => ({
    type: "File",
    path: at(path),
    mode,
    what,
    content: Buffer.from(text),
    isOfService: true,
  });
  const program = files.readFollowing(process.execPath, MAX_BINARY_BYTES);
  return [
    ...[config, `${config}/manifests`, `${config}/images`, `${config}/trust.d`].map(
      (path): Part => ({ type: "Directory", path: at(path), mode: 0o755 }),
    ),
    { type: "Directory", path: at(state), mode: 0o700 },
    {
      type: "File",
      path: at(binary),
      mode: 0o755,
      what: "the agent",
      content: program,
      isOfService: true,
    },
    service(launcher, 0o755, "its launcher", launcherText(places)),
    service(unit, 0o644, "its unit", unitText(places)),
    ...configParts(flags, stage),
    ...networkParts(stage),
  ];
}

/** The files that flags name are copied, so that the agent still has them when a memory stick is gone. */
function configParts(flags: InstallFlags, { places, files, at }: Stage): readonly Part[] {
  const { ca, cert, key, trust } = flags;
  const own = (path: string, from: string | undefined, mode: number): readonly Part[] => {
    if (from === undefined) return [];
    const content = files.readFollowing(from, LARGEST_FILE);
    return [
      { type: "File", path: at(path), mode, what: `a copy of ${from}`, content, isOfService: true },
    ];
  };
  // Under another name it would not be read.
  if (trust !== undefined && !trust.endsWith(".pub"))
    throw new UsageError(`${trust}: the file of a root key must be named *.pub`);
  const tls = `${places.config}/tls`;
  const place = (name: string, from: string | undefined): string | undefined =>
    from === undefined ? undefined : `${tls}/${name}`;
  const path = `${places.config}/agent.yaml`;
  const before = files.info(at(path)) && textOf(files, at(path));
  const text = editedConfig(at(path), before, {
    nodeName: flags.name,
    url: flags.broker,
    caFile: place("ca.crt", ca),
    certFile: place("client.crt", cert),
    keyFile: place("client.key", key),
  });
  const changed: Part = {
    type: "File",
    path: at(path),
    mode: 0o644,
    what: "the configuration",
    content: Buffer.from(text ?? before ?? ""),
    isOfService: true,
  };
  return [
    ...own(`${tls}/ca.crt`, ca, 0o644),
    ...own(`${tls}/client.crt`, cert, 0o644),
    ...own(`${tls}/client.key`, key, 0o600),
    ...own(`${places.config}/trust.d/${basename(trust ?? "")}`, trust, 0o644),
    ...(text === undefined ? [] : [changed]),
  ];
}

/** Only where no network is configured: one that is there stays as it is. */
function networkParts({ places, files, at }: Stage): readonly Part[] {
  const directory = at(CNI_DIRECTORY);
  const target = join(directory, "10-agent.conflist");
  const others = files.info(directory) === undefined ? [] : files.list(directory);
  const isOurs = others.length === 1 && others[0]?.name === basename(target);
  if (others.length > 0 && !isOurs) return [];
  const content = Buffer.from(cniText(subnetOf(files, at(`${places.config}/agent.yaml`))));
  const what = "a network for the pods";
  return [
    { type: "File", path: target, mode: 0o644, what, content, isOfService: false, keeps: true },
  ];
}

function subnetOf(files: Files, path: string): string {
  if (files.info(path) === undefined) return DEFAULT_SUBNET;
  const config: unknown = parse(textOf(files, path));
  const named =
    typeof config === "object" && config !== null && "podCIDR" in config
      ? config.podCIDR
      : undefined;
  return typeof named === "string" ? (podCIDRs(named)[0] ?? DEFAULT_SUBNET) : DEFAULT_SUBNET;
}

function textOf(files: Files, path: string): string {
  return new TextDecoder().decode(files.readFollowing(path, LARGEST_FILE));
}

function presentOf(files: Files, part: Part): Present | undefined {
  const found = files.target(part.path);
  if (found === undefined) return undefined;
  const { mode, kind, size } = found;
  const isWanted = kind === (part.type === "File" ? "file" : "directory");
  if (!isWanted) throw new UsageError(`${part.path} is there and is no ${part.type.toLowerCase()}`);
  if (part.type === "Directory") return { mode, isSame: true };
  const isSame =
    size === part.content.length &&
    Buffer.from(files.readFollowing(part.path, MAX_BINARY_BYTES)).equals(part.content);
  return { mode, isSame };
}

function perform(files: Files, step: Step): void {
  switch (step.type) {
    case "MakeDirectory":
      files.makeDirectory(dirname(step.path), 0o755);
      return files.makeDirectory(step.path, step.mode);
    case "Write": {
      const { path, content, mode } = step.part;
      files.makeDirectory(dirname(path), 0o755);
      return files.writeAtomic(path, content, mode);
    }
    case "SetMode":
      return files.setMode(step.path, step.mode);
    case "Keep":
      return undefined;
  }
}

async function startService(
  terminal: VerbCall["terminal"],
  isServiceChanged: boolean,
): Promise<void> {
  if (!hasSystemd()) {
    terminal.err(
      "Note: this machine does not run systemd; agent install --print openrc or --print sysv prints a script that starts the agent\n",
    );
    return;
  }
  const isActive = await systemctl(["is-active", "--quiet", "agent.service"]);
  const isEnabled = await systemctl(["is-enabled", "--quiet", "agent.service"]);
  if (isActive && isEnabled && !isServiceChanged) return;
  if (isServiceChanged) await mustSystemctl("daemon-reload");
  if (!isEnabled) await mustSystemctl("enable", "agent.service");
  await mustSystemctl(isActive ? "restart" : "start", "agent.service");
  terminal.out(
    isActive
      ? "the agent was restarted; no pod was\n"
      : "the agent runs, and starts with the machine\n",
  );
}

async function mustSystemctl(...words: readonly string[]): Promise<void> {
  if (await systemctl(words)) return;
  throw new CliError(
    `"systemctl ${words.join(" ")}" failed; systemctl status agent and journalctl -u agent say why`,
  );
}
