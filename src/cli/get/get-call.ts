// What one call of `agent get` was asked for.

import type { LocalClient } from "../local-client.ts";
import type { Terminal } from "../process-io.ts";
import type { ApiResource } from "./api-resources.ts";
import type { GetFlags } from "./list-path.ts";
import type { OutputFormat } from "./output-format.ts";
import type { Wanted } from "./resource-arguments.ts";
import type { TableFlags } from "./table-rows.ts";

/** Everything about one call of `agent get`. */
export interface GetCall {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  readonly flags: GetFlags;
  readonly output: OutputFormat;
  readonly wanted: readonly Wanted[];
  readonly isMixed: boolean;
}

export function tableFlags(
  { flags, isMixed }: GetCall,
  { isNamespaced, singularName }: ApiResource,
  isWide: boolean,
): TableFlags {
  return {
    isWide,
    withNamespace: flags.allNamespaces === true && isNamespaced,
    kind: isMixed || flags.showKind === true ? singularName : undefined,
    withLabels: flags.showLabels === true,
    labels: (flags.labelColumns ?? []).flatMap((written) => written.split(",")),
  };
}
