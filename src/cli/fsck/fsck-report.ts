// What `agent fsck` finds, how it is printed, and which exit code it leads to: those of fsck(8).

import { PLAIN, type Palette, type Style } from "../terminal/palette.ts";
import { printable } from "../terminal-text.ts";

export type FsckPart = "database" | "state" | "version" | "manifest" | "archive" | "image";

/** `Found`: it is still there; `Repaired`; `Unchecked`: it could not be looked at. */
export type Outcome = "Found" | "Repaired" | "Unchecked";

export interface FsckFinding {
  readonly part: FsckPart;
  /** Path. */
  readonly file: string;
  readonly what: string;
  readonly remedy: string;
  readonly outcome: Outcome;
  /** Names of the images that are broken by it. */
  readonly images?: readonly string[];
  /** `namespace/name` of pods that need them. */
  readonly pods?: readonly string[];
}

export interface Checked {
  readonly part: FsckPart;
  /** What was looked at, such as `12 images, 384 MiB`. */
  readonly what: string;
}

export interface FsckReport {
  readonly checked: readonly Checked[];
  readonly findings: readonly FsckFinding[];
}

/** Bits, as in fsck(8); the usage error of every verb is 2, which has no meaning there. */
export const FSCK_CODES = {
  0: "Nothing is damaged.",
  1: "Damage was found, and all of it was repaired.",
  4: "Damage is left.",
  8: "Something could not be checked.",
} as const;

export function exitCodeOf({ findings }: FsckReport): number {
  const has = (outcome: Outcome): boolean => findings.some((one) => one.outcome === outcome);
  const left = has("Found") ? 4 : 0;
  const repaired = has("Repaired") && left === 0 ? 1 : 0;
  return left + repaired + (has("Unchecked") ? 8 : 0);
}

/** What `-o json` prints. */
export function fsckList({ checked, findings }: FsckReport) {
  return { apiVersion: "agent/v1", kind: "FsckReport", checked, items: findings };
}

const WORDS: Readonly<Record<Outcome, { readonly text: string; readonly style: Style }>> = {
  Found: { text: "damaged", style: "bad" },
  Repaired: { text: "repaired", style: "good" },
  Unchecked: { text: "unchecked", style: "pending" },
};
const WIDTH = "unchecked".length + 2;

/** A line for what was checked of each part, then a block for each finding, and a summary. */
export function fsckText({ checked, findings }: FsckReport, palette: Palette = PLAIN): string {
  const width = Math.max(0, ...checked.map(({ part }) => part.length)) + 2;
  const parts = checked.map(({ part, what }) => printable(`${part.padEnd(width)}${what}`));
  const blocks = findings.flatMap((finding) => blockOf(finding, palette));
  const count = (outcome: Outcome): number =>
    findings.filter((one) => one.outcome === outcome).length;
  const summary =
    findings.length === 0
      ? "nothing is damaged"
      : `${count("Found")} damaged, ${count("Repaired")} repaired, ${count("Unchecked")} unchecked`;
  const lines = [...parts, "", ...blocks, ...(blocks.length === 0 ? [] : [""]), summary];
  return lines.map((line) => `${line}\n`).join("");
}

function blockOf(finding: FsckFinding, palette: Palette): readonly string[] {
  const { outcome, part, file, what, remedy, images = [], pods = [] } = finding;
  const { text, style } = WORDS[outcome];
  const indent = " ".repeat(WIDTH);
  const more = [
    ...(images.length === 0 ? [] : [`images: ${images.join(", ")}`]),
    ...(pods.length === 0 ? [] : [`pods: ${pods.join(", ")}`]),
    `→ ${remedy}`,
  ];
  return [
    palette(text.padEnd(WIDTH), style) + printable(`${part} ${file}: ${what}`),
    ...more.map((line) => printable(indent + line)),
  ];
}
