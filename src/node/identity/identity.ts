// Performs: the node's permanent name: resolved at the first start, and stored with the board's serial number in
// stateDir/identity.json.

import type { Edges } from "../../edges.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { AgentError, messageOf } from "../../lib/errors.ts";
import type { Random } from "../../lib/random.ts";
import type { PreparedMark } from "../../provision/prepared-mark.ts";
import { isTopicName } from "../../protocol/mqtt-topics.ts";
import { resolveNodeName, type BoardFacts } from "./node-name.ts";
import { parseJson, isJsonObject, withoutUndefined } from "../../lib/json.ts";

export interface IdentityOptions extends Pick<Edges, "log" | "files"> {
  readonly stateDir: string;
  /** `nodeName` of the configuration. */
  readonly template: string | undefined;
  readonly facts: BoardFacts;
  /** Of the image that this is a copy of; absent = none. */
  readonly prepared?: Pick<PreparedMark, "hostname" | "machineId"> | undefined;
  readonly random: Random;
}

export interface Identity {
  readonly nodeName: string;
  /** `BoardChanged` if the card came from, or was copied on, another board. */
  readonly conditions: readonly NodeCondition[];
}

/** The content of identity.json. */
interface KeptIdentity {
  readonly nodeName: string;
  /** Absent = the board has none. */
  readonly serial?: string;
  /** The template of the name; absent = the default rule. */
  readonly template?: string;
}

const MODE = 0o600;
const MAX_BYTES = 4096;

/** The stored identity, or a new one. Throws AgentError `InvalidNodeName` if none is stored and the template gives no name. */
export function resolveIdentity(options: IdentityOptions): Identity {
  const { log, template, facts } = options;
  const kept = readKept(options);
  if (kept === undefined) return { nodeName: resolveAnew(options), conditions: [] };
  const { nodeName, serial } = kept;
  if (kept.template !== template)
    log.warn(
      "nodeName of the configuration has changed; to apply it, delete identity.json and restart the agent",
      { nodeName },
    );
  const now = serialOf(facts);
  // A serial number that is readable for the first time is assumed to be of the same board.
  if (serial === undefined && now !== undefined) write(options, { ...kept, serial: now });
  if (serial === undefined || now === undefined || serial === now)
    return { nodeName, conditions: [] };
  log.warn("the board has changed since the first start", { nodeName, serial: now });
  return { nodeName, conditions: [boardChanged(kept.nodeName, serial, now)] };
}

function resolveAnew(options: IdentityOptions): string {
  const { log, template, facts, prepared, random } = options;
  const copy = prepared === undefined ? undefined : { ...prepared, chance: random.hex(3) };
  const name = resolveNodeName(template, facts, copy);
  if (!name.ok) {
    const [error] = name.errors;
    const message = `nodeName: ${error?.message ?? "no usable name"}`;
    throw new AgentError({ reason: "InvalidNodeName", message });
  }
  const serial = serialOf(facts);
  write(options, {
    nodeName: name.value,
    ...withoutUndefined({ serial, template }),
  });
  log.info("node name assigned", { nodeName: name.value });
  return name.value;
}

/** A full disk must not keep pods from starting: the name is then used without being stored until the next start. */
function write({ files, log, stateDir }: IdentityOptions, kept: KeptIdentity): void {
  const path = pathOf(stateDir);
  try {
    files.writeAtomic(path, `${JSON.stringify(kept)}\n`, MODE);
  } catch (error) {
    log.error("identity.json cannot be written", { path, error: messageOf(error) });
  }
}

/** undefined = none, or unreadable, which is logged. */
function readKept({ files, log, stateDir }: IdentityOptions): KeptIdentity | undefined {
  const path = pathOf(stateDir);
  try {
    if (files.info(path) === undefined) return undefined;
    const kept = keptOf(parseJson(new TextDecoder().decode(files.read(path, MAX_BYTES))));
    if (kept === undefined) throw new Error("it is not JSON with a valid nodeName");
    return kept;
  } catch (error) {
    const message = messageOf(error);
    log.error("identity.json is unreadable, resolving the node name again", {
      path,
      error: message,
    });
    return undefined;
  }
}

function keptOf(value: unknown): KeptIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const { nodeName, serial, template } = value;
  if (typeof nodeName !== "string" || !isTopicName(nodeName)) return undefined;
  return {
    nodeName,
    ...(typeof serial === "string" ? { serial } : {}),
    ...(typeof template === "string" ? { template } : {}),
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
    message: `the node name ${nodeName} belongs to the board ${was}, but this board is ${now}; pods keep running; to give this board a new name, delete identity.json and restart the agent`,
  };
}
