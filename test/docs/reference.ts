// The pages of docs/reference/ that the declarations of fields, verbs and codes make up.

import { LATER_VERBS, VERBS, type Verb } from "../../src/command/verbs.ts";
import { AGENT_CONFIGURATION } from "../../src/config/config.ts";
import { NODE_DOCUMENT } from "../../src/protocol/desired-state.ts";
import {
  DOCUMENT_REFUSALS,
  PHASES,
  RESPONSE_PHASES,
  SETTINGS_PHASES,
} from "../../src/protocol/status-codes.ts";
import { TRUST_BUNDLE } from "../../src/protocol/trust-bundle.ts";
import { allFields } from "../../src/api/schema/find-field.ts";
import type { Level } from "../../src/api/schema/type.ts";
import { commandLinePage } from "./command-line.ts";
import { code, meaning, meaningWithDefault, page, table } from "./markdown.ts";
import { podFieldsPage } from "./pod-fields.ts";
import { fieldClass } from "../../src/api/decode/field-rules.ts";
import { COMMAND } from "../../src/command/judge-command.ts";

/** By file name. */
export function referencePages(): ReadonlyMap<string, string> {
  return new Map([
    ["README.md", indexPage()],
    ["pod-fields.md", podFieldsPage()],
    ["command-line.md", commandLinePage()],
    ["configuration.md", configurationPage()],
    ["documents.md", documentsPage()],
    ["commands.md", commandsPage()],
    ["codes.md", codesPage()],
  ]);
}

function indexPage(): string {
  return page("Reference", [
    "What these pages say is read from the declarations that the agent itself runs with.",
    "On a node, `agent explain pod.spec.containers` answers the same questions, and `agent schema pod` prints a JSON Schema for editors.",
    "",
    ...table(
      ["Page", "Content"],
      [
        [
          "[pod-fields.md](pod-fields.md)",
          "Fields of Pods, ConfigMaps, Secrets and PersistentVolumeClaims",
        ],
        [
          "[configuration.md](configuration.md)",
          "Fields of the agent's configuration, `agent.yaml`",
        ],
        ["[command-line.md](command-line.md)", "Verbs, flags and exit codes of `agent`"],
        [
          "[agent.1](../agent.1)",
          "The same as a manual page: `man -l docs/agent.1`, or `agent man`",
        ],
        ["[documents.md](documents.md)", "Fields of DesiredState and TrustBundle, over MQTT"],
        ["[commands.md](commands.md)", "Verbs that a node obeys over MQTT"],
        ["[codes.md](codes.md)", "Status codes of documents and commands"],
      ],
    ),
  ]);
}

function configurationPage(): string {
  const { level } = AGENT_CONFIGURATION;
  return page("Configuration of the agent", [
    "The file is `/etc/agent/agent.yaml`, or the one that `--config` or `AGENT_CONFIG` names: one YAML or JSON object.",
    "Every field may be left out; an unknown or invalid one is an error, with line and column.",
    "Durations are texts such as `1m30s`, quantities such as `500m` or `64Mi`.",
    "`agent validate` checks the file without starting the agent.",
    "",
    ...fields(level, meaningWithDefault),
    "",
    "## Not supported yet",
    "",
    "These names are reserved; using one is an error.",
    "",
    ...table(
      ["Field", "Type", "Meaning"],
      allFields(level)
        .filter(({ field }) => fieldClass(field.rule) === "refused")
        .map(({ path, field }) => [code(path), code(field.type), field.about]),
    ),
  ]);
}

function documentsPage(): string {
  return page("Documents over MQTT", [
    "The contract around them (topics, signatures, order of checks): [mqtt-api.md](../mqtt-api.md).",
    "",
    "## DesiredState",
    "",
    "An unknown field is a warning in the node's report, but in `target` and `requires` it refuses the document, as an invalid field does.",
    "",
    ...fields(NODE_DOCUMENT.level),
    "",
    "Reserved, and refused with 412:",
    "",
    ...table(
      ["Field", "Meaning"],
      allFields(NODE_DOCUMENT.level)
        .filter(({ field }) => fieldClass(field.rule) === "refused")
        .map(({ path, field }) => [code(path), field.about]),
    ),
    "",
    "## TrustBundle",
    "",
    "Unknown and invalid fields refuse the bundle.",
    "",
    ...fields(TRUST_BUNDLE.level),
  ]);
}

function commandsPage(): string {
  const verbs: readonly (readonly [string, Verb<unknown>])[] = Object.entries(VERBS);
  return page("Commands over MQTT", [
    "The contract around them (topics, signatures, answers in parts): [mqtt-api.md](../mqtt-api.md).",
    "",
    "## The message",
    "",
    ...fields(COMMAND.level),
    "",
    "## Verbs",
    "",
    ...table(
      [
        "Verb",
        "Meaning",
        "Changes the node",
        "Unsigned where signatures are required",
        "`accepted` first",
      ],
      verbs.map(([name, { about, changes, open, quick }]) => [
        `[${code(name)}](#${name})`,
        about,
        yes(changes),
        yes(open),
        yes(!quick),
      ]),
    ),
    "",
    `Reserved, and answered with 501: ${LATER_VERBS.map(code).join(", ")}.`,
    ...verbs.flatMap(
      ([
        name,
        {
          arguments: { level = {} },
        },
      ]) => [
        "",
        `### ${name}`,
        "",
        ...(Object.keys(level).length === 0 ? ["No arguments."] : fields(level)),
      ],
    ),
  ]);
}

function codesPage(): string {
  return page("Status codes", [
    "## Refusals of documents and TrustBundles",
    "",
    ...table(
      ["Code", "Meaning"],
      Object.entries(DOCUMENT_REFUSALS).map(([status, about]) => [status, about]),
    ),
    "",
    "## Phases of an accepted document",
    "",
    ...phaseTable(PHASES),
    "",
    "## Phases of settings",
    "",
    ...phaseTable(SETTINGS_PHASES),
    "",
    "## Phases of a command's answer",
    "",
    ...phaseTable(RESPONSE_PHASES),
  ]);
}

type Phases = Readonly<
  Record<string, { readonly codes: readonly number[]; readonly about: string }>
>;

function phaseTable(phases: Phases): readonly string[] {
  return table(
    ["Phase", "Code", "Meaning"],
    Object.entries(phases).map(([phase, { codes, about }]) => [
      code(phase),
      codes.length === 0 ? "of the refusal" : codes.join(", "),
      about,
    ]),
  );
}

/** Those that are supported, each once. */
function fields(level: Level, shown = meaning): readonly string[] {
  return table(
    ["Field", "Type", "Meaning"],
    allFields(level)
      .filter(({ field }) => fieldClass(field.rule) === "supported")
      .map(({ path, field }) => [code(path), code(field.type), shown(field)]),
  );
}

function yes(is: boolean): string {
  return is ? "yes" : "no";
}
