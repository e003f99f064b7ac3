// Performs: `agent man`: prints the manual page.

import type { VerbCall } from "../define-verb.ts";
import { manPage } from "./man-page.ts";

/** The exit code. */
export async function printManPage({ terminal, allVerbs }: VerbCall): Promise<0> {
  terminal.out(manPage(await allVerbs()));
  return 0;
}
