// Performs: `agent fleet rollout`, and its verbs pause, resume and undo.

import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import { compareText } from "../../lib/compare.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import type { RolloutPlan } from "../../protocol/rollout-order.ts";
import type { Published } from "../document/apply-progress.ts";
import type { WrittenInput } from "../document/compose-document.ts";
import { prepareDocument, publishDocument } from "../document/publish-document.ts";
import type { FleetParts } from "../open-broker.ts";
import { readInput } from "../read-input.ts";
import {
  atDesk,
  isStaged,
  orderOf,
  planOf,
  presentVersion,
  refuseUnseen,
  saltOf,
  viewAtDesk,
  type Desk,
  type RolloutFlags,
} from "./desk.ts";
import { driveRollout } from "./drive-rollout.ts";
import { keepDocument } from "./history.ts";
import { isAtLastStep } from "./plan-rollout.ts";
import type { RolloutChange } from "./rollout-change.ts";
import { namesReached } from "./rollout-view.ts";
import { keepPresent, takeBack } from "./take-back.ts";

/** The exit code: 0 when the last step is good. Throws CliError. */
export async function beginRollout(parts: FleetParts, flags: RolloutFlags): Promise<0 | 1> {
  const { terminal } = parts;
  if (flags.filename === undefined)
    throw new UsageError("name the pods with -f, or choose status, pause, resume, undo or history");
  const input = staged(await readInput(flags.filename, terminal));
  return atDesk(parts, flags, async (desk) => {
    const { before, target, signers } = desk;
    const { retained } = before;
    const prepared = prepareDocument(
      { input, target, before, signers, random: parts.random, ...flags },
      terminal,
    );
    // It was killed, or it is begun once more: the nodes know the document already.
    if (retained !== undefined && isSameContent(retained.document, prepared.document))
      return resume(desk, presentVersion(desk));
    refuseRunning(desk);
    const { published, document } = prepared;
    keepPresent(desk);
    keepDocument(flags.history, { ...target, ...published }, document);
    await publishDocument(desk.fleet, before, prepared);
    const { generation, digest } = published;
    terminal.out(`generation ${generation} of group ${target.group} is published, ${digest}\n`);
    const previousGeneration = goodGeneration(desk);
    return drive(desk, published, { ...planOf(desk, published), previousGeneration });
  });
}

const CHANGES: Readonly<
  Record<RolloutChange, (desk: Desk, published: Published) => Promise<0 | 1>>
> = { pause, resume, undo };

/** The exit code. Throws CliError, also when it is no longer what `flags.seen` names. */
export function changeRollout(
  parts: FleetParts,
  flags: RolloutFlags,
  change: RolloutChange,
): Promise<0 | 1> {
  return atDesk(parts, flags, (desk) => {
    const published = presentVersion(desk);
    refuseUnseen(desk, published);
    return CHANGES[change](desk, published);
  });
}

async function pause(desk: Desk, published: Published): Promise<0> {
  const { generation } = published;
  const order = orderOf(desk, published);
  if (order === undefined)
    throw new CliError(
      `generation ${generation} of group ${desk.target.group} has no Rollout yet, and all its nodes wait; resume begins it`,
    );
  await pauseOrder(desk, published, "by an operator");
  desk.parts.terminal.out(
    `the rollout of generation ${generation} is paused at ${order.percent} %; resume goes on\n`,
  );
  return 0;
}

async function undo(desk: Desk, published: Published): Promise<0 | 1> {
  // Files that a person names come before the generation that was there.
  const { filename } = desk.flags;
  const previous =
    filename === undefined ? orderOf(desk, published)?.plan?.previousGeneration : undefined;
  const names = namesReached(viewAtDesk(desk, published));
  // No node takes it from here on.
  await pauseOrder(desk, published, "taken back");
  return takeBack(desk, previous, names);
}

async function pauseOrder(desk: Desk, published: Published, reason: string): Promise<void> {
  const order = orderOf(desk, published);
  if (order === undefined) return;
  const plan = { ...(order.plan ?? planOf(desk, published)), reason };
  await desk.topic.publish({ ...order, paused: true, plan });
}

function staged(input: WrittenInput): WrittenInput {
  const policy = input.document?.["policy"];
  const own = isJsonObject(policy) ? policy : {};
  return { ...input, document: { ...input.document, policy: { ...own, staged: true } } };
}

const OF_ONE_PUBLICATION = ["generation", "issuedAt", "previousEpoch"];

/** Apart from what each publication has of its own. */
function isSameContent(one: JsonObject, other: JsonObject): boolean {
  const content = (document: JsonObject): string =>
    JSON.stringify(
      Object.entries(document)
        .filter(([key]) => !OF_ONE_PUBLICATION.includes(key))
        .toSorted(([a], [b]) => compareText(a, b)),
    );
  return content(one) === content(other);
}

/** What the group goes back to: of a rollout that did not reach its last step, the generation before it. 0 = not known. */
function goodGeneration(desk: Desk): number {
  const { retained } = desk.before;
  if (retained === undefined) return 0;
  if (!isStaged(retained)) return retained.generation;
  const order = orderOf(desk, retained);
  if (order === undefined) return 0;
  return isAtLastStep(order) ? retained.generation : (order.plan?.previousGeneration ?? 0);
}

/** Throws CliError while another rollout of the group goes on. */
function refuseRunning(desk: Desk): void {
  const { retained } = desk.before;
  const order = retained === undefined ? undefined : orderOf(desk, retained);
  if (order === undefined || order.paused || isAtLastStep(order)) return;
  throw new CliError(
    `the rollout of generation ${order.generation} goes on at ${order.percent} %; let it end, or pause or undo it first`,
  );
}

/** Goes on with what is on the broker. */
async function resume(desk: Desk, published: Published): Promise<0 | 1> {
  const present = orderOf(desk, published);
  const { reason: _, ...plan } = present?.plan ?? planOf(desk, published);
  // From here on this program raises it: another one that does so sees that, and ends.
  if (present !== undefined) await desk.topic.publish({ ...present, paused: false, plan });
  return drive(desk, published, plan);
}

async function drive(desk: Desk, published: Published, plan: RolloutPlan): Promise<0 | 1> {
  const { parts, fleet, topic, target, flags } = desk;
  const { terminal } = parts;
  const present = orderOf(desk, published);
  const salt = present?.salt ?? saltOf(published);
  const terms = { salt, match: present?.match ?? flags.match ?? {} };
  const end = await driveRollout({ fleet, terminal, topic, ...target, published, plan, terms });
  switch (end.type) {
    case "Done":
      terminal.out(`generation ${published.generation} is good at the last step\n`);
      return 0;
    case "Interrupted":
      terminal.err("interrupted; the rollout stays where it is, resume goes on\n");
      return 1;
    case "Stopped": {
      terminal.err(`stopped: ${printable(end.reason)}\n`);
      if (flags.onFailure === "pause") return 1;
      await takeBack(desk, plan.previousGeneration, namesReached(end.view));
      return 1;
    }
    case "Paused":
      terminal.err(`paused: ${printable(end.reason)}; resume goes on\n`);
      return 1;
  }
}
