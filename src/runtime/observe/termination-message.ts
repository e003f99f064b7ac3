// The termination message of a container: what it wrote to its termination log, else the end of its output.
// kubelet: getTerminationMessage, readLastStringFromContainerLogs

import type { Container } from "../../api/v1/container.ts";
import { HIDDEN } from "../../lib/short-text.ts";

/** Only the last bytes of the file count. kubelet: MaxContainerTerminationMessageLength */
export const MESSAGE_BYTES = 4096;
/** Bytes read from the end of a log: two lines of the maximum length. */
export const LOG_TAIL_BYTES = 32 * 1024;
/** kubelet: MaxContainerTerminationMessageLogLength, …LogLines */
const LOG_BYTES = 2048;
const LOG_LINES = 80;

/** Reasons of containers that never ran, and so have no output. */
const NEVER_RAN: readonly string[] = ["ContainerCannotRun", "StartError"];

/** Mounts need absolute paths. */
export function absolutePath(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

export interface Ending {
  readonly policy: Container["terminationMessagePolicy"];
  readonly exitCode: number;
  /** The runtime's reason. */
  readonly reason: string;
  /** Content of the termination log; undefined = no file. */
  readonly file: Uint8Array | undefined;
}

export function fallsBackToLogs({ policy, exitCode, reason, file }: Ending): boolean {
  if (policy !== "FallbackToLogsOnError" || exitCode === 0) return false;
  return (file === undefined || file.length === 0) && !NEVER_RAN.includes(reason);
}

/** The end of the file as text; invalid UTF-8 is replaced. */
export function fileMessage(file: Uint8Array): string {
  return lastBytes(textOf(file.subarray(-MESSAGE_BYTES)), MESSAGE_BYTES);
}

/** The last lines of a CRI log, without time, stream and tag; `tail` is its last LOG_TAIL_BYTES, or all of it. */
export function logMessage(tail: Uint8Array): string {
  const lines = textOf(tail).split("\n");
  // After the last newline there is nothing, or a line that the container's end cut off.
  if (lines.at(-1) === "") lines.pop();
  if (tail.length >= LOG_TAIL_BYTES && lines.length > 1) lines.shift();
  return lastBytes(lines.slice(-LOG_LINES).map(contentOf).join(""), LOG_BYTES);
}

/** `"exec: \"x\""`, `'x'` and `\u0060x\u0060` (crun); one that is cut off ends with the message. */
const QUOTED = /(["'`])((?:\\[^]|(?!\1)[^\\])*)(?:\1|\\?$)/g;
/** Shorter values are not worth hiding where they are not quoted, and would match unrelated text. */
const MIN_HIDDEN = 4;
/** A runtime quotes the command, and perhaps some paths; every further one is hidden where it is quoted only. */
const MAX_QUOTED = 8;
/** In UTF-16 units; no more than the beginning is shown anyway. */
const MAX_RUNTIME_MESSAGE = 64 * 1024;

/**
 * The message of a container that never ran: runtimes quote the program that they cannot start. If the spec names it by
 * `$(NAME)`, the value may be secret, and of an earlier Secret or an earlier process of the agent: whatever is quoted is hidden.
 */
export function withoutProgram(
  { reason, message }: { readonly reason: string; readonly message: string },
  { command, args }: Pick<Container, "command" | "args">,
): string {
  const program = command[0] ?? args[0] ?? "";
  if (!NEVER_RAN.includes(reason) || !program.includes("$(")) return message;
  const start = message.slice(0, MAX_RUNTIME_MESSAGE);
  const quoted = [...start.matchAll(QUOTED)].map(([, , text = ""]) => text);
  if (quoted.length === 0)
    return "the runtime cannot start the command; its message is not shown, because the command contains values of variables";
  const values = [...new Set(quoted)].filter((text) => text.length >= MIN_HIDDEN);
  return values
    .slice(0, MAX_QUOTED)
    .toSorted((a, b) => b.length - a.length)
    .reduce(
      (text, value) => text.replaceAll(value, HIDDEN),
      start.replaceAll(QUOTED, `$1${HIDDEN}$1`),
    );
}

/** kubelet: the runtime's own message first, then the container's. */
export function joinedMessage(runtime: string, container: string): string {
  if (runtime === "" || container === "") return runtime + container;
  return `${runtime}: ${container}`;
}

// `2026-11-21T08:00:00.123456789Z stdout F text`: F ends a line, P continues in the next.
function contentOf(line: string): string {
  const match = /^[^ ]+ std(?:out|err) ([^ ]+) ?(.*)$/s.exec(line);
  if (match === null) return "";
  const [, tags = "", words = ""] = match;
  return tags.split(":")[0] === "P" ? words : `${words}\n`;
}

/** The bytes may begin within a character, whose rest is dropped. */
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

/** Of all containers of a pod together. kubelet: MaxPodTerminationMessageLogLength */
const POD_BYTES = 12 * 1024;

/** The beginning of `message` that fits if `containers` (init containers too) share the room evenly. kubelet: normalizeStatus */
export function sharedMessage(message: string, containers: number): string {
  const share = Math.floor(POD_BYTES / Math.max(1, containers));
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= share) return message;
  // A character that is cut in two is left out.
  let end = share;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}
