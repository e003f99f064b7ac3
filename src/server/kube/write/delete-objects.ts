// Performs: delete: removes the file of an object. A pod stops then as one whose file was removed; the answer comes once it
// stops, and is the pod with its deletionTimestamp.

import { podName, type NamedPod } from "../../../api/v1/pod.ts";
import { rfc3339 } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { v1Pod, type PodEntry } from "../../../node/pod-list.ts";
import type { V1Object } from "../../../node/v1-shape.ts";
import { success } from "../../answer.ts";
import type { Answer, ApiRequest } from "../../http/exchange.ts";
import { apiVersionOf, type KubeResource } from "../kube-resource.ts";
import { jsonAnswer, notFound, refusal } from "../kube-status.ts";
import { readListOptions } from "../list-options.ts";
import { keyOf, metaOf } from "../object-meta.ts";
import type { ObjectPlace } from "../read-objects.ts";
import { awaitEffect } from "./await-effect.ts";
import { readBody } from "./read-body.ts";
import {
  declaredElsewhere,
  foreignFile,
  invalidObject,
  MODIFIED,
  otherUID,
  outdated,
} from "./refusals.ts";
import { metaText, warningTexts, withMetadata } from "./shown-object.ts";
import { readDeleteOptions, type DeleteOptions } from "./write-options.ts";
import type { WriteObjectsOptions } from "./write-objects.ts";

/** The object to delete. */
interface Deletion {
  readonly resource: KubeResource;
  readonly named: NamedPod;
  /** Its file; undefined = it has none: a pod that stops already. */
  readonly path: string | undefined;
  /** As shown before; undefined = it is declared and not shown. */
  readonly shown: V1Object | undefined;
}

export class DeleteObjects {
  readonly #options: Omit<WriteObjectsOptions, "random">;

  constructor(options: Omit<WriteObjectsOptions, "random">) {
    this.#options = options;
  }

  /** One object, or with a list's query all that match. */
  async delete(request: ApiRequest, place: ObjectPlace): Promise<Answer> {
    const body = await readBody(request, { mayBeEmpty: true });
    if (!body.ok) return body.answer;
    const options = readDeleteOptions(request.url.searchParams, body.object);
    if (!options.ok) return invalidObject("DeleteOptions", "", options.errors);
    const trouble = await this.#options.store.trouble(request.signal);
    if (trouble !== undefined) return refusal(trouble.code, trouble.message);
    const { namespace, name } = place;
    if (namespace === undefined || name === undefined)
      return this.#deleteAll(request, place, options.value);
    const found = this.#find(place.resource, { namespace, name }, options.value);
    if ("status" in found) return found;
    return this.#delete(found, options.value, request.signal);
  }

  async #deleteAll(
    { url, signal }: ApiRequest,
    place: ObjectPlace,
    options: DeleteOptions,
  ): Promise<Answer> {
    const { resource } = place;
    const listed = readListOptions(url.searchParams, resource, place);
    if (!listed.ok) return refusal(400, listed.errors.map(({ message }) => message).join("; "));
    const { matches } = listed.value;
    const objects = this.#options.cache.list(resource).objects.filter(matches);
    const found: Deletion[] = [];
    for (const object of objects) {
      const { namespace = "", name } = metaOf(object);
      // The node's own ConfigMap is in every namespace, and stays.
      if (this.#options.facts.declared(resource.kind, { namespace, name })?.source === "agent")
        continue;
      const one = this.#find(resource, { namespace, name }, options);
      // Nothing is deleted before all of them may be.
      if ("status" in one) return one;
      found.push(one);
    }
    const answers = await Promise.all(found.map((one) => this.#delete(one, options, signal)));
    const failed = answers.find(({ status }) => status >= 400);
    if (failed !== undefined) return failed;
    const [kind, apiVersion] = [`${resource.kind}List`, apiVersionOf(resource)];
    const items = found.flatMap(({ shown }) => shown ?? []);
    return jsonAnswer({ kind, apiVersion, metadata: {}, items });
  }

  #find(resource: KubeResource, named: NamedPod, options: DeleteOptions): Answer | Deletion {
    const { store, facts, cache } = this.#options;
    const { kind } = resource;
    const path = store.pathOf(kind, named);
    if (path === undefined) return notFound(resource.name, named.name);
    const key = `${named.namespace}/${named.name}`;
    const shown = cache.list(resource).objects.find((object) => keyOf(object) === key);
    const about = { name: named.name, verb: "delete" } as const;
    const declared = facts.declared(kind, named);
    if (declared !== undefined && declared.sourceRef !== store.refOf(path))
      // The predecessor of a declared pod may still be stopping.
      return (
        this.#stopping(resource, named, options) ?? declaredElsewhere(resource, about, declared)
      );
    const outdatedBy = preconditionError(options, shown);
    if (outdatedBy !== undefined) return outdated(resource, named.name, outdatedBy);
    try {
      const stored = store.read(path, kind, named);
      if (stored.type === "Foreign") return foreignFile(resource, about, { path, why: stored.why });
      if (stored.type === "Own") return { resource, named, path, shown };
    } catch (error) {
      return refusal(500, messageOf(error));
    }
    // Declared by a file that is gone: it stops in a moment.
    if (kind === "Pod" ? shown === undefined : declared === undefined)
      return this.#stopping(resource, named, options) ?? notFound(resource.name, named.name);
    return { resource, named, path: undefined, shown };
  }

  /** Shortens the stop of a pod of this name that has no file; undefined = none is stopping. */
  #stopping(
    resource: KubeResource,
    named: NamedPod,
    { isDryRun, gracePeriodSeconds }: DeleteOptions,
  ): Answer | undefined {
    if (resource.kind !== "Pod" || isDryRun || gracePeriodSeconds === undefined) return undefined;
    const { type } = this.#options.facts.shortenGrace(named, gracePeriodSeconds);
    return type === "Shortened" ? deleted(resource, named, "") : undefined;
  }

  async #delete(deletion: Deletion, options: DeleteOptions, signal: AbortSignal): Promise<Answer> {
    const { resource, named, path, shown } = deletion;
    const { store } = this.#options;
    const uid = metaText(shown, "uid");
    if (!options.isDryRun) {
      try {
        if (path !== undefined) store.remove(path);
      } catch (error) {
        return refusal(500, messageOf(error));
      }
      const isGone = await this.#awaitGone(deletion, options, signal);
      const answer = this.#answer(deletion, uid);
      return isGone ? answer : { ...answer, warnings: warningTexts([this.#waits(deletion)]) };
    }
    return resource.kind === "Pod" && shown !== undefined
      ? jsonAnswer(shown)
      : deleted(resource, named, uid);
  }

  /** Resolves to whether the object is gone, or a pod stops. */
  async #awaitGone(
    { resource, named, shown }: Deletion,
    { gracePeriodSeconds }: DeleteOptions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { facts, clock, onChange, store } = this.#options;
    const own = store.pathOf(resource.kind, named) ?? "";
    const isDeclared = (): boolean =>
      facts.declared(resource.kind, named)?.sourceRef === store.refOf(own);
    if (resource.kind !== "Pod")
      return awaitEffect(() => !isDeclared(), { clock, onChange }, signal);
    const uid = metaText(shown, "uid");
    const stops = (): boolean =>
      !isDeclared() &&
      this.#entries(named).every(({ pod, deletedAt }) => {
        return pod.metadata.uid !== uid || deletedAt !== undefined;
      });
    const isGone = await awaitEffect(stops, { clock, onChange }, signal);
    if (isGone && gracePeriodSeconds !== undefined) facts.shortenGrace(named, gracePeriodSeconds);
    return isGone;
  }

  #entries(named: NamedPod): readonly PodEntry[] {
    const name = podName({ metadata: named });
    return this.#options.facts.pods().filter(({ pod }) => podName(pod) === name);
  }

  #answer({ resource, named, shown }: Deletion, uid: string): Answer {
    if (resource.kind !== "Pod" || shown === undefined) return deleted(resource, named, uid);
    const entry = this.#entries(named).find(({ pod }) => pod.metadata.uid === uid);
    const deletionTimestamp = rfc3339(entry?.deletedAt ?? this.#options.clock.now());
    const resourceVersion = metaText(shown, "resourceVersion");
    const now = entry === undefined ? shown : v1Pod(entry);
    return jsonAnswer(withMetadata(now, { resourceVersion, deletionTimestamp }));
  }

  /** Why what was deleted is still there. */
  #waits({ resource, named }: Deletion): string {
    const waits = this.#options.facts.rejected().find(({ code }) => code === "RemovalsWait");
    const why =
      waits === undefined ? "the node has not taken it in yet" : `${waits.ref} ${waits.message}`;
    return `${resource.name} ${JSON.stringify(named.name)}: its file is removed, but ${why}`;
  }
}

/** k8s: Status of a deletion. */
function deleted({ name: kind }: KubeResource, { name }: NamedPod, uid: string): Answer {
  return success("", uid === "" ? { name, kind } : { name, kind, uid });
}

function preconditionError(
  { uid, resourceVersion }: DeleteOptions,
  shown: V1Object | undefined,
): string | undefined {
  const [ownUID, ownVersion] = [metaText(shown, "uid"), metaText(shown, "resourceVersion")];
  if (uid !== undefined && uid !== ownUID) return otherUID(uid, ownUID);
  if (resourceVersion === undefined || resourceVersion === ownVersion) return undefined;
  return MODIFIED;
}
