// Performs: follows the documents and Rollouts of all groups on the broker, and makes a row of each.

import { messageOf } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { parseTopic, topicFor } from "../../protocol/mqtt-topics.ts";
import type { RolloutOrder } from "../../protocol/rollout-order.ts";
import { sourceOf } from "../document/compose-document.ts";
import { readRetained, type RetainedDocument } from "../document/retained-document.ts";
import { knownNode, knownNodes, membersAmong, type KnownNode } from "../known-nodes.ts";
import { groupsOf } from "../node-report.ts";
import type { Fleet } from "../open-broker.ts";
import { isStaged } from "../rollout/desk.ts";
import { keptVersions } from "../rollout/history.ts";
import { orderIn } from "../rollout/rollout-topic.ts";
import { isOrderOf, viewOf } from "../rollout/rollout-view.ts";
import type { Signer } from "../trust/signing-keys.ts";
import type { ActionView } from "./rollout-actions.ts";
import { documentText, orderText, RolloutLog, type LogLine } from "./rollout-log.ts";
import { rolloutRow, type RolloutRow } from "./rollout-row.ts";

/** Groups that the page shows, by name. */
export const MAX_GROUPS = 200;
/** Generations of a group that are named, the newest. */
export const MAX_KEPT = 20;
/** Of many nodes: how often their progress is counted. */
const AGAIN_MS = 1_000;

export interface ShownRollout extends RolloutRow {
  readonly log: readonly LogLine[];
  /** Generations in the history, which it may be taken back to. */
  readonly kept: readonly number[];
  /** What was ordered here last. */
  readonly action?: ActionView;
}

export interface RolloutsOptions {
  /** The connection that is shown; undefined = there has been none. */
  readonly fleet: () => Fleet | undefined;
  readonly clock: Clock;
  /** [] = any signature counts. */
  readonly signers: readonly Signer[];
  /** The directory of `history.ts`. */
  readonly history: string;
  readonly actionOf: (group: string) => ActionView | undefined;
}

interface Followed {
  readonly retained: RetainedDocument | undefined;
  readonly order: RolloutOrder | undefined;
}

export class Rollouts {
  readonly #options: RolloutsOptions;
  readonly #log = new RolloutLog();
  readonly #groups = new Map<string, Followed>();
  #text = "[]";
  #rows: readonly ShownRollout[] = [];
  #version = 1;
  #isChanged = true;
  #countedAt = -Infinity;

  constructor(options: RolloutsOptions) {
    this.#options = options;
  }

  /** Follows on this connection the groups of the file and those that nodes report, else all there are. A broker that does
   * not let this user read them leaves them out: `refused` is called with why. */
  async follow(fleet: Fleet, refused: (why: string) => void): Promise<void> {
    const asked = new Set<string>();
    const seen = new Set<string>();
    const ask = (filters: readonly string[]): Promise<void> => {
      const added = filters
        .filter((filter) => !asked.has(filter))
        .slice(0, 2 * MAX_GROUPS - asked.size);
      for (const filter of added) asked.add(filter);
      return askFor(fleet, added, refused);
    };
    fleet.session.listen(({ topic }) => {
      const group = this.#take(fleet, topic);
      if (group !== undefined) seen.add(group);
      else if (fleet.file.nodes !== undefined) void ask(reportedFilters(fleet, topic));
    });
    await ask(groupFilters(fleet));
    // What went while there was no connection.
    for (const group of this.#groups.keys()) if (!seen.has(group)) this.#groups.delete(group);
  }

  /** An action has changed: shown at once. */
  changed(): void {
    this.#countedAt = -Infinity;
    this.#isChanged = true;
  }

  /** Counted anew if something has changed since, at most every second. A version that has been seen is shown already. */
  current(): { readonly version: number; readonly rows: readonly ShownRollout[] } {
    const { clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#countedAt >= AGAIN_MS && (this.#isChanged || this.#isTimeUp())) {
      this.#isChanged = false;
      this.#countedAt = now;
      const rows = this.#count();
      const text = JSON.stringify(rows);
      if (text !== this.#text) this.#version += 1;
      this.#text = text;
      this.#rows = rows;
    }
    return { version: this.#version, rows: this.#rows };
  }

  /** The row of a group as it was shown last. */
  row(group: string): ShownRollout | undefined {
    return this.current().rows.find((one) => one.group === group);
  }

  #isTimeUp(): boolean {
    const now = this.#options.clock.now();
    return this.#rows.some(({ until }) => until !== "" && Date.parse(until) <= now);
  }

  #count(): readonly ShownRollout[] {
    const { clock, history, actionOf } = this.#options;
    const fleet = this.#options.fleet();
    if (fleet === undefined) return [];
    const nodes = knownNodes(fleet);
    const groups = [...this.#groups.keys()].toSorted();
    return groups.flatMap((group) => {
      const { retained, order } = this.#groups.get(group) ?? {};
      if (retained === undefined) return [];
      const action = actionOf(group);
      const kept = keptVersions(history, group).map(({ generation }) => generation);
      return {
        ...rowOfGroup({ fleet, group, retained, order, nodes, now: clock.now() }),
        log: this.#log.of(group),
        kept: kept.slice(-MAX_KEPT),
        ...(action === undefined ? {} : { action }),
      };
    });
  }

  /** The group of the topic; undefined = it is no group's. */
  #take(fleet: Fleet, topic: string): string | undefined {
    this.#isChanged = true;
    const { signers } = this.#options;
    const parsed = parseTopic(fleet.root, topic);
    if (parsed?.type !== "GroupDesired" && parsed?.type !== "GroupRollout") return undefined;
    const { group } = parsed;
    const before = this.#groups.get(group);
    if (before === undefined && this.#groups.size >= MAX_GROUPS) return group;
    const message = fleet.session.latest.get(topic);
    const followed: Followed =
      parsed.type === "GroupDesired"
        ? { retained: readRetained(message, sha256), order: before?.order }
        : { retained: before?.retained, order: orderIn(message, signers) };
    this.#groups.set(group, followed);
    this.#note(group, before, followed);
    return group;
  }

  /** A broker sends again what it retains, whenever another part of this command asks for it. */
  #note(group: string, before: Followed | undefined, { retained, order }: Followed): void {
    const now = this.#options.clock.now();
    if (retained !== undefined && retained.digest !== before?.retained?.digest)
      this.#log.add(group, documentText(retained, isStaged(retained)), timeOf(retained) ?? now);
    if (order !== undefined && JSON.stringify(order) !== JSON.stringify(before?.order))
      this.#log.add(group, orderText(order), order.issuedAt ?? now);
  }
}

interface GroupFacts extends Followed {
  readonly fleet: Fleet;
  readonly group: string;
  readonly retained: RetainedDocument;
  readonly nodes: readonly KnownNode[];
  readonly now: number;
}

function rowOfGroup({ fleet, group, retained, order, nodes, now }: GroupFacts): RolloutRow {
  const { epoch, generation, digest } = retained;
  const published = { source: sourceOf({ group }), epoch, generation, digest };
  const staged = isStaged(retained);
  const members = membersAmong(nodes, group, fleet);
  const own = isOrderOf(order, published) ? order : undefined;
  const view = viewOf({
    published,
    order: staged ? own : atOnce(group, retained),
    members,
    sha256,
  });
  return rolloutRow({ group, published, isStaged: staged, view, now });
}

/** As if it was released for all nodes. */
function atOnce(group: string, { epoch, generation, digest }: RetainedDocument): RolloutOrder {
  return {
    apiVersion: "agent/v1",
    kind: "Rollout",
    group,
    epoch,
    generation,
    percent: 100,
    match: {},
    paused: false,
    salt: digest,
  };
}

function timeOf({ issuedAt }: RetainedDocument): number | undefined {
  const at = issuedAt === undefined ? Number.NaN : Date.parse(issuedAt);
  return Number.isNaN(at) ? undefined : at;
}

async function askFor(
  { session }: Fleet,
  filters: readonly string[],
  refused: (why: string) => void,
): Promise<void> {
  if (filters.length === 0) return;
  try {
    const denied = await session.subscribeWhatMay(filters);
    if (denied.length > 0) refused(`the broker refuses ${denied.join(", ")}`);
  } catch (thrown) {
    refused(messageOf(thrown));
  }
}

/** Of the groups in the file and those that nodes report, else of all. */
function groupFilters(fleet: Fleet): readonly string[] {
  const { root, file } = fleet;
  if (file.nodes === undefined) return [`${root}/group/+/desired`, `${root}/group/+/rollout`];
  const reported = knownNodes(fleet).flatMap(({ report }) =>
    report === undefined ? [] : groupsOf(report),
  );
  return filtersOf(root, [...Object.keys(file.groups), ...reported]);
}

/** Of the groups that the node of this topic reports. */
function reportedFilters(fleet: Fleet, topic: string): readonly string[] {
  const parsed = parseTopic(fleet.root, topic);
  if (parsed?.type !== "NodeReported") return [];
  const { report } = knownNode(fleet, parsed.node);
  return report === undefined ? [] : filtersOf(fleet.root, groupsOf(report));
}

function filtersOf(root: string, groups: readonly string[]): readonly string[] {
  return [...new Set(groups)].flatMap((group) => [
    topicFor({ type: "GroupDesired", root, group }),
    topicFor({ type: "GroupRollout", root, group }),
  ]);
}
