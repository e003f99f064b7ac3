// Decides what agent.yaml says after `agent install` with flags: the fields that they name, and everything else as it was, with
// its comments.

import { parseDocument } from "yaml";
import { AgentError } from "../../lib/errors.ts";

/** By the path of the field; undefined = it stays as it is. */
export interface ConfigEdits {
  readonly nodeName?: string | undefined;
  readonly url?: string | undefined;
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Of an installation that names nothing. */
export const NEW_CONFIG = `# Settings of the agent; each has a default. man 1 agent, docs/operations.md
apiVersion: agent/v1
kind: AgentConfiguration
`;

/** The new text of the file `path`; undefined = nothing changes. Throws AgentError `InvalidConfig`. */
export function editedConfig(
  path: string,
  before: string | undefined,
  edits: ConfigEdits,
): string | undefined {
  const { nodeName, ...mqtt } = edits;
  const fields = [
    ...(nodeName === undefined ? [] : [{ path: ["nodeName"], value: nodeName }]),
    ...Object.entries(mqtt).flatMap(([name, value]) =>
      value === undefined ? [] : [{ path: ["mqtt", name], value }],
    ),
  ];
  if (before !== undefined && fields.length === 0) return undefined;
  const document = parseDocument(before ?? NEW_CONFIG);
  const [error] = document.errors;
  if (error !== undefined)
    throw new AgentError({
      reason: "InvalidConfig",
      message: `${path}: it is no valid YAML, correct it first: ${error.message}`,
    });
  // A file of comments only.
  if (document.contents === null) document.contents = parseDocument("{}").contents;
  const changes = fields.filter((field) => document.getIn(field.path) !== field.value);
  if (before !== undefined && changes.length === 0) return undefined;
  for (const field of changes) {
    if (field.path.length === 2 && document.get("mqtt") === null) document.delete("mqtt");
    document.setIn(field.path, field.value);
  }
  return document.toString();
}
