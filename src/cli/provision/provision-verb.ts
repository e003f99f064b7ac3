// Performs: `agent provision`: the take-over that `agent run` makes by itself, for a person who has changed the card.

import type { VerbCall } from "../define-verb.ts";
import { CliError } from "../exit-codes.ts";
import { provision } from "../../provision/provision.ts";
import { noticesOf } from "../../provision/report.ts";
import { printableText } from "../terminal-text.ts";
import { noticeText } from "./notice-text.ts";
import { configNow, lookOptions, merged, resume } from "./starting-config.ts";

interface ProvisionFlags {
  readonly again?: boolean;
  readonly dryRun?: boolean;
  readonly from?: string;
}

/** The exit code: 1 when a file was refused, or a secret is left. Throws CliError when nothing can be taken over. */
export async function provisionNow({ flags, terminal }: VerbCall): Promise<0 | 1> {
  const { again = false, dryRun: isDry = false, from, ...named } = flags<ProvisionFlags>();
  const { environment } = terminal;
  const before = await configNow(named, environment);
  const resumed = isDry ? { taken: [], failure: undefined } : resume(before, named, environment);
  const config = resumed.taken.length > 0 ? await configNow(named, environment) : before;
  const options = lookOptions({ config, flags: named, environment, from });
  const report = merged(resumed, provision({ ...options, again, isDry }));
  if (report === undefined)
    throw new CliError(
      `there is no ${options.directories.join(", and no ")}; --from names another directory`,
    );
  const problems = noticesOf(report).filter(({ level }) => level !== "info");
  for (const { name, target } of report.taken)
    terminal.out(
      printableText(
        `${isDry ? "would take over" : "took over"} ${report.directory}/${name} as ${target}\n`,
      ),
    );
  for (const notice of problems) terminal.err(noticeText(notice));
  const { taken, refused, left, failure } = report;
  if (taken.length === 0 && failure === undefined) terminal.out("there is nothing to take over\n");
  else if (!isDry && failure === undefined)
    terminal.out("the agent reads the configuration when it starts (systemctl start agent)\n");
  return refused.length + left.length > 0 || failure !== undefined ? 1 : 0;
}
