// A refusal as data: its code, its message, and every error with document, object and field path.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { FieldError } from "../../lib/result.ts";
import type { DocumentAddress } from "../../protocol/desired-document.ts";
import type { RefusalCode } from "../../protocol/status-codes.ts";
import { messageOf } from "../../lib/errors.ts";

export interface DocumentRefusal {
  readonly code: RefusalCode;
  /** What is wrong, and what to do. */
  readonly message: string;
  readonly rejections: readonly Rejection[];
}

/** Caps the errors reported one by one; a document of 48 KiB can hold thousands. */
const MAX_REJECTIONS = 100;
const SHOWN_IN_MESSAGE = 3;

/** A refusal of the document as a whole. */
export function refusal(code: RefusalCode, message: string): DocumentRefusal {
  return { code, message, rejections: [] };
}

/** A refusal for the listed errors; the message contains the first few. */
export function refusalFor(code: RefusalCode, rejections: readonly Rejection[]): DocumentRefusal {
  const shown = rejections.slice(0, SHOWN_IN_MESSAGE).map((rejection) => sentence(rejection));
  const more = rejections.length - shown.length;
  const message = [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
  return { code, message, rejections: rejections.slice(0, MAX_REJECTIONS) };
}

/** Errors of the envelope as rejections: their path starts at the document. */
export function documentRejections(
  errors: readonly FieldError[],
  { source, ref }: DocumentAddress,
): readonly Rejection[] {
  return errors.map((error) => ({ source, ref, kind: "DesiredState", ...error }));
}

function sentence(rejection: Rejection): string {
  const { kind, namespace, name, path, line, message } = rejection;
  const object = name === undefined ? "" : `${kind ?? "object"} ${namespace ?? "default"}/${name}`;
  const place = path === "" && line !== undefined ? `line ${line}` : path;
  return [object, place, message].filter((part) => part !== "").join(": ");
}

/** 507 when the disk is full, else 500; the document is kept in memory and tried again. */
export function storageRefusal(thrown: unknown): DocumentRefusal {
  const again = "it is tried again by itself";
  const why = messageOf(thrown);
  if (isNoSpace(thrown))
    return refusal(507, `no space left to keep the document (${why}); free some space, ${again}`);
  return refusal(500, `the document could not be kept (${why}); ${again}`);
}

const NO_SPACE: readonly unknown[] = ["ENOSPC", "EDQUOT", "SQLITE_FULL", "DatabaseFull"];

function isNoSpace(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const code = "code" in thrown ? thrown.code : undefined;
  const reason = "reason" in thrown ? thrown.reason : undefined;
  return NO_SPACE.includes(code) || NO_SPACE.includes(reason) || isNoSpace(thrown.cause);
}
