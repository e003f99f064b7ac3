// Performs: reads which settings of documents lie over the configuration of the device, and words where they are from.

import type { AgentConfig, ConfigFields } from "../config/config.ts";
import { configWith, fieldsWith, settingsError } from "../config/remote-settings.ts";
import { realFiles } from "../host/real-files.ts";
import { rfc3339 } from "../lib/clock.ts";
import { parseJson } from "../lib/json.ts";
import { NO_SETTINGS, readKeptSettings, type RemoteSettings } from "../protocol/remote-settings.ts";
import { readSettingsFile, settingsPath, type KeptSettings } from "../store/settings-file.ts";

interface SettingsInForce {
  readonly over: { readonly fields: ConfigFields; readonly config: AgentConfig };
  readonly origin: readonly string[];
}

export function settingsInForce(stateDir: string, fields: ConfigFields): SettingsInForce {
  const { record, trouble } = readSettingsFile(realFiles(), settingsPath(stateDir));
  const settings =
    record.inForce === undefined
      ? NO_SETTINGS
      : readKeptSettings(parseJson(record.inForce.settings));
  const unfit = record.inForce === undefined ? undefined : settingsError(fields, settings);
  const used = unfit === undefined ? settings : NO_SETTINGS;
  const origin = [
    ...(trouble === undefined ? [] : [trouble]),
    ...(record.inForce === undefined ? [] : inForceLines(record.inForce, { record, settings })),
    ...(unfit === undefined ? [] : [`not used: ${unfit}`]),
    ...(record.trying === undefined ? [] : [`tried now: settings of ${nameOf(record.trying)}`]),
    ...record.undone.map((one) => `not used: settings of ${nameOf(one)}: ${one.message}`),
  ];
  const over = { fields: fieldsWith(fields, used), config: configWith(fields, used) };
  return { over, origin };
}

function inForceLines(
  inForce: KeptSettings,
  { record, settings }: { record: { since: number; unproven?: boolean }; settings: RemoteSettings },
): readonly string[] {
  const { ca, ...mqtt } = settings.mqtt;
  const names = Object.keys(mqtt).map((key) => `mqtt.${key}`);
  const count = ca?.match(/-----BEGIN CERTIFICATE-----/g)?.length ?? 0;
  const all = [...names, ...(ca === undefined ? [] : [`mqtt.ca (${count} in the document)`])];
  const state = record.unproven === true ? "to be proved since" : "in force since";
  const what = all.length === 0 ? "nothing" : all.join(", ");
  return [`from ${nameOf(inForce)}, ${state} ${rfc3339(record.since)}: ${what}`];
}

function nameOf({ source, generation }: KeptSettings): string {
  return `generation ${generation} of ${source}`;
}
