// docs/reference/command-line.md, from the tables of the verbs.

import { EXIT_CODES } from "../../src/cli/exit-codes.ts";
import { FLEET_VERB } from "../../src/cli/program.ts";
import { flagMeaning, sentence } from "../../src/cli/man/flag-meaning.ts";
import { type Flags, PROGRAM_FLAGS } from "../../src/cli/flags.ts";
import type { Verb } from "../../src/cli/define-verb.ts";
import { VERBS } from "../../src/cli/verbs.ts";
import { fleetVerbs } from "../../src/fleet/fleet-verbs.ts";
import { FakeTerminal } from "../component/cli/fake-terminal.ts";
import { code, page, table } from "./markdown.ts";

/** With those of `agent fleet`. */
export function allVerbs(): readonly Verb[] {
  return [...VERBS, { ...FLEET_VERB, ...fleetVerbs(new FakeTerminal()) }];
}

export function commandLinePage(): string {
  return page("Command line", [
    "`agent help`, `agent VERB --help` and `agent help VERB` show the same.",
    "",
    "## Flags of every verb",
    "",
    ...flagTable(PROGRAM_FLAGS),
    "",
    "## Exit codes",
    "",
    ...table(
      ["Code", "Meaning"],
      Object.entries(EXIT_CODES).map(([exit, about]) => [exit, about]),
    ),
    ...allVerbs().flatMap((verb) => verbPart(verb, ["agent"])),
  ]);
}

/** The verbs below it follow, with their whole command as headings. */
function verbPart(verb: Verb, above: readonly string[]): readonly string[] {
  const { usage, aliases = [], description, flags = {}, verbs = [] } = verb;
  const [name = "", ...args] = usage.split(" ");
  const command = [...above, name];
  const depth = "#".repeat(above.length === 1 ? 2 : 3);
  return [
    "",
    `${depth} ${command.join(" ")}`,
    "",
    `${sentence(description)}.`,
    ...(verbs.length > 0 ? [] : ["", "```text", [...command, ...args].join(" "), "```"]),
    ...(aliases.length === 0 ? [] : ["", `Also ${aliases.map(code).join(", ")}.`]),
    ...(Object.keys(flags).length === 0 ? [] : ["", ...flagTable(flags)]),
    ...verbs.flatMap((below) => verbPart(below, command)),
  ];
}

function flagTable(flags: Flags): readonly string[] {
  return table(
    ["Flag", "Meaning"],
    Object.entries(flags).map(([usage, flag]) => [
      code(usage),
      flagMeaning(typeof flag === "string" ? { description: flag } : flag, code),
    ]),
  );
}
