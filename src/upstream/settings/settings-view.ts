// What the node shows of settings of documents: in its report and as conditions.

import type { Failure } from "../../api/pod/rollout.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { ReportedSettings } from "../../protocol/reported-state.ts";
import { reportedSource } from "../../protocol/wire-text.ts";
import type { KeptSettings, SettingsRecord } from "../../store/settings-file.ts";
import type { SourceName } from "../../api/pod/labels.ts";
import type { SettingsStep } from "./settings-record.ts";

interface Standing {
  readonly step: SettingsStep;
  /** The last failure of a trial that goes on. */
  readonly trouble: Failure | undefined;
}

/** undefined = the configuration of the device is in force, and no document wants another. */
export function reportedSettings(
  record: SettingsRecord,
  { step, trouble }: Standing,
): ReportedSettings | undefined {
  const { inForce } = record;
  const shown = inForce === undefined ? {} : { inForce: lineOf(inForce) };
  switch (step.type) {
    case "Try": {
      const message = trouble === undefined ? {} : { message: trouble.message };
      return { phase: "Trying", code: 202, ...shown, wanted: lineOf(step.wanted), ...message };
    }
    case "Prove":
    case "Undo":
      return { phase: "Proving", code: 202, ...shown };
    case "Rest": {
      const { knownBad } = step;
      if (knownBad === undefined)
        return inForce === undefined ? undefined : { phase: "InForce", code: 200, ...shown };
      const { message } = knownBad;
      return { phase: "Undone", code: 424, ...shown, wanted: lineOf(knownBad), message };
    }
  }
}

export function settingsConditions(
  record: SettingsRecord,
  step: SettingsStep,
): readonly NodeCondition[] {
  const condition = (type: string, reason: string, message: string): NodeCondition => ({
    type,
    status: "True",
    reason,
    message,
  });
  switch (step.type) {
    case "Try":
      return [condition("SettingsOnTrial", "Trying", `settings of ${nameOf(step.wanted)}`)];
    case "Prove":
    case "Undo": {
      const { inForce } = record;
      const message = inForce === undefined ? "settings" : `settings of ${nameOf(inForce)}`;
      return [condition("SettingsOnTrial", "Proving", message)];
    }
    case "Rest": {
      if (step.knownBad === undefined) return [];
      const { reason, message } = step.knownBad;
      const text = `settings of ${nameOf(step.knownBad)} are not used: ${message}`;
      return [condition("SettingsUndone", reason, text)];
    }
  }
}

function lineOf({ source, generation, digest }: KeptSettings) {
  return { source: sourceOf(source), generation, digest };
}

function nameOf({ source, generation }: KeptSettings): string {
  return `generation ${generation} of ${sourceOf(source)}`;
}

function sourceOf(source: string): string {
  return reportedSource(source as SourceName);
}
