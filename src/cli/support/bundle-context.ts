// Performs: what the parts of a bundle read with: the agent that runs, within bounds, and the configuration.

import type { AgentConfig } from "../../config/config.ts";
import { CliError } from "../exit-codes.ts";
import type { VerbCall } from "../define-verb.ts";
import type { LocalClient } from "../local-client.ts";
import type { ReadFile } from "./bundle.ts";
import { parseJson } from "../../lib/json.ts";

export interface BundleContext {
  readonly call: VerbCall;
  readonly client: LocalClient;
  /** Of the file, else the defaults. */
  readonly config: AgentConfig;
  /** Directories of the configuration whose file system does not answer. */
  readonly hung: ReadonlySet<string>;
  /** Of each container. undefined = what containers wrote is not asked for. */
  readonly logLines: number | undefined;
}

export interface Part {
  /** Of its file, or of its directory with a slash at the end. */
  readonly name: string;
  readonly needsAgent?: true;
  /** It may use the threads on which all parts read files, and begins when the others are done. */
  readonly isLast?: true;
  /** In ms; default 20 s. What was added before stays. */
  readonly limitMs?: number;
  /** Gives each file to `add`. `leaveOut`: a file of several that is missing. */
  readonly read: (context: BundleContext, to: PartSink, signal: AbortSignal) => Promise<void>;
}

export interface PartSink {
  readonly add: (file: ReadFile) => void;
  readonly leaveOut: (name: string, why: string) => void;
}

/** Of one answer; more is no answer but a flood. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The body of a path of the API; at most its first `maxBytes`. Throws CliError. */
export async function textOf(
  client: LocalClient,
  path: string,
  {
    signal,
    maxBytes = MAX_ANSWER_BYTES,
  }: { readonly signal: AbortSignal; readonly maxBytes?: number },
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const full = new AbortController();
  const parts: Uint8Array[] = [];
  let size = 0;
  const take = (part: Uint8Array): Promise<void> => {
    size += part.length;
    parts.push(part);
    if (size > maxBytes) full.abort();
    return Promise.resolve();
  };
  await client.stream(path, take, { signal: AbortSignal.any([signal, full.signal]) });
  return { text: Buffer.concat(parts).subarray(0, maxBytes).toString(), isWhole: size <= maxBytes };
}

/** Throws CliError, also if it is too large: half of it could not be redacted. */
export async function jsonOf(
  client: LocalClient,
  path: string,
  signal: AbortSignal,
): Promise<unknown> {
  const { text, isWhole } = await textOf(client, path, { signal });
  const value = parseJson(text);
  if (isWhole && value !== undefined) return value;
  throw new CliError(
    isWhole ? "the answer is no JSON" : `it has more than ${MAX_ANSWER_BYTES} bytes`,
  );
}
