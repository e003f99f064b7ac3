// Performs: `agent check`: whether this machine can run pods, and what to do where it cannot; needs no running agent.

import type { VerbCall } from "../define-verb.ts";
import { printObject } from "../json-yaml-output.ts";
import { configPath, loadConfigOrDefaults, type ConnectionFlags } from "../load-config.ts";
import type { Terminal } from "../process-io.ts";
import { PLAIN, statusStyle, type Palette } from "../terminal/palette.ts";
import { withProgress } from "../terminal/progress-line.ts";
import { printable } from "../terminal-text.ts";
import { CHECKS, type CheckContext } from "./checks.ts";
import type { CheckResult, Level } from "./finding.ts";
import { runChecks } from "./run-checks.ts";

/** The exit code: 1 if there is an error. */
export async function check({ flags, terminal }: VerbCall): Promise<0 | 1> {
  const { output, ...named } = flags<{ readonly output?: "json" | "yaml" }>();
  const text = (seconds: number): string => `checking this machine (${seconds} s)`;
  const list = await withProgress(terminal, text, () => checkList(named, terminal));
  const results = list.items;
  if (output !== undefined) await printObject(terminal, list, output);
  else terminal.out(checkText(results, terminal.palette));
  return results.some(({ level }) => level === "error") ? 1 : 0;
}

/** What `-o json` prints. */
export async function checkList(
  flags: ConnectionFlags,
  { clock, environment }: Pick<Terminal, "clock" | "environment">,
) {
  const configFile = configPath(flags, environment);
  // Most of the checks are worth making without a valid configuration.
  const loaded = await loadConfigOrDefaults(flags, environment);
  const context: CheckContext = { ...loaded, configFile, clock, environment };
  const items = await runChecks(CHECKS, context);
  return { apiVersion: "agent/v1", kind: "CheckList", items };
}

const LEVEL_WIDTH = "warning".length + 2;

/** A line for each finding, its remedy below, and a summary. */
export function checkText(results: readonly CheckResult[], palette: Palette = PLAIN): string {
  const width = Math.max(0, ...results.map((one) => one.check.length)) + 2;
  const lines = results.flatMap(({ check: name, level, message, remedy }) => [
    palette(level.padEnd(LEVEL_WIDTH), statusStyle(level)) +
      printable(`${name.padEnd(width)}${message}`),
    ...(remedy === undefined ? [] : [printable(`${" ".repeat(LEVEL_WIDTH + width)}→ ${remedy}`)]),
  ]);
  const count = (level: Level): number => results.filter((one) => one.level === level).length;
  const summary = `${count("ok")} ok, ${count("warning")} warnings, ${count("error")} errors`;
  return [...lines, "", summary].map((line) => `${line}\n`).join("");
}
