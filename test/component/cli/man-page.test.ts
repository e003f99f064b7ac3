import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import type { Verb } from "../../../src/cli/define-verb.ts";
import { manPage } from "../../../src/cli/man/man-page.ts";
import { allVerbs } from "../../docs/command-line.ts";
import { run as runCommand } from "../../harness/run-command.ts";
import { testWhenAvailable } from "../../harness/skip-reasons.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

const PAGE = resolve(import.meta.dir, "../../../docs/agent.1");
const MACROS = ['\\"', "TH", "ad", "nh", "SH", "SS", "TP", "PP", "B", "RS", "RE", "nf", "fi"];
const SECTIONS = [
  "NAME",
  "SYNOPSIS",
  "DESCRIPTION",
  "VERBS",
  "EXIT STATUS",
  "ENVIRONMENT",
  "FILES",
  "EXAMPLES",
  "SEE ALSO",
];

let stage: CliStage;

eachOnCliStage((made) => {
  stage = made;
});

function usages(verb: Verb, above: string): readonly string[] {
  const [name = ""] = verb.usage.split(" ");
  const below = (verb.verbs ?? []).flatMap((one) => usages(one, `${above} ${name}`));
  return [...Object.keys(verb.flags ?? {}), `${above} ${name}`, ...below];
}

describe("the manual page", () => {
  test("has its sections, and every verb with every flag", () => {
    const lines = manPage(allVerbs()).split("\n");
    const heads = lines.flatMap((line) => /^\.SH (.*)$/.exec(line)?.[1] ?? []);
    expect(heads).toEqual(SECTIONS);
    const plain = lines.join("\n").replaceAll("\\-", "-");
    for (const usage of allVerbs().flatMap((verb) => usages(verb, "agent")))
      expect(plain).toContain(usage);
  });

  test("has no line that roff takes for a request by mistake", () => {
    const requests = manPage(allVerbs())
      .split("\n")
      .filter((line) => /^[.']/.test(line));
    const names = requests.map((line) => line.slice(1).split(" ")[0] ?? "");
    expect([...new Set(names)].toSorted()).toEqual(MACROS.toSorted());
  });

  test("of verbs that begin with a dot or name a path stays as it is written", () => {
    const odd = { usage: "odd", description: ".hidden \\files 'and' ~/more-of-it", flags: {} };
    expect(manPage([odd])).toContain(
      '.SS "agent odd"\n\\&.hidden \\efiles \\(aqand\\(aq \\(ti/more\\-of\\-it.\n',
    );
  });

  test("is what agent man prints", async () => {
    expect(await stage.run("man")).toBe(0);
    expect(stage.terminal.stdout).toStartWith('.\\" ');
    expect(stage.terminal.stdout).toContain('\n.SS "agent wait [type] [name...]"\n');
  });

  const unavailable = "groff is not on this machine, so the manual page is not set";
  const testSet = Bun.which("groff") === null ? testWhenAvailable({ unavailable }) : test;
  testSet("is set without a warning, and shows flags as a person types them", async () => {
    const command = ["groff", "-man", "-Tascii", "-P-bou", "-ww", PAGE];
    const { code, stdout, stderr } = await runCommand(command);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("-n, --namespace <namespace>");
    expect(stdout).toContain("agent wait pod/web --for=condition=Ready");
    expect(stdout).toContain("/run/agent/agent.sock");
  });
});
