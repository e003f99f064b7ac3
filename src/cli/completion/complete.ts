// Performs: `agent __complete -- WORD…`: prints what a shell may write in place of the last word: lines of a word, a tab and
// what it means, or `:files`. Without an agent, or of anything else that fails, it prints nothing.

import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import type { Verb } from "../define-verb.ts";
import { PROGRAM_FLAGS, type Completes } from "../flags.ts";
import { apiResources, type ApiResource } from "../get/api-resources.ts";
import { listNames } from "../get/list-names.ts";
import { listPath } from "../get/list-path.ts";
import { findSocket } from "../load-config.ts";
import { LocalClient } from "../local-client.ts";
import type { Terminal } from "../process-io.ts";
import { commandTree, type ShellCommand } from "./command-tree.ts";
import { commandCandidate, placeOf, type Candidate, type Place } from "./complete-words.ts";

/** A shell waits for the answer at each Tab. */
const ANSWER_MS = 500;
const WHOLE_MS = 1000;
/** The line that means the names of files. */
const FILES = ":files";
/** A word goes into a command line as it is: nothing that a shell would read as more than a word. */
const WORD = /^[\w.:@/=+%,-]+$/;

/** The exit code. */
export async function complete(
  words: readonly string[],
  { terminal, verbs }: { readonly terminal: Terminal; readonly verbs: readonly Verb[] },
): Promise<0> {
  const program = commandTree(verbs, PROGRAM_FLAGS);
  const place = placeOf(program, words);
  const late = terminal.clock.sleep(WHOLE_MS).then(() => []);
  const asked = candidatesAt(place, { program, terminal }).catch(() => []);
  const found = [...place.candidates, ...(await Promise.race([asked, late]))];
  terminal.out(
    found
      .filter(({ word }) => word.startsWith(place.current) || word === FILES)
      .map(({ word, about }) => (about === "" || word === FILES ? word : `${word}\t${about}`))
      .map((line) => `${line.startsWith(FILES) ? "" : place.prefix}${line}\n`)
      .join(""),
  );
  return 0;
}

interface World {
  readonly program: ShellCommand;
  readonly terminal: Terminal;
}

async function candidatesAt(place: Place, world: World): Promise<readonly Candidate[]> {
  const { completes } = place;
  if (completes === undefined) return [];
  if (typeof completes !== "string") return bare(completes);
  const words = await wordsAt(completes, place, world);
  return words.filter(({ word }) => WORD.test(word) || word === FILES);
}

function bare(words: readonly string[]): readonly Candidate[] {
  return words.map((word) => ({ word, about: "" }));
}

async function wordsAt(
  completes: Exclude<Completes, readonly string[]>,
  place: Place,
  { program, terminal }: World,
): Promise<readonly Candidate[]> {
  const asked = (): Promise<Asked> => Asked.of(place, terminal);
  switch (completes) {
    case "files":
      return bare([FILES]);
    case "verbs":
      return program.below.map(commandCandidate);
    case "schemaKinds":
      return (await import("./schema-words.ts")).schemaKindCandidates();
    case "objects":
      return (await asked()).objects(() => true);
    case "writtenObjects": {
      const { isWrittenKind } = await import("../write/written-kinds.ts");
      return (await asked()).objects(({ kind }) => isWrittenKind(kind));
    }
    case "pods":
      return (await asked()).pods();
    case "containers":
      return bare(await (await asked()).containers());
    case "namespaces":
      return bare(await (await asked()).names({ ...API, name: "namespaces", isNamespaced: false }));
    case "images":
      return bare((await (await asked()).client.images()).flatMap(({ names }) => names));
    case "podPaths":
      return [
        ...bare((await (await asked()).names(PODS)).map((name) => `${name}:`)),
        ...bare([FILES]),
      ];
    case "fields":
      return place.current.includes("/")
        ? (await asked()).pods()
        : (await import("./schema-words.ts")).fieldCandidates(place.current);
  }
}

const API = { root: "/api/v1", isNamespaced: true };
const PODS = { ...API, name: "pods" };

/** The running agent. */
class Asked {
  readonly client: LocalClient;
  readonly #place: Place;
  readonly #namespace: string;

  private constructor(client: LocalClient, place: Place) {
    this.client = client;
    this.#place = place;
    this.#namespace = place.values.get("--namespace") ?? "default";
  }

  static async of(place: Place, { clock, environment }: Terminal): Promise<Asked> {
    const [config, socket] = ["--config", "--socket"].map((flag) => place.values.get(flag));
    const path = await findSocket({ config, socket }, environment);
    return new Asked(new LocalClient({ socket: path, clock, timeoutMs: ANSWER_MS }), place);
  }

  /** Those that are not written yet. */
  async names(
    resource: Pick<ApiResource, "root" | "name" | "isNamespaced">,
  ): Promise<readonly string[]> {
    const path = listPath({ resource }, { namespace: this.#namespace });
    const names = (await listNames(this.client, path)).map(({ name }) => name);
    return [...new Set(names)].filter((name) => !this.#place.args.includes(name));
  }

  /** Also as `pod/NAME`, where that is how it begins. */
  async pods(): Promise<readonly Candidate[]> {
    const [, kind = ""] = /^((?:pods?|po)\/)/.exec(this.#place.current) ?? [];
    return bare((await this.names(PODS)).map((name) => kind + name));
  }

  async objects(isOf: (resource: ApiResource) => boolean): Promise<readonly Candidate[]> {
    const { args, current } = this.#place;
    const all = (await apiResources(this.client)).filter(isOf);
    // The statistics of pods have their name too.
    const known = [
      ...new Map(all.toReversed().map((one) => [one.name, one])).values(),
    ].toReversed();
    const [type] = args;
    const [, prefix] = /^([^/]+)\//.exec(current) ?? [];
    if (prefix !== undefined) {
      const resource = resourceOf(prefix, known);
      const names = resource === undefined ? [] : await this.names(resource);
      return bare(names.map((name) => `${prefix}/${name}`));
    }
    if (type === undefined)
      return known.map(({ name, shortNames }) => ({ word: name, about: shortNames.join(", ") }));
    if (type.includes("/"))
      return known.map(({ singularName }) => ({ word: `${singularName}/`, about: "" }));
    const resource = resourceOf(type, known);
    return resource === undefined ? [] : bare(await this.names(resource));
  }

  async containers(): Promise<readonly string[]> {
    const name = this.#place.args[0]?.replace(/^(?:pods?|po)\//, "") ?? "";
    const pod = await this.client.pod({ namespace: this.#namespace, name }, isJsonObject);
    return ["initContainers", "containers"].flatMap((list) => namesOf(pod, list));
  }
}

function resourceOf(word: string, known: readonly ApiResource[]): ApiResource | undefined {
  return known.find(({ name, singularName, shortNames }) =>
    [name, singularName, ...shortNames].includes(word),
  );
}

function namesOf(pod: JsonObject, list: string): readonly string[] {
  const containers = memberOf(pod["spec"], list);
  return (Array.isArray(containers) ? (containers as readonly unknown[]) : []).flatMap((one) => {
    const name = memberOf(one, "name");
    return typeof name === "string" ? [name] : [];
  });
}
