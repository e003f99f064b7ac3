// Performs: `agent wait`: waits until objects meet a condition, one after the other, over the watch of the API. kubectl: wait

import { deadline } from "../../lib/clock.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import type { VerbCall } from "../define-verb.ts";
import { UsageError } from "../exit-codes.ts";
import { apiResources, type ApiResource } from "../get/api-resources.ts";
import { followList } from "../get/follow-list.ts";
import { valueOf } from "../get/get.ts";
import { listNames } from "../get/list-names.ts";
import { listPath } from "../get/list-path.ts";
import { resourceArguments, selectionError } from "../get/resource-arguments.ts";
import { printObject } from "../json-yaml-output.ts";
import type { LocalClient } from "../local-client.ts";
import type { Terminal } from "../process-io.ts";
import { printable } from "../terminal-text.ts";
import { withProgress } from "../terminal/progress-line.ts";
import { readObjects } from "../write/read-manifests.ts";
import { judgeWait, openText, parseWaitCondition, type WaitCondition } from "./wait-condition.ts";

interface WaitFlags {
  readonly filename?: readonly string[];
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly all?: boolean;
  readonly for?: string;
  /** In ms; 0 = look once. */
  readonly timeout: number;
  readonly output?: "name" | "json" | "yaml";
}

/** An object that is waited for. */
interface Awaited {
  readonly resource: ApiResource;
  readonly namespace: string;
  readonly name: string;
  /** Of an object that a list had a moment ago; absent = it is named, and may never have been there. */
  readonly uid?: string;
}

type Outcome =
  /** `object` undefined = it is gone; `isSilent`: it was never there. */
  | { readonly type: "Met"; readonly object: JsonObject | undefined; readonly isSilent: boolean }
  /** The whole line. */
  | { readonly type: "NotFound"; readonly line: string }
  | { readonly type: "Failed"; readonly message: string };

interface WaitCall {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  readonly condition: WaitCondition;
  /** Aborts at the end of the time. */
  readonly signal: AbortSignal;
  readonly isOnce: boolean;
}

/** The exit code: 1 if an object does not meet the condition in time. Throws UsageError, CliError. */
export async function wait({ args, flags, terminal, connect }: VerbCall): Promise<0 | 1> {
  const options = flags<WaitFlags>();
  const condition = valueOf(parseWaitCondition(options.for ?? ""));
  const wrong = (options.filename ?? []).length > 0 ? undefined : selectionError(args, options);
  if (wrong !== undefined) throw new UsageError(wrong);
  const fromFiles = await fromFilesOf(args, options, terminal);
  const client = await connect();
  const known = await apiResources(client);
  const { timeout } = options;
  using limit = deadline(terminal.clock, timeout);
  const call = { client, terminal, condition, signal: limit.signal, isOnce: timeout === 0 };
  const awaited =
    fromFiles?.map((object) => ({ ...object, resource: resourceOf(object.kind, known) })) ??
    (await chosen(client, { args, options, known }));
  if (awaited.length === 0 && condition.type !== "delete") {
    terminal.err("error: no matching resources found\n");
    return 1;
  }
  const failures: Exclude<Outcome, { readonly type: "Met" }>[] = [];
  for (const one of awaited) {
    const outcome = await waitFor(call, one);
    if (outcome.type !== "Met") failures.push(outcome);
    else if (!outcome.isSilent) await printMet(terminal, one, { ...outcome, ...options });
  }
  terminal.err(failureText(failures));
  return failures.length > 0 ? 1 : 0;
}

/** undefined = no files are named. */
async function fromFilesOf(
  args: readonly string[],
  { filename = [], namespace }: WaitFlags,
  terminal: Terminal,
) {
  if (filename.length === 0) return undefined;
  if (args.length > 0) throw new UsageError("name either files with -f or objects, not both");
  return readObjects({ paths: filename, recursive: true, namespace }, terminal);
}

function resourceOf(kind: string, known: readonly ApiResource[]): ApiResource {
  const found = known.find((one) => one.kind === kind);
  if (found !== undefined) return found;
  throw new UsageError(`this node has no resource of kind ${kind}`);
}

async function chosen(
  client: LocalClient,
  {
    args,
    options,
    known,
  }: {
    readonly args: readonly string[];
    readonly options: WaitFlags;
    readonly known: readonly ApiResource[];
  },
): Promise<readonly Awaited[]> {
  const { wanted } = valueOf(resourceArguments(args, known));
  const { namespace = "default" } = options;
  const found: Awaited[] = [];
  for (const { resource, name } of wanted) {
    if (name !== undefined) found.push({ resource, namespace, name });
    else {
      const { for: _condition, output: _output, ...selection } = options;
      const path = listPath({ resource }, { ...selection, namespace });
      found.push(...(await listNames(client, path)).map((one) => ({ ...one, resource })));
    }
  }
  return found;
}

async function waitFor(call: WaitCall, awaited: Awaited): Promise<Outcome> {
  const { terminal, condition } = call;
  const waiting = new Waiting(call, awaited);
  const name = shownName(awaited);
  const text = (seconds: number): string => {
    const why = openText(condition, waiting.object);
    return `waiting for ${name}${why === "" ? "" : `: ${why}`} (${seconds} s)`;
  };
  return withProgress(terminal, text, () => waiting.run());
}

class Waiting {
  readonly #call: WaitCall;
  readonly #awaited: Awaited;
  readonly #done = new AbortController();
  #outcome: Outcome | undefined;
  /** As it was seen last; undefined = it is not there. */
  object: JsonObject | undefined;
  /** Nothing is known of it yet. */
  #isFirst: boolean;
  #uid: string | undefined;

  constructor(call: WaitCall, awaited: Awaited) {
    this.#call = call;
    this.#awaited = awaited;
    this.#isFirst = awaited.uid === undefined;
    this.#uid = awaited.uid === "" ? undefined : awaited.uid;
  }

  async run(): Promise<Outcome> {
    const { client, terminal, signal } = this.#call;
    const stop = AbortSignal.any([signal, this.#done.signal]);
    const followed = {
      list: () => this.#list(),
      pathAfter: (version: string) => this.#path({ watch: "true", resourceVersion: version }),
      take: (event: unknown) => this.#take(event),
    };
    await followList(followed, { client, terminal, signal: stop });
    return (
      this.#outcome ?? {
        type: "Failed",
        message: `timed out waiting for the condition on ${shownName(this.#awaited)}`,
      }
    );
  }

  #path(more: Readonly<Record<string, string>>): string {
    const { resource, namespace, name } = this.#awaited;
    const flags = { namespace, fieldSelector: `metadata.name=${name}` };
    return listPath({ resource }, flags, more);
  }

  async #list(): Promise<string> {
    const { client, isOnce } = this.#call;
    const list = await client.object(this.#path({}), isJsonObject);
    const items = memberOf(list, "items");
    const [object] = Array.isArray(items) ? (items as readonly unknown[]) : [];
    this.#see(isJsonObject(object) ? object : undefined);
    this.#isFirst = false;
    if (isOnce && this.#outcome === undefined)
      this.#end({
        type: "Failed",
        message: `condition not met for ${shownName(this.#awaited)}`,
      });
    const version = memberOf(list["metadata"], "resourceVersion");
    return typeof version === "string" ? version : "";
  }

  #take(event: unknown): void {
    const [type, object] = [memberOf(event, "type"), memberOf(event, "object")];
    // Bookmarks, and errors that begin the watch anew.
    if (!isJsonObject(object) || !["ADDED", "MODIFIED", "DELETED"].includes(String(type))) return;
    this.#see(type === "DELETED" ? undefined : object);
  }

  #see(object: JsonObject | undefined): void {
    if (this.#outcome !== undefined) return;
    this.object = object;
    const { condition } = this.#call;
    if (object === undefined) return this.#seeNone();
    const uid = memberOf(object["metadata"], "uid");
    if (this.#isFirst && typeof uid === "string") this.#uid = uid;
    const verdict = judgeWait(condition, object, this.#uid);
    if (verdict === "Open") return;
    if (verdict === "Met") this.#end({ type: "Met", object, isSilent: false });
    else this.#end({ type: "Failed", message: verdict.error });
  }

  /** Later an object that is deleted may come back. */
  #seeNone(): void {
    const { condition } = this.#call;
    const { resource, name } = this.#awaited;
    if (condition.type === "delete")
      return this.#end({ type: "Met", object: undefined, isSilent: this.#isFirst });
    if (!this.#isFirst || condition.type === "create") return;
    const line = `Error from server (NotFound): ${resource.name} ${JSON.stringify(name)} not found`;
    this.#end({ type: "NotFound", line });
  }

  #end(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#done.abort();
  }
}

function shownName({ resource, name }: Awaited): string {
  return `${resource.name}/${name}`;
}

async function printMet(
  terminal: Terminal,
  { resource, name }: Awaited,
  {
    object,
    output,
  }: { readonly object: JsonObject | undefined; readonly output?: WaitFlags["output"] },
): Promise<void> {
  if ((output === "json" || output === "yaml") && object !== undefined) {
    // The items of a list do not have these.
    const type = { kind: resource.kind, apiVersion: resource.root.replace(/^\/apis?\//, "") };
    return printObject(terminal, { ...type, ...object }, output);
  }
  const note = output === "name" ? "" : " condition met";
  terminal.out(`${printable(`${resource.singularName || resource.name}/${name}`)}${note}\n`);
}

/** As kubectl prints one error, and several. */
function failureText(failures: readonly Exclude<Outcome, { readonly type: "Met" }>[]): string {
  return failures
    .map((failure) => {
      if (failure.type === "NotFound") return `${printable(failure.line)}\n`;
      return `${failures.length === 1 ? "error: " : ""}${printable(failure.message)}\n`;
    })
    .join("");
}
