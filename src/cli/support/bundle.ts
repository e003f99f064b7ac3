// The content of a bundle as data: its files, what was left out, its README, and its tar archive.

import { entryHeader } from "../stream/tar-entries.ts";
import { endOfArchive, padding } from "../../image/archive/tar-writer.ts";

/** A file that a part of the bundle has read; it is not redacted yet. */
export interface ReadFile {
  /** Below the directory of the bundle. */
  readonly name: string;
  /** Where it is from, in words. */
  readonly from: string;
  readonly content:
    | { readonly type: "Text"; readonly text: string }
    | { readonly type: "Json"; readonly value: unknown };
  /** What is missing in it. */
  readonly note?: string;
}

export interface BundleFile extends Pick<ReadFile, "name" | "from" | "note"> {
  readonly bytes: Uint8Array;
}

export interface LeftOut {
  readonly name: string;
  readonly why: string;
}

export interface Bundle {
  readonly files: readonly BundleFile[];
  readonly leftOut: readonly LeftOut[];
}

export const EMPTY: Bundle = { files: [], leftOut: [] };
/** Of one file; its end is kept, because the newest stands there. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Of all files together, before they are compressed. */
export const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;

/** `text`: redacted. */
export function withFile(bundle: Bundle, file: ReadFile, text: string): Bundle {
  const whole = new TextEncoder().encode(text);
  const { name, from } = file;
  const isCut = whole.length > MAX_FILE_BYTES;
  const bytes = isCut ? afterLineFeed(whole.subarray(whole.length - MAX_FILE_BYTES)) : whole;
  const size = bundle.files.reduce((sum, one) => sum + one.bytes.length, 0);
  if (size + bytes.length > MAX_BUNDLE_BYTES)
    return withoutFile(bundle, { name, why: `the bundle has its ${MAX_BUNDLE_BYTES} bytes` });
  const cut = isCut ? [`the first ${whole.length - bytes.length} bytes are left out`] : [];
  const note = [...(file.note === undefined ? [] : [file.note]), ...cut].join("; ");
  return { ...bundle, files: [...bundle.files, { name, from, bytes, note }] };
}

export function withoutFile(bundle: Bundle, leftOut: LeftOut): Bundle {
  return { ...bundle, leftOut: [...bundle.leftOut, leftOut] };
}

function afterLineFeed(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(bytes.indexOf(0x0a) + 1);
}

export interface BundleHead {
  /** Also the directory in the archive. */
  readonly title: string;
  readonly version: string;
  /** RFC 3339. */
  readonly time: string;
  readonly withLogs: boolean;
}

const ALWAYS_LEFT_OUT = [
  "values of Secrets, also where another text repeats them; the names of their keys are there",
  "passwords, tokens, private keys and users in URLs, as far as a name or a form shows what they are",
  "the state database, stateDir/secret.key, stateDir/pki and registryAuthFile; only their sizes are there",
  "comments in manifests, and manifests that cannot be read",
];

export function readme({ files, leftOut }: Bundle, head: BundleHead): string {
  const { title, version, time, withLogs } = head;
  const logs = withLogs
    ? "what containers wrote is in it, because --logs was given: programs may write anything there"
    : "what containers wrote (agent support-bundle --logs adds it)";
  return [
    `# ${title}`,
    "",
    `Made by agent ${version} at ${time} by the clock of the node.`,
    "Look through it before you pass it on: a secret may have a form that is not recognised.",
    "",
    "## Files",
    "",
    "| file | bytes | from | |",
    "| --- | --- | --- | --- |",
    ...files
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, bytes, from, note = "" }) => row([name, String(bytes.length), from, note])),
    "",
    "## Missing, and why",
    "",
    ...(leftOut.length === 0 ? ["Nothing that was asked for."] : []),
    ...(leftOut.length === 0 ? [] : ["| file | why |", "| --- | --- |"]),
    ...leftOut.map(({ name, why }) => row([name, why])),
    "",
    "## Never in it",
    "",
    ...[...ALWAYS_LEFT_OUT, ...(withLogs ? [] : [logs])].map((line) => `- ${line}`),
    ...(withLogs ? ["", `Note: ${logs}.`] : []),
    "",
  ].join("\n");
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll(/\s+/g, " ").replaceAll("|", "\\|")).join(" | ")} |`;
}

/** The tar archive. `modified`: seconds since 1970. */
export function archiveOf({ files }: Bundle, title: string, modified: number): Uint8Array {
  const parts = files.flatMap(({ name, bytes }) => [
    entryHeader({
      type: "File",
      path: `${title}/${name}`,
      mode: 0o600,
      size: bytes.length,
      modified,
      link: "",
    }),
    bytes,
    padding(bytes.length),
  ]);
  return Buffer.concat([...parts, endOfArchive()]);
}
