// `agent schema`: the JSON Schema of what people write, for editors and CI; needs no agent.

import { schemaDocument } from "../api/schema/json-schema.ts";
import { ALL_SCHEMA_KINDS, kindSchema, manifestSchema } from "../api/schema/schema-kinds.ts";
import type { JsonSchema } from "../api/schema/type.ts";
import { AGENT_CONFIGURATION } from "../config/config.ts";
import { meantText, suggest } from "../lib/suggest.ts";
import { desiredStateSchema } from "../protocol/desired-state.ts";
import { UsageError } from "./exit-codes.ts";
import type { VerbCall } from "./define-verb.ts";

interface Described {
  /** In lower case; the first is the one that is shown. */
  readonly words: readonly [string, ...string[]];
  readonly title: string;
  readonly about: string;
  readonly schema: () => JsonSchema;
}

const DESCRIBED: readonly Described[] = [
  ...ALL_SCHEMA_KINDS.map((kind) => ({
    words: kind.words,
    title: kind.kind,
    about: kind.about,
    schema: () => kindSchema(kind),
  })),
  {
    words: ["manifest", "manifests"],
    title: "Manifest",
    about: "An object of any kind, or a List of them: a document of a manifest file.",
    schema: manifestSchema,
  },
  {
    words: ["desiredstate"],
    title: "DesiredState",
    about: "What a node, or each node of a group, should run.",
    schema: desiredStateSchema,
  },
  {
    words: ["configuration", "config", "agentconfiguration"],
    title: "AgentConfiguration",
    about: "Configuration of the agent: agent.yaml.",
    schema: () => AGENT_CONFIGURATION.schema(),
  },
];

export const SCHEMA_WORDS: readonly string[] = DESCRIBED.map(({ words }) => words[0]);

/** Throws UsageError for anything else than a described kind. */
export function jsonSchema(asked: string): JsonSchema {
  const word = asked.toLowerCase();
  const found = DESCRIBED.find(({ words }) => words.includes(word));
  if (found !== undefined) return schemaDocument(found.title, found.about, found.schema());
  const known = `${SCHEMA_WORDS.slice(0, -1).join(", ")} or ${SCHEMA_WORDS.at(-1) ?? ""}`;
  const hint = meantText(suggest(word, SCHEMA_WORDS));
  throw new UsageError(`there is no schema of ${JSON.stringify(asked)}; ask for ${known}${hint}`);
}

/** The exit code. */
export function printSchema({ args: [asked = ""], terminal }: VerbCall): 0 {
  terminal.out(`${JSON.stringify(jsonSchema(asked), undefined, 2)}\n`);
  return 0;
}
