// What is wrong with one object: every problem with its path and place, up to a bound, in Kubernetes' wording.

import { formatPath, type FieldPath, type Locate } from "./field-path.ts";
import type { FieldError } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";

/** `ignore`: for those who only want the value; what was meant by a field is not looked for. */
export type UnknownFields = "refuse" | "warn" | "ignore";

/** How one object is read. */
export interface ReadContext {
  /** Line and column of fields, where the text is known. */
  readonly locate?: Locate | undefined;
  /** True for checkpoints: an object that was accepted once is never refused, and takes whatever can be used. */
  readonly lenient?: boolean | undefined;
  /** Of the whole file or document; absent = of this object alone. */
  readonly budget?: FindingsBudget | undefined;
}

interface FindingsOptions extends ReadContext {
  /** What happens to fields that Kubernetes does not know; refused if left out. */
  readonly unknownFields?: UnknownFields | undefined;
}

/** Errors of one object that are reported, and as many warnings; the others are only counted. */
export const MAX_FINDINGS = 100;
const MAX_OF_ALL = 100;
/** Characters of a message. */
const MAX_MESSAGE = 1000;
/** Characters of a value in a message. */
const MAX_SHOWN = 80;
export const UNKNOWN_FIELD = "unknown field";

/** A function is called only if the message is reported: in full, or in few words once the budget is spent. */
export type Message = string | ((isInFull: boolean) => string);

function messageText(message: Message, isInFull: boolean): string {
  return typeof message === "string" ? message : message(isInFull);
}

/** With a hint that is expensive to find. */
export function hinted(message: string, hint: () => string): Message {
  return (isInFull) => (isInFull ? message + hint() : message);
}

/** How many findings of one file or document with all its objects are reported in full; the first of an object always is, in few words. */
export class FindingsBudget {
  #left = MAX_OF_ALL;

  /** False = it is spent. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}

interface Found {
  readonly path: FieldPath;
  readonly code: string;
  readonly message: Message;
}

/** What decoding one object collects. */
export class Findings {
  /** Fields of a checkpoint where `yes` or `on` was accepted as text: the written object gets the text. */
  readonly rewrites: { readonly path: FieldPath; readonly text: string }[] = [];
  readonly #errors: Collected = { reported: [], omitted: 0 };
  /** Paths of the fields that unknown ones probably mean. */
  readonly #meant = new Set<string>();
  readonly #warnings: Collected = { reported: [], omitted: 0 };
  readonly #options: FindingsOptions;
  readonly #budget: FindingsBudget;

  constructor(options: FindingsOptions = {}) {
    this.#options = options;
    this.#budget = options.budget ?? new FindingsBudget();
  }

  /** Empty = the object is good. The last one counts those that are not reported. */
  get errors(): readonly FieldError[] {
    return this.#listed(this.#errors, "TooMany", "errors");
  }

  get warnings(): readonly FieldError[] {
    return this.#listed(this.#warnings, "Ignored", "warnings");
  }

  fail(path: FieldPath, code: string, message: Message): void {
    this.#add(this.#errors, { path, code, message });
  }

  /** `Invalid value: "x": must …` */
  invalid(path: FieldPath, value: unknown, message: Message): void {
    // Formatted only if it is reported.
    this.fail(path, "Invalid", (isInFull) => invalidValue(value, messageText(message, isInFull)));
  }

  /** The field may not be written here at all, whatever its value. */
  forbidden(path: FieldPath, message: string): void {
    this.fail(path, "Invalid", `Forbidden: ${message}`);
  }

  required(path: FieldPath, message = ""): void {
    if (this.isMeant(path)) return;
    const text = message === "" ? "Required value" : `Required value: ${message}`;
    this.fail(path, "Required", text);
  }

  duplicate(path: FieldPath, value: unknown): void {
    this.fail(path, "Duplicate", `Duplicate value: ${JSON.stringify(value)}`);
  }

  unsupported(path: FieldPath, value: unknown, choices: readonly string[]): void {
    const listed = choices.map((word) => JSON.stringify(word)).join(", ");
    this.fail(path, "Invalid", `Unsupported value: ${shown(value)}: supported values: ${listed}`);
  }

  warn(path: FieldPath, code: string, message: Message): void {
    this.#add(this.#warnings, { path, code, message });
  }

  /** A field that no table has: an error, unless the object's author wants a warning only. */
  unknown(path: FieldPath, message: Message): void {
    const { unknownFields = "refuse" } = this.#options;
    if (unknownFields === "warn") this.warn(path, "Ignored", message);
    if (unknownFields === "refuse") this.fail(path, "UnknownField", message);
  }

  /** An unknown field that is refused probably means the one at `path`: that this one is not written is no error of its own. */
  meant(path: FieldPath): void {
    this.#meant.add(formatPath(path));
  }

  isMeant(path: FieldPath): boolean {
    return this.#meant.size > 0 && this.#meant.has(formatPath(path));
  }

  /** Whether something is wrong with the field or below it: what depends on its value is then not judged. */
  hasErrorIn(path: FieldPath): boolean {
    if (this.#errors.reported.length === 0) return false;
    const place = formatPath(path);
    return this.#errors.reported.some(
      (error) => error.path.startsWith(place) && /^([.[]|$)/.test(error.path.slice(place.length)),
    );
  }

  get refusesUnknownFields(): boolean {
    return (this.#options.unknownFields ?? "refuse") === "refuse";
  }

  /** True for a checkpoint: what was accepted once keeps its meaning. */
  get isLenient(): boolean {
    return this.#options.lenient === true;
  }

  /** The text of an unquoted scalar that YAML read as something else, such as `yes` or `1_000`. */
  plainTextAt(path: FieldPath): string | undefined {
    return this.#options.locate?.(path)?.text;
  }

  #add(findings: Collected, found: Found): void {
    const { reported } = findings;
    const isInFull = reported.length < MAX_FINDINGS && this.#budget.take();
    if (isInFull || reported.length === 0) reported.push(this.#finding(found, isInFull));
    else findings.omitted += 1;
  }

  #listed({ reported, omitted }: Collected, code: string, what: string): readonly FieldError[] {
    const inOrder = reported.toSorted(byPlace);
    if (omitted === 0) return inOrder;
    const message = `and ${omitted} more ${what}`;
    return [...inOrder, this.#finding({ path: [], code, message }, true)];
  }

  #finding({ path, code, message }: Found, isInFull: boolean): FieldError {
    const text = shortText(messageText(message, isInFull), MAX_MESSAGE);
    // A checkpoint has no text to point at.
    const { lenient, locate } = this.#options;
    return locatedError({ path, code, message: text }, lenient === true ? undefined : locate);
  }
}

interface Collected {
  readonly reported: FieldError[];
  omitted: number;
}

/** An error with the place of its field, where that is known. */
export function locatedError(
  { path, code, message }: Found & { readonly message: string },
  locate: Locate | undefined,
): FieldError {
  const position = locate?.(path);
  const error = { path: formatPath(path), message, code };
  return position === undefined
    ? error
    : { ...error, line: position.line, column: position.column };
}

/** `Invalid value: "x": must …`, as the API server words it. */
export function invalidValue(value: unknown, message: string): string {
  return `Invalid value: ${shown(value)}: ${message}`;
}

/** Short enough for a log line. */
function shown(value: unknown): string {
  // What JSON has no number for would be shown as null.
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  const text = JSON.stringify(typeof value === "string" ? shortText(value, MAX_SHOWN) : value);
  return shortText(text ?? "null", MAX_SHOWN);
}

/** In the order of the text; findings without a position keep theirs. */
function byPlace(a: FieldError, b: FieldError): number {
  if (a.line === undefined || b.line === undefined) return 0;
  const distance = a.line - b.line || (a.column ?? 0) - (b.column ?? 0);
  if (distance !== 0 || a.path === b.path) return distance;
  return a.path < b.path ? -1 : 1;
}
