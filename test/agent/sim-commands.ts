// Commands to a simulated node as an operator's tool writes them, and what the node answers.

import { MQTT_DEFAULTS } from "../fakes/config-defaults.ts";
import type { CommandVerb } from "../../src/command/verbs.ts";
import type { CommandResponse } from "../../src/protocol/command.ts";
import { topicFor } from "../../src/protocol/mqtt-topics.ts";
import type { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import { TOPIC } from "./sim-authority.ts";
import { NODE } from "./sim-manifest.ts";
import { signedText, type KeyName } from "./sim-trust.ts";

const root = MQTT_DEFAULTS.topicRoot;
export const COMMAND_TOPIC = topicFor({ type: "NodeCommand", root, node: NODE });
export const RESPONSE_TOPIC = topicFor({ type: "NodeResponse", root, node: NODE });

/** The n-th id. */
export function ulidOf(n: number): string {
  return `01JD${String(n).padStart(22, "0")}`;
}

export interface WrittenCommand {
  readonly id: string;
  readonly verb: CommandVerb;
  /** Absent = it says none. */
  readonly session?: number | undefined;
  readonly node?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** Nobody = it is not signed. */
  readonly by?: readonly KeyName[];
}

export function commandText({ id, verb, session, node, args, by = [] }: WrittenCommand): string {
  const command = {
    id,
    verb,
    target: { node: node ?? NODE },
    ...(session === undefined ? {} : { session }),
    ...(args === undefined ? {} : { args }),
  };
  return by.length === 0 ? JSON.stringify(command) : signedText("command", command, { by });
}

/** Of the birth that is retained: what an operator's tool binds its commands to. */
export function presentSession(broker: FakeBroker): number | undefined {
  const text = broker.retained(TOPIC.state);
  if (text === undefined) return undefined;
  return (JSON.parse(text) as { readonly session: number }).session;
}

/** Everything that was answered to this id, oldest first; what was sent twice comes twice. */
export function answersTo(broker: FakeBroker, id: string): readonly CommandResponse[] {
  return broker
    .texts(RESPONSE_TOPIC)
    .map((text) => JSON.parse(text) as CommandResponse)
    .filter((response) => response.id === id);
}
