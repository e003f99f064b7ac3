// Performs: follows a list of the API: reads it, then takes every change, also over a restart of the agent.

import { messageOf } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json.ts";
import type { LocalClient } from "../local-client.ts";
import type { Terminal } from "../process-io.ts";
import { printable } from "../terminal-text.ts";

const AGAIN_MS = 1000;

export interface FollowedList {
  /** Reads what there is; resolves to its version. */
  readonly list: () => Promise<string>;
  /** Where the changes after `version` are. */
  readonly pathAfter: (version: string) => string;
  /** The form of the changes; default: JSON. */
  readonly accept?: string;
  /** Takes one event of the watch. */
  readonly take: (event: unknown) => Promise<void> | void;
}

/**
 * Until `signal` aborts. An agent that cannot be reached is an error at the start; later it is waited for, which is printed once.
 */
export async function followList(
  followed: FollowedList,
  {
    client,
    terminal,
    signal,
  }: {
    readonly client: LocalClient;
    readonly terminal: Terminal;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  let version: string | undefined = await followed.list();
  let isReported = false;
  while (!signal.aborted) {
    try {
      version ??= await followed.list();
      isReported = false;
      await followChanges(followed, client, { version, signal });
    } catch (thrown) {
      if (signal.aborted) return;
      if (!isReported) terminal.err(`${printable(messageOf(thrown))}; waiting for it\n`);
      isReported = true;
    }
    version = undefined;
    await terminal.clock.sleep(AGAIN_MS, signal);
  }
}

async function followChanges(
  { pathAfter, accept, take }: FollowedList,
  client: LocalClient,
  { version, signal }: { readonly version: string; readonly signal: AbortSignal },
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  const takePart = async (part: Uint8Array): Promise<void> => {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) await take(parseJson(line));
  };
  await client.stream(pathAfter(version), takePart, {
    signal,
    ...(accept === undefined ? {} : { accept }),
  });
}
