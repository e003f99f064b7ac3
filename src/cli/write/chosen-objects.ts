// Performs: finds the objects that the words and flags of `agent delete` choose: by name, by selector, or from files.

import { withoutUndefined } from "../../lib/json.ts";
import type { VerbCall } from "../define-verb.ts";
import { UsageError } from "../exit-codes.ts";
import { listNames } from "../get/list-names.ts";
import { listPath } from "../get/list-path.ts";
import { isSelected, selectionError, type SelectionFlags } from "../get/resource-arguments.ts";
import type { LocalClient } from "../local-client.ts";
import { readObjects } from "./read-manifests.ts";
import { kindOfWord, pluralOf, type NamedObject } from "./written-kinds.ts";

export interface ChoiceFlags extends SelectionFlags {
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly namespace?: string;
}

/** Throws UsageError, CliError. */
export async function chosenObjects(
  { args, terminal, connect }: Pick<VerbCall, "args" | "terminal" | "connect">,
  options: ChoiceFlags,
): Promise<readonly NamedObject[]> {
  const { filename = [], selector = "", all = false } = options;
  if (filename.length > 0) {
    if (args.length > 0 || isSelected(options))
      throw new UsageError("name either files with -f or objects, not both");
    return readObjects({ ...options, paths: filename }, terminal);
  }
  const wrong = selectionError(args, options);
  if (wrong !== undefined) throw new UsageError(wrong);
  if (all && selector !== "")
    throw new UsageError(
      "setting 'all' parameter but found a non empty selector; give one of them",
    );
  const named = namedObjects(args, options);
  return named ?? listed(await connect(), kindsOf(args), options);
}

/** undefined = no object is named. */
function namedObjects(
  args: readonly string[],
  { namespace = "default" }: ChoiceFlags,
): readonly NamedObject[] | undefined {
  const [first = "", ...names] = args;
  if (first.includes("/"))
    return args.map((word) => {
      const [, kind = "", name = ""] = /^([^/]+)\/([^/]+)$/.exec(word) ?? [];
      if (name === "") throw new UsageError(`${word}: write it as KIND/NAME, such as pod/web`);
      return { kind: kindOfWord(kind), namespace, name };
    });
  if (names.length === 0) return undefined;
  return kindsOf(args).flatMap((kind) => names.map((name) => ({ kind, namespace, name })));
}

function kindsOf([types = ""]: readonly string[]): readonly string[] {
  // kubectl's word for what runs.
  const words = types.split(",").map((word) => (word === "all" ? "pods" : word));
  return [...new Set(words.map(kindOfWord))];
}

async function listed(
  client: LocalClient,
  kinds: readonly string[],
  { namespace = "default", allNamespaces, selector, fieldSelector }: ChoiceFlags,
): Promise<readonly NamedObject[]> {
  const selection = withoutUndefined({ namespace, allNamespaces, selector, fieldSelector });
  const found: NamedObject[] = [];
  for (const kind of kinds) {
    const resource = { root: "/api/v1", name: pluralOf(kind), isNamespaced: true };
    const names = await listNames(client, listPath({ resource }, selection));
    found.push(...names.map((one) => ({ ...one, kind })));
  }
  return found;
}
