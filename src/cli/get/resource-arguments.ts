// What the words of `agent get` mean: `pods`, `pod web db`, `pod/web cm/settings`, `pods,cm`, `all`. kubectl: resource.Builder

import { failed, ok, type Result } from "../../lib/result.ts";
import { didYouMean } from "../../lib/suggest.ts";
import type { ApiResource } from "./api-resources.ts";

/** Objects of one kind. */
export interface Wanted {
  readonly resource: ApiResource;
  /** undefined = all of them. */
  readonly name: string | undefined;
}

export interface ResourceArguments {
  readonly wanted: readonly Wanted[];
  /** Of several kinds: names are shown with their kind. */
  readonly isMixed: boolean;
}

/** The flags that choose objects instead of names. */
export interface SelectionFlags {
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly all?: boolean;
  readonly allNamespaces?: boolean;
}

/** The words of a verb that needs names, or flags instead of them; what is wrong with both, in kubectl's words. */
export function selectionError(
  words: readonly string[],
  flags: SelectionFlags,
): string | undefined {
  const [first, ...names] = words;
  if (first === undefined)
    return "You must provide one or more resources by argument or filename, such as pod NAME, pod/NAME, pod --all or -f FILE";
  if (first.includes("/") || names.length > 0) return nameError(first, flags);
  return isSelected(flags)
    ? undefined
    : "resource(s) were provided, but no name was specified; name them, or add --all or -l SELECTOR";
}

function nameError(first: string, flags: SelectionFlags): string | undefined {
  if (isSelected(flags))
    return first.includes("/")
      ? "selectors and the all flag cannot be used when passing resource/name arguments"
      : "name cannot be provided when a selector is specified";
  return flags.allNamespaces === true
    ? "a resource cannot be retrieved by name across all namespaces; use -n NAMESPACE"
    : undefined;
}

/** The objects need not be named. */
export function isSelected({
  all = false,
  selector = "",
  fieldSelector = "",
}: SelectionFlags): boolean {
  return all || selector !== "" || fieldSelector !== "";
}

export function resourceArguments(
  words: readonly string[],
  known: readonly ApiResource[],
): Result<ResourceArguments> {
  const [first, ...names] = words;
  if (first === undefined) return refuse(`name a kind of object: ${namesOf(known)}, or all`);
  if (first.includes("/")) return pairs(words, known);
  const kinds: ApiResource[] = [];
  for (const word of first.split(",")) {
    const found = find(word, known);
    if (found.length === 0) return refuse(unknown(word, known));
    kinds.push(...found.filter((one) => !kinds.includes(one)));
  }
  const slashed = names.find((name) => name.includes("/"));
  if (slashed !== undefined)
    return refuse(`${slashed}: a kind and names exclude KIND/NAME; write all of them as KIND/NAME`);
  const asked = names.length === 0 ? [undefined] : names;
  const wanted = kinds.flatMap((resource) => asked.map((name) => ({ resource, name })));
  return ok({ wanted, isMixed: kinds.length > 1 });
}

function pairs(words: readonly string[], known: readonly ApiResource[]): Result<ResourceArguments> {
  const wanted: Wanted[] = [];
  for (const written of words) {
    const [, word = "", name = ""] = /^([^/]+)\/([^/]+)$/.exec(written) ?? [];
    if (word === "") return refuse(`${written}: write it as KIND/NAME, such as pod/web`);
    const [resource, ...more] = find(word, known);
    if (resource === undefined || more.length > 0) return refuse(unknown(word, known));
    wanted.push({ resource, name });
  }
  return ok({ wanted, isMixed: new Set(wanted.map(({ resource }) => resource)).size > 1 });
}

/** A category such as `all` means several. */
function find(written: string, known: readonly ApiResource[]): readonly ApiResource[] {
  const word = written.toLowerCase();
  const one = known.find(({ name, singularName, kind, shortNames }) =>
    [name, singularName, kind.toLowerCase(), ...shortNames].includes(word),
  );
  return one === undefined ? known.filter(({ categories }) => categories.includes(word)) : [one];
}

function unknown(word: string, known: readonly ApiResource[]): string {
  const words = known.flatMap(({ name, singularName }) => [name, singularName]);
  return `this node has no resource type "${word}"${didYouMean(word, words)}; it has ${namesOf(known)}`;
}

/** Pods and nodes are in the group of their statistics too. */
function namesOf(known: readonly ApiResource[]): string {
  return [...new Set(known.map(({ name }) => name))].join(", ");
}

function refuse(message: string): Result<ResourceArguments> {
  return failed([{ path: "", message, code: "Invalid" }]);
}
