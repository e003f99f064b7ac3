// What is to be said about one object: every problem with its path and place, up to what anybody would read.

import { formatPath, type FieldPath, type Locate } from "./field-path.ts";
import { wordBoolean } from "../yaml/yaml-scalars.ts";
import type { FieldError } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";

export type UnknownFields = "refuse" | "warn";

interface FindingsOptions {
  readonly locate: Locate;
  readonly lenient: boolean;
  /** What fields are that Kubernetes does not know; refused if left out. */
  readonly unknownFields?: UnknownFields;
  /** Of the file or document; absent = of this object alone. */
  readonly budget?: FindingsBudget | undefined;
}

/** Errors of one object that are told, and as many warnings; the others are only counted. */
export const MAX_FINDINGS = 100;
const MAX_OF_ALL = 100;
/** Characters. */
const MAX_MESSAGE = 1000;
export const UNKNOWN_FIELD = "unknown field";

/** A function is asked for it if it is told: in full, or in few words where the file has said enough. */
export type Message = string | ((isInFull: boolean) => string);

export function messageText(message: Message, isInFull: boolean): string {
  return typeof message === "string" ? message : message(isInFull);
}

/** With a hint that takes some looking for. */
export function hinted(message: string, hint: () => string): Message {
  return (isInFull) => (isInFull ? message + hint() : message);
}

/** How many findings are told of one file or document with all its objects, and in full: the first of an object always is, in few words. */
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
  /** Fields where `yes` or `on` was meant as text: the written object gets the text. */
  readonly rewrites: { readonly path: FieldPath; readonly text: string }[] = [];
  readonly #errors: FieldError[] = [];
  readonly #warnings: FieldError[] = [];
  #untoldErrors = 0;
  #untoldWarnings = 0;
  readonly #locate: Locate;
  readonly #lenient: boolean;
  readonly #unknownFields: UnknownFields;
  readonly #budget: FindingsBudget;

  constructor(options: FindingsOptions) {
    this.#locate = options.locate;
    this.#lenient = options.lenient;
    this.#unknownFields = options.unknownFields ?? "refuse";
    this.#budget = options.budget ?? new FindingsBudget();
  }

  /** Empty = the object is good. The last one says how many are not told. */
  get errors(): readonly FieldError[] {
    return this.#told(this.#errors, {
      untold: this.#untoldErrors,
      code: "TooMany",
      what: "errors",
    });
  }

  get warnings(): readonly FieldError[] {
    const of = { untold: this.#untoldWarnings, code: "Ignored", what: "warnings" };
    return this.#told(this.#warnings, of);
  }

  fail(path: FieldPath, code: string, message: Message): void {
    if (!this.#tell(this.#errors, { path, code, message })) this.#untoldErrors += 1;
  }

  warn(path: FieldPath, code: string, message: Message): void {
    if (!this.#tell(this.#warnings, { path, code, message })) this.#untoldWarnings += 1;
  }

  /** A field that no table has: an error, unless the object's author wants to be warned only. */
  unknown(path: FieldPath, message: Message): void {
    if (this.#unknownFields === "refuse") this.fail(path, "UnknownField", message);
    else this.warn(path, "Ignored", message);
  }

  /** The text of an unquoted y, yes, on, n, no, off; undefined if something else stands there. */
  wordAt(path: FieldPath): string | undefined {
    const text = this.#locate(path)?.text;
    return text !== undefined && wordBoolean(text) !== undefined ? text : undefined;
  }

  /** The text that was read in place of the boolean of YAML; undefined if what is there was read as it is. */
  textReadAt(path: FieldPath): string | undefined {
    if (this.rewrites.length === 0) return undefined;
    const place = formatPath(path);
    return this.rewrites.find((rewrite) => formatPath(rewrite.path) === place)?.text;
  }

  /** False = it is one too many. */
  #tell(told: FieldError[], found: Found): boolean {
    if (told.length >= MAX_FINDINGS) return false;
    const isInFull = this.#budget.take();
    if (!isInFull && told.length > 0) return false;
    told.push(this.#finding(found, isInFull));
    return true;
  }

  #told(
    told: readonly FieldError[],
    {
      untold,
      code,
      what,
    }: { readonly untold: number; readonly code: string; readonly what: string },
  ): readonly FieldError[] {
    const inOrder = told.toSorted(byPlace);
    if (untold === 0) return inOrder;
    return [
      ...inOrder,
      this.#finding({ path: [], code, message: `and ${untold} more ${what}` }, true),
    ];
  }

  #finding({ path, code, message }: Found, isInFull: boolean): FieldError {
    const text = messageText(message, isInFull);
    const finding = { path: formatPath(path), message: shortText(text, MAX_MESSAGE), code };
    // A checkpoint has no text to point at.
    const position = this.#lenient ? undefined : this.#locate(path);
    return position === undefined
      ? finding
      : { ...finding, line: position.line, column: position.column };
  }
}

/** In the order of the text; findings without a position keep theirs. */
function byPlace(a: FieldError, b: FieldError): number {
  if (a.line === undefined || b.line === undefined) return 0;
  const distance = a.line - b.line || (a.column ?? 0) - (b.column ?? 0);
  if (distance !== 0 || a.path === b.path) return distance;
  return a.path < b.path ? -1 : 1;
}

export interface AnnotationError {
  /** Of the annotation. */
  readonly key: string;
  /** What is wrong in it. */
  readonly value: string;
  readonly message: Message;
}
