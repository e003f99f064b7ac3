// Performs: the node's name for life: resolved at the first start, kept with the board's serial in
// stateDir/identity.json.

import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Files } from "../host/files.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { isTopicName } from "../protocol/mqtt-topics.ts";
import { resolveNodeName, type BoardFacts } from "./node-name.ts";

export interface IdentityOptions {
  readonly files: Files;
  readonly log: Logger;
  readonly stateDir: string;
  /** `nodeName` of the configuration. */
  readonly template: string | undefined;
  readonly facts: BoardFacts;
}

export interface Identity {
  readonly nodeName: string;
  /** `BoardChanged` if the card came from, or was copied on, another board. */
  readonly conditions: readonly NodeCondition[];
}

/** What identity.json holds. */
interface KeptIdentity {
  readonly nodeName: string;
  /** Absent if the board has none. */
  readonly serial?: string;
  /** The template it was made from; absent = the default rule. */
  readonly template?: string;
}

const MODE = 0o600;
const MAX_BYTES = 4096;

/** The kept identity, or a new one. Throws AgentError `InvalidNodeName` when nothing usable is kept and the template gives no name. */
export function resolveIdentity(options: IdentityOptions): Identity {
  const { log, template, facts } = options;
  const kept = readKept(options);
  if (kept === undefined) return { nodeName: resolveAnew(options), conditions: [] };
  const { nodeName, serial } = kept;
  if (kept.template !== template)
    log.warn(
      "nodeName of the configuration changed; it counts when identity.json is deleted and the agent restarted",
      {
        nodeName,
      },
    );
  const now = serialOf(facts);
  // A serial that can be read for the first time belongs to the same board, as far as anybody knows.
  if (serial === undefined && now !== undefined) write(options, { ...kept, serial: now });
  if (serial === undefined || now === undefined || serial === now)
    return { nodeName, conditions: [] };
  log.warn("the board is another one than at the first start", { nodeName, serial: now });
  return { nodeName, conditions: [boardChanged(kept.nodeName, serial, now)] };
}

function resolveAnew(options: IdentityOptions): string {
  const { log, template, facts } = options;
  const name = resolveNodeName(template, facts);
  if (!name.ok) {
    const [error] = name.errors;
    const message = `nodeName: ${error?.message ?? "no usable name"}`;
    throw new AgentError({ reason: "InvalidNodeName", message });
  }
  const serial = serialOf(facts);
  write(options, {
    nodeName: name.value,
    ...(serial === undefined ? {} : { serial }),
    ...(template === undefined ? {} : { template }),
  });
  log.info("this node has a name", { nodeName: name.value });
  return name.value;
}

/** A full disk must not keep the pods from starting: the name then holds for this start, and is tried again. */
function write({ files, log, stateDir }: IdentityOptions, kept: KeptIdentity): void {
  const path = pathOf(stateDir);
  try {
    files.writeAtomic(path, `${JSON.stringify(kept)}\n`, MODE);
  } catch (error) {
    log.error("identity.json cannot be written", { path, error: messageOf(error) });
  }
}

/** undefined when there is none, or it cannot be read: that is logged, and a new one is made. */
function readKept({ files, log, stateDir }: IdentityOptions): KeptIdentity | undefined {
  const path = pathOf(stateDir);
  try {
    if (files.info(path) === undefined) return undefined;
    const value: unknown = JSON.parse(new TextDecoder().decode(files.read(path, MAX_BYTES)));
    const kept = keptOf(value);
    if (kept === undefined) throw new Error("it holds no usable nodeName");
    return kept;
  } catch (error) {
    const message = messageOf(error);
    log.error("identity.json is unreadable, the name is resolved anew", { path, error: message });
    return undefined;
  }
}

function keptOf(value: unknown): KeptIdentity | undefined {
  if (typeof value !== "object" || value === null || !("nodeName" in value)) return undefined;
  const { nodeName } = value;
  if (typeof nodeName !== "string" || !isTopicName(nodeName)) return undefined;
  const serial = "serial" in value && typeof value.serial === "string" ? value.serial : undefined;
  const template =
    "template" in value && typeof value.template === "string" ? value.template : undefined;
  return {
    nodeName,
    ...(serial === undefined ? {} : { serial }),
    ...(template === undefined ? {} : { template }),
  };
}

function serialOf({ serial }: BoardFacts): string | undefined {
  return serial === "" ? undefined : serial;
}

function pathOf(stateDir: string): string {
  return `${stateDir}/identity.json`;
}

function boardChanged(nodeName: string, was: string, now: string): NodeCondition {
  return {
    type: "BoardChanged",
    status: "True",
    reason: "SerialChanged",
    message: `the name ${nodeName} belongs to the board ${was}, this one is ${now}; pods keep running; delete identity.json and restart the agent to give it a new name`,
  };
}
