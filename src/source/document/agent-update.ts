// Whether a document may change the version of the agent itself: only a signed one, on a node that can take it back, and
// with a binary for its platform.

import type { DesiredState } from "../../protocol/desired-state.ts";
import { platformOf } from "../../protocol/agent-release.ts";
import type { NodeFacts } from "./requires.ts";
import { refusal, type DocumentRefusal } from "./refusal.ts";

/** The feature of a node whose agent was started by the launcher. */
export const AGENT_UPDATE_FEATURE = "agent-update";

const UNSIGNED =
  'agent: an unsigned document cannot change the version of the agent: put a root key into the trust directory of the node and sign the document, or run "agent self-update" on the node';
const NO_LAUNCHER =
  'agent: this agent was not started by agent-launch, so it cannot go back from a version that fails; run "agent install" on the node, or leave the field out';

/** undefined = it may, or it asks for no version. */
export function judgeAgentUpdate(
  { agent }: Pick<DesiredState, "agent">,
  { agentVersion, arch, features }: NodeFacts,
  isSigned: boolean,
): DocumentRefusal | undefined {
  if (agent === undefined) return undefined;
  if (!isSigned) return refusal(401, UNSIGNED);
  if (agent.version === agentVersion) return undefined;
  if (!features.has(AGENT_UPDATE_FEATURE)) return refusal(412, NO_LAUNCHER);
  const platform = platformOf(arch);
  if (platform !== undefined && agent.artifacts[platform] !== undefined) return undefined;
  const needed = platform ?? arch;
  return refusal(
    412,
    `agent.artifacts: there is no binary for ${needed}, which this node is; add one`,
  );
}
