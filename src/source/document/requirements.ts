// Whether this node meets what a document requires (`requires`); 412 if not.

import type { FieldError } from "../../lib/result.ts";
import type { Requires } from "../../protocol/desired-state.ts";
import { satisfiesRange } from "./version-range.ts";

/** What a document may require of the node. */
export interface NodeFacts {
  /** Semantic version. */
  readonly agentVersion: string;
  /** `arm64`, `amd64` …; Node's and uname's spellings are understood too. */
  readonly arch: string;
  readonly features: ReadonlySet<string>;
  /** Whether it has servers for `dnsPolicy: ClusterFirst`; absent = no. */
  readonly clusterDNS?: boolean;
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "amd64",
  x86_64: "amd64",
  aarch64: "arm64",
  arm64: "arm64",
  amd64: "amd64",
};

/** Every demand that is not met, as sentences with paths; `accepted` holds the generation of every document
 * the node would run beside, this one included. */
export function unmetRequirements(
  requires: Requires,
  facts: NodeFacts,
  accepted: Readonly<Record<string, number>>,
): readonly FieldError[] {
  const unmet: FieldError[] = [];
  const miss = (path: string, message: string): void => {
    unmet.push({ path: `requires.${path}`, code: "Unmet", message });
  };
  if (requires.agent !== undefined) {
    const satisfied = satisfiesRange(facts.agentVersion, requires.agent);
    const range = JSON.stringify(requires.agent);
    if (satisfied === undefined) miss("agent", `${range} is not a range like ">=1.2"`);
    if (satisfied === false)
      miss("agent", `${range} is asked for, this agent is ${facts.agentVersion}; update it`);
  }
  const arch = canonicalArch(facts.arch);
  if (requires.arch.length > 0 && !requires.arch.map(canonicalArch).includes(arch))
    miss("arch", `${requires.arch.join(" or ")} is asked for, this node is ${arch}`);
  for (const [index, feature] of requires.features.entries()) {
    if (facts.features.has(feature)) continue;
    miss(`features[${index}]`, `this node does not have the feature ${JSON.stringify(feature)}`);
  }
  for (const [name, least] of Object.entries(requires.documents)) {
    const present = Object.hasOwn(accepted, name) ? accepted[name] : undefined;
    if (present !== undefined && present >= least) continue;
    const have = present === undefined ? "has none" : `has generation ${present}`;
    miss(`documents.${name}`, `generation ${least} is asked for, this node ${have}`);
  }
  return unmet;
}

function canonicalArch(arch: string): string {
  return (Object.hasOwn(ARCHITECTURES, arch) ? ARCHITECTURES[arch] : undefined) ?? arch;
}
