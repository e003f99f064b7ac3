// Performs: takes a rollout back: publishes the content of the generation before as a new one that no node has to wait for.

import { UsageError } from "../../cli/exit-codes.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { WrittenInput } from "../document/compose-document.ts";
import { prepareDocument, publishDocument } from "../document/publish-document.ts";
import { readTarget, type TargetBefore } from "../document/target.ts";
import { waitForNodes } from "../document/wait.ts";
import { readInput } from "../read-input.ts";
import { isSignedBy } from "../trust/signing-keys.ts";
import type { Desk } from "./desk.ts";
import { keepDocument, keptDocument } from "./history.ts";

/** `names`: the nodes that may have the generation that is taken back. The exit code: 0 when those online are healthy. */
export async function takeBack(
  desk: Desk,
  previous: number | undefined,
  names: readonly string[],
): Promise<0 | 1> {
  const { parts, flags, fleet, target, signers } = desk;
  const { terminal } = parts;
  const before = await readTarget(fleet, target, terminal);
  const input = await inputToRestore(desk, before, previous);
  const order = { input, target, before, signers, random: parts.random, ...flags };
  const prepared = prepareDocument(order, terminal);
  const { published, document } = prepared;
  keepDocument(flags.history, { ...target, ...published }, document);
  await publishDocument(fleet, before, prepared);
  const of = previous === undefined ? "the files" : `generation ${previous}`;
  terminal.out(
    `taken back: generation ${published.generation} of group ${target.group} has the content of ${of}, ${published.digest}\n`,
  );
  const online = names.filter((name) => isOnline(before, name));
  if (online.length === 0) return 0;
  return waitForNodes({ fleet, terminal, published, names: online, timeout: flags.timeout });
}

function isOnline({ nodes }: TargetBefore, name: string): boolean {
  return nodes.some((node) => node.name === name && node.state?.state === "online");
}

async function inputToRestore(
  { flags, parts, target }: Desk,
  before: TargetBefore,
  previous: number | undefined,
): Promise<WrittenInput> {
  const { filename, history } = flags;
  if (filename !== undefined && previous === undefined) return readInput(filename, parts.terminal);
  if (previous === undefined || previous === 0)
    throw new UsageError(
      `which generation group ${target.group} had before is not known; name the files to go back to with -f`,
    );
  const epoch = before.retained?.epoch ?? "";
  const document = keptDocument(history, { ...target, epoch, generation: previous });
  const { policy, ...rest } = document;
  const { staged: _, ...own } = isJsonObject(policy) ? policy : {};
  const resources: unknown = document["resources"];
  const list: readonly unknown[] = Array.isArray(resources) ? resources : [];
  const file = `generation ${previous}`;
  return {
    document: { ...rest, ...(Object.keys(own).length === 0 ? {} : { policy: own }) },
    objects: list.map((value) => ({ file, value, locate: () => undefined })),
  };
}

/** Keeps what the group has now, to go back to. Only what these keys signed: a broker could hold anything, and a take-back
 * signs it again. */
export function keepPresent({ before, fleet, signers, flags, target, parts }: Desk): void {
  const { retained, topic } = before;
  if (retained === undefined) return;
  const message = fleet.session.latest.get(topic);
  const isOwn =
    signers.length === 0
      ? retained.keyids.length === 0
      : message !== undefined && isSignedBy(signers, message);
  if (isOwn) return keepDocument(flags.history, { ...target, ...retained }, retained.document);
  parts.terminal.err(
    `warning: generation ${retained.generation} is not signed with --key, so it is not kept in ${flags.history}, and the rollout cannot be taken back to it\n`,
  );
}
