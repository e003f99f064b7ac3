// Decides what a container's last words were: what it wrote to its termination log, else the end of its output.
// kubelet: getTerminationMessage, readLastStringFromContainerLogs

import type { Container } from "../../api/v1/container.ts";
import { AgentError } from "../../lib/errors.ts";

/** Bytes of the file that count: the last. kubelet: MaxContainerTerminationMessageLength */
export const MESSAGE_BYTES = 4096;
/** Bytes at the end of a log in which its last words are looked for: two lines of the longest kind. */
export const LOG_TAIL_BYTES = 32 * 1024;
/** kubelet: MaxContainerTerminationMessageLogLength, …LogLines */
const LOG_BYTES = 2048;
const LOG_LINES = 80;

/** Containers that never ran have said nothing. */
const NEVER_RAN: readonly string[] = ["ContainerCannotRun", "StartError"];

/**
 * Where one instance's termination message lies on the host: `<stateDir>/pods/<uid>/containers/<name>/<attempt>`.
 * Throws AgentError `InvalidUID` for what could lead anywhere else.
 */
export function terminationLogPath(
  stateDir: string,
  instance: { readonly uid: string; readonly container: string; readonly attempt: number },
): string {
  const { uid, container, attempt } = instance;
  if (![uid, container].every((part) => /^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/.test(part))) {
    const message = `"${uid}" and "${container}" do not name a container of a pod`;
    throw new AgentError({ reason: "InvalidUID", message });
  }
  return `${stateDir.replace(/\/+$/, "")}/pods/${uid}/containers/${container}/${attempt}`;
}

/** As a mount needs it. */
export function absolutePath(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

export interface Ending {
  readonly policy: Container["terminationMessagePolicy"];
  readonly exitCode: number;
  /** The runtime's word. */
  readonly reason: string;
  /** What the file holds; undefined = there is none. */
  readonly file: Uint8Array | undefined;
}

export function fallsBackToLogs({ policy, exitCode, reason, file }: Ending): boolean {
  if (policy !== "FallbackToLogsOnError" || exitCode === 0) return false;
  return (file === undefined || file.length === 0) && !NEVER_RAN.includes(reason);
}

/** The file's end as text; bytes that are no UTF-8 are replaced. */
export function fileMessage(file: Uint8Array): string {
  return lastBytes(textOf(file.subarray(-MESSAGE_BYTES)), MESSAGE_BYTES);
}

/** The last lines of a CRI log, without time, stream and tag; `tail` are its last LOG_TAIL_BYTES, or all of it. */
export function logMessage(tail: Uint8Array): string {
  const lines = textOf(tail).split("\n");
  // What follows the last newline is nothing, or a line that was cut off with its container.
  if (lines.at(-1) === "") lines.pop();
  if (tail.length >= LOG_TAIL_BYTES && lines.length > 1) lines.shift();
  return lastBytes(lines.slice(-LOG_LINES).map(contentOf).join(""), LOG_BYTES);
}

/** kubelet: the runtime's own message first, then the container's. */
export function joinedMessage(runtime: string, container: string): string {
  if (runtime === "" || container === "") return runtime + container;
  return `${runtime}: ${container}`;
}

// `2026-11-21T08:00:00.123456789Z stdout F words`: F ends a line, P is continued by the next.
function contentOf(line: string): string {
  const match = /^[^ ]+ std(?:out|err) ([^ ]+) ?(.*)$/s.exec(line);
  if (match === null) return "";
  const [, tags = "", words = ""] = match;
  return tags.split(":")[0] === "P" ? words : `${words}\n`;
}

/** The beginning may lie within a character: its rest is no part of the message. */
function textOf(bytes: Uint8Array): string {
  const start = bytes.findIndex((byte) => !isContinuation(byte));
  return new TextDecoder().decode(bytes.subarray(start <= 0 || start > 3 ? 0 : start));
}

function lastBytes(text: string, max: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= max) return text;
  const cut = bytes.subarray(bytes.length - max);
  const start = cut.findIndex((byte) => !isContinuation(byte));
  return new TextDecoder().decode(cut.subarray(Math.max(0, start)));
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
