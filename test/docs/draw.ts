// Writes every generated picture and table of docs/, and knows what each should contain.
// bun test/docs/draw.ts

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { benchmarkFiles } from "../bench/plot.ts";
import { fleetScaleFiles } from "../fleet/plot.ts";
import { manPage } from "../../src/cli/man/man-page.ts";
import { allVerbs } from "./command-line.ts";
import { flowPicture } from "./flow-picture.ts";
import { referencePages } from "./reference.ts";
import { THEMES } from "./svg.ts";

const DOCS = resolve(import.meta.dir, "../../docs");

/** By path. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const flow = THEMES.map((theme): [string, string] => [
    join(DOCS, `flow-${theme.name}.svg`),
    flowPicture(theme),
  ]);
  const reference = [...referencePages()].map(([name, text]): [string, string] => [
    join(DOCS, "reference", name),
    text,
  ]);
  const manual: [string, string] = [join(DOCS, "agent.1"), manPage(allVerbs())];
  return new Map([...flow, ...benchmarkFiles(), ...fleetScaleFiles(), ...reference, manual]);
}

if (import.meta.main) for (const [file, content] of generatedFiles()) writeFileSync(file, content);
