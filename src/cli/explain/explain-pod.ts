// Performs: `agent explain pod/NAME`: why a pod does not run as it should, on one screen, and what to do.

import type { Explanation } from "../../node/explain/explain-pod.ts";
import { isExplanation } from "../../node/api-views.ts";
import type { VerbCall } from "../define-verb.ts";
import { UsageError } from "../exit-codes.ts";
import { printObject } from "../json-yaml-output.ts";
import { barePodName } from "../pod-argument.ts";
import { explanationText } from "./explanation-text.ts";

interface ExplainFlags {
  readonly namespace: string;
  readonly output?: "json" | "yaml";
}

/** The exit code. Throws UsageError for another kind than pods, CliError for an unknown pod. */
export async function explainPod({ args, flags, terminal, connect }: VerbCall): Promise<0> {
  const [asked = ""] = args;
  const { namespace, output } = flags<ExplainFlags>();
  const name = barePodName(asked);
  if (name === asked || name === "")
    throw new UsageError(
      `${asked}: only a pod can be explained, as pod/NAME; for other objects see agent describe, for fields agent explain pod.spec`,
    );
  const client = await connect();
  const path = `/explain/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const explanation = await client.explanation<Explanation>(path, isExplanation);
  if (output !== undefined) await printObject(terminal, explanation, output);
  else terminal.out(explanationText(explanation, terminal.clock.now(), terminal.palette));
  return 0;
}
