// Colour on a terminal: whether there is any, and which text has which.

export type Style = "heading" | "good" | "pending" | "bad";

/** The text in a style; undefined = as it is. */
export type Palette = (text: string, style: Style | undefined) => string;

export const COLOUR_CHOICES = ["auto", "always", "never"];

export interface ColourFacts {
  /** `--color`; undefined = auto. */
  readonly wanted: string | undefined;
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The one place that decides it: the flag, then NO_COLOR (no-color.org), then the terminal. */
export function isColoured({ wanted, isTerminal, environment }: ColourFacts): boolean {
  if (wanted === "always" || wanted === "never") return wanted === "always";
  if ((environment["NO_COLOR"] ?? "") !== "") return false;
  return isTerminal && environment["TERM"] !== "dumb";
}

/** The value of `--color` among the words of a command line; those after `--` belong to another program. */
export function wantedColour(argv: readonly string[]): string | undefined {
  const end = argv.indexOf("--");
  const own = end === -1 ? argv : argv.slice(0, end);
  const at = own.findLastIndex((word) => word === "--color" || word.startsWith("--color="));
  return own[at]?.split("=")[1] ?? (at === -1 ? undefined : own[at + 1]);
}

const CODES: Readonly<Record<Style, number>> = { heading: 1, good: 32, pending: 33, bad: 31 };

export const PLAIN: Palette = (text) => text;

/** SGR of ECMA-48. */
export const COLOURS: Palette = (text, style) =>
  style === undefined || text === "" ? text : `\u001b[${CODES[style]}m${text}\u001b[0m`;

const LABELS = /^(?:(Error|error|Problem)|(Warning))(?=[ :])/;

/** A message on standard error with its first word in colour. */
export function tintLabel(palette: Palette, text: string): string {
  return text.replace(LABELS, (label, bad: string | undefined) =>
    palette(label, bad === undefined ? "pending" : "bad"),
  );
}

const GOOD = /^(?:Running|Ready|Succeeded|Completed|Complete|Active|Bound|True|online|ok)$/;
const PENDING =
  /^(?:Pending|ContainerCreating|PodInitializing|Terminating|Terminated|Waiting|Unknown|Gone|Released|Init:\d+\/\d+|SchedulingGated|warning|Warning|offline|unknown)$/;
const BAD =
  /Err|Error|BackOff|Failed|Evicted|OOMKilled|^(?:Lost|NotReady|Invalid\w*|ExitCode:\d+|Signal:\d+|DeadlineExceeded|StartError|\w*Rejected|ImageNeverPull|Unhealthy|error)$/;

/** Of a word that says how an object is, such as the STATUS of a pod. */
export function statusStyle(word: string): Style | undefined {
  if (BAD.test(word)) return "bad";
  if (PENDING.test(word)) return "pending";
  return GOOD.test(word) ? "good" : undefined;
}

/** The style of a cell; `row` 0 is the first that is shown. */
export type Tint = (cell: string, at: { readonly row: number; readonly column: number }) => string;

const STATUS_TITLES = ["STATUS", "STATE", "PHASE", "TYPE"];

/** Of a table with these titles: they are headings, and words of status have colours. */
export function tableTint(
  palette: Palette,
  titles: readonly string[],
  { isHeadless = false } = {},
): Tint {
  return (cell, { row, column }) => {
    if (row === 0 && !isHeadless) return palette(cell, "heading");
    const isStatus = STATUS_TITLES.includes(titles[column] ?? "");
    return palette(cell, isStatus ? statusStyle(cell) : undefined);
  };
}
