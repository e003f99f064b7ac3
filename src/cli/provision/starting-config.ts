// Performs: the configuration that `agent run` starts with: before it is read, the node takes over what a card brings.

import { existsSync } from "node:fs";
import { decodeConfig, type AgentConfig } from "../../config/config.ts";
import { lockStateDir } from "../../host/agent-lock.ts";
import { realFiles } from "../../host/real-files.ts";
import { messageOf } from "../../lib/errors.ts";
import {
  provision,
  PROVISIONING_DIRECTORIES,
  resumeProvisioning,
  type LookOptions,
  type ProvisionOptions,
} from "../../provision/provision.ts";
import { finishPreparation, preparedMark } from "../../provision/prepare-image.ts";
import { noticesOf, nothingOf, type ProvisionReport } from "../../provision/report.ts";
import { CliError } from "../exit-codes.ts";
import { CONFIG_FILE } from "../flags.ts";
import {
  configPath,
  loadConfig,
  loadDeviceConfig,
  type ConnectionFlags,
  type DeviceConfiguration,
} from "../load-config.ts";
import type { Terminal } from "../process-io.ts";
import { placesOf } from "./prepare-places.ts";
import { noticeText } from "./notice-text.ts";

export interface StartingConfig extends DeviceConfiguration {
  /** undefined = there is no provisioning directory. */
  readonly provisioned: ProvisionReport | undefined;
}

/** Throws UsageError for an invalid configuration, after it has printed what became of the card. */
export async function startingConfig(
  flags: ConnectionFlags,
  terminal: Pick<Terminal, "environment" | "err">,
): Promise<StartingConfig> {
  const { environment } = terminal;
  const before = await configNow(flags, environment);
  finishInterrupted(before);
  const resumed = resume(before, flags, environment);
  const config = resumed.taken.length > 0 ? await configNow(flags, environment) : before;
  const found = provision(lookOptions({ config, flags, environment }));
  const provisioned = merged(resumed, found);
  if (provisioned === undefined)
    return { ...(await loadDeviceConfig(flags, environment)), provisioned };
  try {
    return { ...(await loadDeviceConfig(flags, environment)), provisioned };
  } catch (error) {
    for (const notice of noticesOf(provisioned)) terminal.err(noticeText(notice));
    throw error;
  }
}

/** An image that was prepared, and cut off meanwhile, has nothing that this node may still use. */
function finishInterrupted(config: AgentConfig): void {
  const mark = preparedMark(realFiles(), config.stateDir);
  if (mark === undefined || mark.isDone) return;
  using _lock = lockStateDir(config.stateDir);
  finishPreparation(placesOf(config));
}

/** A file that is named and that the card may bring yet counts as empty. */
export async function configNow(
  flags: ConnectionFlags,
  environment: Terminal["environment"],
): Promise<AgentConfig> {
  if (existsSync(configPath(flags, environment) ?? CONFIG_FILE))
    return loadConfig(flags, environment);
  const defaults = decodeConfig({});
  if (!defaults.ok) throw new CliError("the defaults are not valid");
  return defaults.value;
}

interface Now {
  readonly config: AgentConfig;
  readonly flags: ConnectionFlags;
  readonly environment: Terminal["environment"];
  /** Named on the command line. */
  readonly from?: string | undefined;
}

/** Where the node looks: a flag, else AGENT_PROVISIONING, else the configuration, else the boot partition. */
export function lookOptions({ config, flags, environment, from }: Now): LookOptions {
  const variable = environment["AGENT_PROVISIONING"];
  const named = from ?? (variable === "" ? undefined : variable) ?? config.provisioningPath;
  return {
    ...provisionOptions(config, flags, environment),
    directories: named === undefined ? PROVISIONING_DIRECTORIES : [named],
    again: false,
    isDry: false,
  };
}

function provisionOptions(
  config: AgentConfig,
  flags: ConnectionFlags,
  environment: Terminal["environment"],
): ProvisionOptions {
  const configFile = configPath(flags, environment) ?? CONFIG_FILE;
  return { files: realFiles(), config, configFile, lock: lockStateDir };
}

type Resumed = Pick<ProvisionReport, "taken" | "failure">;

export function resume(
  config: AgentConfig,
  flags: ConnectionFlags,
  environment: Terminal["environment"],
): Resumed {
  try {
    const taken = resumeProvisioning(provisionOptions(config, flags, environment)) ?? [];
    return { taken, failure: undefined };
  } catch (error) {
    const failure = `a take-over that was interrupted could not be finished, and the next start tries again: ${messageOf(error)}`;
    return { taken: [], failure };
  }
}

export function merged(
  resumed: Resumed,
  found: ProvisionReport | undefined,
): ProvisionReport | undefined {
  if (resumed.taken.length === 0 && resumed.failure === undefined) return found;
  const report = found ?? nothingOf("the card");
  return {
    ...report,
    taken: [...resumed.taken, ...report.taken],
    failure: resumed.failure ?? report.failure,
  };
}
