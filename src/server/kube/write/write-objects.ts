// Performs: create, replace and apply: an object becomes a file of the manifest directory, and the answer is the object as
// the API shows it. Between the checks and the write nothing else runs, so that two clients cannot both win.

import { podName, type NamedPod } from "../../../api/v1/pod.ts";
import type { Clock } from "../../../lib/clock.ts";
import { rfc3339 } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { sameValue } from "../../../lib/compare.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { Random } from "../../../lib/random.ts";
import type { ServerFacts } from "../../../node/node-api.ts";
import type { V1Object } from "../../../node/v1-shape.ts";
import type { Answer, ApiRequest } from "../../http/exchange.ts";
import type { KubeResource } from "../kube-resource.ts";
import { jsonAnswer, notFound, refusal } from "../kube-status.ts";
import { keyOf, memberOf } from "../object-meta.ts";
import type { ObjectPlace } from "../read-objects.ts";
import type { WatchCache } from "../watch-cache.ts";
import { awaitEffect } from "./await-effect.ts";
import { conflictMessage } from "./field-manager.ts";
import { identified } from "./identify-object.ts";
import type { JudgedItem } from "./judge-object.ts";
import type { ManifestStore } from "./manifest-store.ts";
import { planWrite, type Accepted, type OwnManifest, type WritePlan } from "./plan-write.ts";
import { mediaTypeOf, readBody } from "./read-body.ts";
import {
  alreadyExists,
  declaredElsewhere,
  foreignFile,
  invalidObject,
  MODIFIED,
  otherUID,
  outdated,
} from "./refusals.ts";
import {
  expectedObject,
  isAsExpected,
  metaText,
  warningTexts,
  withManagedFields,
  withMetadata,
} from "./shown-object.ts";
import { readWriteOptions, type WriteOptions } from "./write-options.ts";

export interface WriteObjectsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly facts: ServerFacts;
  readonly cache: WatchCache;
  readonly store: ManifestStore;
  /** Calls back whenever something that is shown may have changed. */
  readonly onChange: (run: () => void) => Disposable;
}

type WriteVerb = "create" | "replace" | "apply";

const APPLY_TYPE = "application/apply-patch+yaml";

/** One request, and the object that it is about. */
interface Writing {
  readonly resource: KubeResource;
  readonly verb: WriteVerb;
  readonly options: WriteOptions;
  /** As sent, with its kind, namespace and name. */
  readonly sent: JsonObject;
  readonly named: NamedPod;
  readonly path: string;
}

export class WriteObjects {
  readonly #options: WriteObjectsOptions;

  constructor(options: WriteObjectsOptions) {
    this.#options = options;
  }

  async create(request: ApiRequest, place: ObjectPlace): Promise<Answer> {
    return this.#write(request, place, "create");
  }

  async replace(request: ApiRequest, place: ObjectPlace): Promise<Answer> {
    return this.#write(request, place, "replace");
  }

  async patch(request: ApiRequest, place: ObjectPlace): Promise<Answer> {
    const type = mediaTypeOf(request);
    if (type !== APPLY_TYPE) return refusal(415, noPatch(type));
    return this.#write(request, place, "apply");
  }

  async #write(request: ApiRequest, place: ObjectPlace, verb: WriteVerb): Promise<Answer> {
    const { url, header, signal } = request;
    const { resource } = place;
    const options = readWriteOptions(url.searchParams, header("user-agent"));
    if (!options.ok) return invalidObject("Options", "", options.errors);
    if (verb === "apply" && !options.value.isManagerNamed)
      return invalidObject("PatchOptions", "", [MANAGER_REQUIRED]);
    const body = await readBody(request, verb === "apply" ? { types: [APPLY_TYPE] } : {});
    if (!body.ok) return body.answer;
    const sent = identified(body.object, place, { verb, random: this.#options.random });
    if ("status" in sent) return sent;
    const { store } = this.#options;
    const trouble = await store.trouble(signal);
    if (trouble !== undefined) return refusal(trouble.code, trouble.message);
    const { object, named } = sent;
    // A name that no file can have is refused by the judgement of the object.
    const path = store.pathOf(resource.kind, named) ?? `${store.directory}/api.yaml`;
    const writing = { resource, verb, options: options.value, sent: object, named, path };
    const decided = this.#decide(writing);
    if ("status" in decided) return decided;
    const { accepted, isNew, isWritten, present } = decided;
    if (options.value.isDryRun) return this.#answer(writing, accepted, { isNew, present });
    try {
      if (isWritten) store.write(path, resource.kind, accepted.text);
    } catch (error) {
      return refusal(500, messageOf(error));
    }
    await awaitEffect(() => this.#isInEffect(writing, accepted.item), this.#options, signal);
    return this.#answer(writing, accepted, { isNew, present: undefined });
  }

  /** Reads, but writes nothing. */
  #decide(writing: Writing): Answer | Decided {
    const { resource, verb, named, path, sent, options } = writing;
    const { store, facts, clock } = this.#options;
    const declared = facts.declared(resource.kind, named);
    if (declared !== undefined && declared.sourceRef !== store.refOf(path))
      return declaredElsewhere(resource, { name: named.name, verb }, declared);
    const stored = this.#stored(writing);
    if ("status" in stored) return stored;
    if (verb === "create" && stored.type === "Own") return alreadyExists(resource, named.name);
    if (verb === "replace" && stored.type === "None") return notFound(resource.name, named.name);
    const present = this.#shown(resource, named);
    const outdatedBy = verb === "create" ? undefined : versionError(sent, present);
    if (outdatedBy !== undefined) return outdated(resource, named.name, outdatedBy);
    const plan = planWrite(sent, stored, {
      context: store.context(path),
      options,
      operation: verb === "apply" ? "Apply" : "Update",
      time: rfc3339(clock.now()),
    });
    switch (plan.type) {
      case "Refused":
        return invalidObject(resource.kind, named.name, plan.errors);
      case "Conflict": {
        const { causes } = plan;
        return refusal(409, conflictMessage(causes), { details: { causes } });
      }
      case "Planned":
        return { ...plan, isNew: stored.type === "None", present };
    }
  }

  #stored({ resource, named, path, verb }: Writing): Answer | OwnManifest {
    try {
      const stored = this.#options.store.read(path, resource.kind, named);
      if (stored.type !== "Foreign") return stored;
      const { why } = stored;
      return foreignFile(resource, { name: named.name, verb }, { path, why });
    } catch (error) {
      return refusal(500, messageOf(error));
    }
  }

  #isInEffect({ resource, named }: Writing, { desired }: JudgedItem): boolean {
    const { facts } = this.#options;
    const declared = facts.declared(resource.kind, named);
    const wanted = "pod" in desired ? desired.pod : desired.object;
    if (declared === undefined || !sameValue(declared.object, wanted)) return false;
    const name = podName({ metadata: named });
    return !("pod" in desired) || facts.pods().some(({ pod }) => podName(pod) === name);
  }

  #shown(resource: KubeResource, named: NamedPod): V1Object | undefined {
    const key = `${named.namespace}/${named.name}`;
    return this.#options.cache.list(resource).objects.find((object) => keyOf(object) === key);
  }

  /** `present`: as shown before a dry run; undefined = as shown now. */
  #answer(
    { resource, named, path }: Writing,
    { item, object, warnings }: Accepted,
    { isNew, present }: Pick<Decided, "isNew" | "present">,
  ): Answer {
    const { clock, cache, facts, store } = this.#options;
    const shown = present ?? this.#shown(resource, named);
    const { nodeName, sha256 } = store.context(path);
    const expected = expectedObject(item, { nodeName, sha256, now: clock.now() });
    const resourceVersion = metaText(shown, "resourceVersion") || String(cache.version);
    const isShown = shown !== undefined && isAsExpected(shown, expected);
    const whole = isShown ? shown : withMetadata(expected, { resourceVersion });
    const answer = jsonAnswer(withManagedFields(whole, object), isNew ? 201 : 200);
    const own = facts.rejected().filter(({ ref }) => ref === path);
    const notes = own.map((one) => (one.path === "" ? "" : `${one.path}: `) + one.message);
    return { ...answer, warnings: warningTexts([...warnings, ...notes]) };
  }
}

interface Decided extends Extract<WritePlan, { type: "Planned" }> {
  readonly isNew: boolean;
  /** As the API shows it at this moment. */
  readonly present: V1Object | undefined;
}

const MANAGER_REQUIRED = {
  path: "fieldManager",
  code: "Required",
  message: "Required value: is required for apply patch",
};

/** undefined = the client knows the newest version, or names none. */
function versionError(sent: JsonObject, present: V1Object | undefined): string | undefined {
  const { resourceVersion, uid } = memberOf(sent, "metadata");
  if (typeof uid === "string" && uid !== "" && uid !== metaText(present, "uid"))
    return `Precondition failed: ${otherUID(uid, metaText(present, "uid"))}`;
  const isNamed = typeof resourceVersion === "string" && !["", "0"].includes(resourceVersion);
  if (!isNamed || resourceVersion === metaText(present, "resourceVersion")) return undefined;
  return MODIFIED;
}

function noPatch(type: string): string {
  const named = type === "" ? "a patch without a Content-Type" : type;
  return `this node accepts ${APPLY_TYPE} only, not ${named}: an object is a file that is written as a whole; use kubectl apply --server-side -f FILE, or kubectl replace -f FILE`;
}
