// Which certificates of the connection to the broker have expired, expire soon or cannot be read, as conditions.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { rfc3339 } from "../../lib/clock.ts";

/** One PEM file of the configuration as it is on the disk now, or the text of a document. */
export interface CertificateFile {
  /** The field of the configuration that names it. */
  readonly field: "mqtt.caFile" | "mqtt.ca" | "mqtt.certFile" | "mqtt.keyFile";
  readonly path: string;
  /** When its certificates expire, in ms since 1970; empty for a key. */
  readonly expiries: readonly number[];
  /** Why it cannot be used. */
  readonly error?: string;
}

/** Early enough to renew a certificate by hand. */
const EXPIRY_WARNING_MS = 30 * 86_400_000;

/** `now` = wall-clock milliseconds, if synchronised; without it no expiry is judged. */
export function certificateConditions(
  files: readonly CertificateFile[],
  now: number | undefined,
): readonly NodeCondition[] {
  const broken = files.filter(({ error }) => error !== undefined);
  const expiring = files.flatMap((file) => expiryMessage(file, now) ?? []);
  const unreadable = condition("CertificateUnreadable", "FileError", broken.map(errorMessage));
  const isOver = expiring.some(({ over }) => over);
  const soon = expiring.map(({ message }) => message);
  return [
    ...unreadable,
    ...condition("CertificateExpiring", isOver ? "Expired" : "ExpiresSoon", soon),
  ];
}

function condition(
  type: string,
  reason: string,
  messages: readonly string[],
): readonly NodeCondition[] {
  if (messages.length === 0) return [];
  return [{ type, status: "True", reason, message: messages.join("; ") }];
}

function errorMessage({ field, path, error = "" }: CertificateFile): string {
  return error.includes(path) ? `${field}: ${error}` : `${field} ${path} ${error}`;
}

function expiryMessage(
  { field, path, expiries, error }: CertificateFile,
  now: number | undefined,
): { readonly message: string; readonly over: boolean } | undefined {
  if (now === undefined || error !== undefined || expiries.length === 0) return undefined;
  const end = lastDay(field, expiries);
  if (end - now >= EXPIRY_WARNING_MS) return undefined;
  const over = end <= now;
  const verb = over ? "expired on" : "expires on";
  return { message: `${field} ${path} ${verb} ${rfc3339(end)}`, over };
}

/**
 * A chain is valid until its first certificate expires; a file of CAs, which may overlap for a rotation, until the last.
 */
function lastDay(field: CertificateFile["field"], expiries: readonly number[]): number {
  return field === "mqtt.caFile" || field === "mqtt.ca"
    ? Math.max(...expiries)
    : Math.min(...expiries);
}
