// Performs: runs the checks side by side, each with a deadline, so that none that hangs holds up the others.

import { aborted, deadline } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Check, CheckContext } from "./checks.ts";
import { broken, type CheckResult, type Finding } from "./finding.ts";

const LIMIT_MS = 10_000;

/** In the order of the checks. */
export async function runChecks(
  checks: readonly Check[],
  context: CheckContext,
): Promise<readonly CheckResult[]> {
  const all = checks.map(async (check) =>
    (await runOne(check, context)).map((finding) => ({ check: check.name, ...finding })),
  );
  return (await Promise.all(all)).flat();
}

async function runOne(
  { run, limitMs = LIMIT_MS }: Check,
  context: CheckContext,
): Promise<readonly Finding[]> {
  using limit = deadline(context.clock, limitMs);
  const late = aborted(limit.signal).then(() => [
    broken(
      `there was no answer within ${limitMs / 1000} s`,
      "look for a file system, a runtime or a network that hangs (mount, dmesg, journalctl -u containerd)",
    ),
  ]);
  try {
    return await Promise.race([run(context, limit.signal), late]);
  } catch (error) {
    return [
      broken(
        `it could not be checked: ${messageOf(error)}`,
        "run this as root, and correct the errors above first",
      ),
    ];
  }
}
