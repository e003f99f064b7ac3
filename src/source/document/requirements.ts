// What a document demands of the node it may run on (`requires`), and whether this node has it (412 if not).

import {
  integerField,
  invalid,
  objectField,
  stringField,
  stringList,
  type Node,
} from "../../api/decode/field-reader.ts";
import { hinted, type Findings } from "../../api/decode/field-errors.ts";
import type { FieldError } from "../../lib/result.ts";
import { didYouMean } from "../../lib/suggest.ts";
import { satisfiesRange } from "./version-range.ts";

export interface Requires {
  /** A range of semantic versions. */
  readonly agent?: string;
  /** Empty = any. */
  readonly arch: readonly string[];
  readonly features: readonly string[];
  /** Lowest generation by document: `node`, `group/<g>`. */
  readonly documents: Readonly<Record<string, number>>;
}

/** What the node can say of itself. */
export interface NodeFacts {
  /** Semantic version. */
  readonly agentVersion: string;
  /** `arm64`, `amd64` …; Node's and uname's spellings are understood too. */
  readonly arch: string;
  readonly features: ReadonlySet<string>;
  /** Whether it has servers for `dnsPolicy: ClusterFirst`; absent = no. */
  readonly clusterDNS?: boolean;
}

const KNOWN = ["agent", "arch", "features", "documents"];
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "amd64",
  x86_64: "amd64",
  aarch64: "arm64",
  arm64: "arm64",
  amd64: "amd64",
};

/** A demand this agent does not know is one it cannot meet: it goes to `unsupported`. */
export function readRequires(node: Node, unsupported: Findings): Requires {
  const requires = objectField(node, "requires");
  if (requires === undefined) return { arch: [], features: [], documents: {} };
  for (const key of Object.keys(requires.value)) {
    if (KNOWN.includes(key)) continue;
    const message = "this agent does not know the requirement";
    unsupported.fail(
      [...requires.path, key],
      "NotSupported",
      hinted(message, () => didYouMean(key, KNOWN)),
    );
  }
  const agent = stringField(requires, "agent");
  return {
    ...(agent === undefined ? {} : { agent }),
    arch: stringList(requires, "arch"),
    features: stringList(requires, "features"),
    documents: readGenerations(requires),
  };
}

function readGenerations(requires: Node): Readonly<Record<string, number>> {
  const documents = objectField(requires, "documents");
  if (documents === undefined) return {};
  const entries = Object.keys(documents.value).flatMap((key): [string, number][] => {
    const generation = integerField(documents, key);
    if (generation === undefined) return [];
    if (generation < 1) invalid(documents, key, "must be at least 1");
    return [[key, generation]];
  });
  return Object.fromEntries(entries);
}

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
