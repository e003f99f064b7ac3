// An explanation of a pod as one screen of text; nothing that a pod wrote commands the terminal.

import { humanDuration } from "../../api/resource/duration.ts";
import type { Explanation } from "../../node/explain/explain-pod.ts";
import type { ExplainedContainer } from "../../node/explain/explain-containers.ts";
import { PLAIN, type Palette } from "../terminal/palette.ts";
import { age, columnWidths, formatRows, printable, type Row } from "../terminal-text.ts";

const WIDTH = 12;
const LOG_MARK = "| ";
/** What a pod wrote is never at the beginning of a line. */
const TITLE = /^[A-Z][A-Za-z ]*:/;

/** `now`: wall-clock milliseconds, for ages. */
export function explanationText(
  explained: Explanation,
  now: number,
  palette: Palette = PLAIN,
): string {
  const { namespace, pod, advice } = explained;
  const lines = [
    field("Pod", `${namespace}/${pod}`),
    field("Status", statusOf(explained)),
    field("Advice", advice),
    ...sourceLines(explained),
    ...explained.dependencies.map(({ pod: other, state, now: is, met }) =>
      field("Waits for", `pod ${other} to be ${state}: ${met ? "it is" : `it is ${is}`}`),
    ),
    ...explained.updates.map(({ reason, message }) => field("Update", `${reason}: ${message}`)),
    ...causeLines(explained),
    ...section(
      "Images",
      rows(explained.images.map(({ image, state, message = "" }) => [image, state, message])),
    ),
    ...section(
      "Volumes",
      rows(
        explained.volumes.map(({ name, kind, state, message = "" }) => [
          name,
          kind,
          state,
          message,
        ]),
      ),
    ),
    ...section(
      "Containers",
      explained.containers.flatMap((one) => containerLines(one, now)),
    ),
    ...section(
      "Warnings",
      rows(
        explained.warnings.map(({ time, reason, message, count }) => [
          age(time, now),
          count > 1 ? `${reason} (x${count})` : reason,
          message,
        ]),
      ),
    ),
  ];
  return lines
    .map((line) => line.trimEnd().replace(TITLE, (title) => palette(title, "heading")))
    .map((line) => `${line}\n`)
    .join("");
}

function field(title: string, text: string): string {
  return `${`${title}:`.padEnd(WIDTH)}${printable(text)}`;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
}

function rows(cells: readonly Row[]): readonly string[] {
  const filled = cells.map((row) =>
    row.filter((cell, index) => cell !== "" || index < row.length - 1),
  );
  return formatRows(filled, columnWidths(filled))
    .split("\n")
    .filter((line) => line !== "");
}

function statusOf({ phase, well, causes }: Explanation): string {
  const first = causes[0]?.reason;
  if (phase === undefined) return `not accepted${first === undefined ? "" : `: ${first}`}`;
  if (well) return phase === "Succeeded" ? "Succeeded" : `${phase}, and ready`;
  return first === undefined ? phase : `${phase}: ${first}`;
}

function sourceLines({ source, admitted }: Explanation): readonly string[] {
  if (source === undefined) return [];
  const { source: name, ref, line, specHash } = source;
  const place = line === undefined ? ref : `${ref}:${line}`;
  return [
    field("Source", `${name} ${place} (spec ${specHash})`),
    field("Admission", admitted ? "admitted" : "not admitted"),
  ];
}

function causeLines({ causes }: Explanation): readonly string[] {
  return section(
    "Causes",
    causes.map(({ element, reason, message }) =>
      printable(`${element === undefined ? "" : `${element}: `}${reason}: ${message}`),
    ),
  );
}

function containerLines(container: ExplainedContainer, now: number): readonly string[] {
  const { name, kind, stage, reason, restarts, message, nextTry, lines } = container;
  const restarted =
    restarts === 0 ? [] : [`restarted ${restarts} ${restarts === 1 ? "time" : "times"}`];
  const what = [stage, ...(reason === undefined ? [] : [reason]), ...restarted].join(", ");
  return [
    printable(`${name}${kind === "app" ? "" : ` (${kind})`}: ${what}`),
    ...(message === undefined ? [] : [`  ${field("error", message)}`]),
    ...exitLines(container, now),
    ...(nextTry === undefined ? [] : [`  ${field("next try", inTime(nextTry, now))}`]),
    ...lines.map((line, index) => `  ${logLine(line, index === 0)}`),
  ];
}

function logLine(line: string, isFirst: boolean): string {
  return `${(isFirst ? "log:" : "").padEnd(WIDTH)}${LOG_MARK}${printable(line)}`;
}

function exitLines(
  { lastExit, message: shown }: ExplainedContainer,
  now: number,
): readonly string[] {
  if (lastExit === undefined) return [];
  const { exitCode, signal, reason, finishedAt, message } = lastExit;
  const how = signal === undefined ? `exit code ${exitCode}` : `signal ${signal}`;
  const when = finishedAt === undefined ? "" : `, ${age(finishedAt, now)} ago`;
  const said = message === undefined || message === shown ? "" : `: ${message}`;
  return [`  ${field("last exit", `${how} (${reason})${when}${said}`)}`];
}

function inTime(time: string, now: number): string {
  const ms = Date.parse(time) - now;
  return ms <= 0 ? "now" : `in ${humanDuration(ms)} (${time})`;
}
