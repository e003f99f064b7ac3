// Whether a document may change settings of the agent: only a signed one, on a node that can take them back, and only what
// fits the node's own configuration.

import type { DesiredState } from "../../protocol/desired-state.ts";
import type { NodeFacts } from "./requires.ts";
import { refusal, type DocumentRefusal } from "./refusal.ts";

/** The feature of a node whose agent can try settings, and take them back. */
export const REMOTE_SETTINGS_FEATURE = "remote-settings";

const UNSIGNED =
  "config: an unsigned document cannot change settings of the agent: put a root key into the trust directory of the node and sign the document, or write them into the configuration at the device";
const NOT_HERE =
  "config: this agent cannot try settings; write them into the configuration at the device, or leave the field out";

/** undefined = it may, or it sets nothing. */
export function judgeSettings(
  { config }: Pick<DesiredState, "config">,
  { features, settingsError }: NodeFacts,
  isSigned: boolean,
): DocumentRefusal | undefined {
  if (config === undefined) return undefined;
  if (!isSigned) return refusal(401, UNSIGNED);
  if (!features.has(REMOTE_SETTINGS_FEATURE)) return refusal(412, NOT_HERE);
  const error = settingsError?.(config);
  return error === undefined ? undefined : refusal(400, error);
}
