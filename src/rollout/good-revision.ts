// Performs: the last good revisions of one document's pods: made into a copy for the disk (the pod as written, the objects
// that it read, the images that it ran), read back, and looked up.

import type { DecodeContext } from "../api/decode/decode-context.ts";
import { decodeObject } from "../api/decode/decode-object.ts";
import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import {
  findObject,
  objectKey,
  writeObject,
  type LocalObject,
  type LocalObjects,
  objectsBy,
} from "../api/v1/object/local-object.ts";
import { NODE_CONFIG_MAP } from "../api/pod/node-config-map.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import type { GoodCopy, Revision, RolloutState } from "../api/pod/rollout.ts";
import { type JsonObject, parseJson } from "../lib/json.ts";
import type { Store } from "../store/store.ts";

/** A good revision, ready to run. */
export interface GoodPod {
  readonly desired: DesiredPod;
  /** The objects that it found. Claims and the node's own ConfigMap are looked up live first. */
  readonly objects: ReadonlyMap<string, LocalObject>;
  readonly images: Readonly<Record<string, string>>;
}

export function goodCopy(
  desired: DesiredPod,
  written: JsonObject,
  found: { readonly objects: LocalObjects; readonly images: Readonly<Record<string, string>> },
): GoodCopy {
  const read = referencesOf(desired.pod).flatMap(({ kind, namespace, name }) => {
    const isOwn = kind !== "ConfigMap" || name !== NODE_CONFIG_MAP;
    return isOwn ? (findObject(found.objects, { kind, namespace, name }) ?? []) : [];
  });
  const byKey = new Map(
    read.map((object) => [objectKey(object), JSON.stringify(writeObject(object))]),
  );
  return {
    pod: JSON.stringify(written),
    objects: [...byKey.values()],
    images: found.images,
    ...(desired.signed === true ? { signed: true } : {}),
  };
}

/** undefined = it cannot be read any more. Read leniently: what ran once is never judged again. */
export function readGoodCopy(
  copy: GoodCopy,
  context: Omit<DecodeContext, "lenient" | "locate">,
): GoodPod | undefined {
  const decoded = [copy.pod, ...copy.objects].map((text) =>
    decodeObject(parseJson(text), { ...context, lenient: true }),
  );
  const [first] = decoded.flatMap(({ pods }) => pods);
  if (first === undefined || decoded.some(({ errors }) => errors.length > 0)) return undefined;
  const objects = decoded.flatMap((one) => one.objects.map(({ desired }) => desired.object));
  return {
    desired: copy.signed === true ? { ...first.desired, signed: true } : first.desired,
    objects: new Map(objects.map((object) => [objectKey(object), object])),
    images: copy.images,
  };
}

/** What a pod finds that runs a good revision again: ConfigMaps and Secrets as of then, claims as of now. */
export function pinnedObjects({ objects }: GoodPod, live: LocalObjects): LocalObjects {
  return objectsBy((key, of) => {
    const isOfNode = of.kind === "ConfigMap" && of.name === NODE_CONFIG_MAP;
    const isLive = isOfNode || of.kind === "PersistentVolumeClaim";
    return (isLive ? findObject(live, of) : undefined) ?? objects.get(key);
  });
}

interface GoodPodsOptions {
  readonly source: SourceName;
  readonly store: Pick<Store["rollouts"], "copy">;
  /** To read a copy with. */
  readonly context: Omit<DecodeContext, "lenient" | "locate" | "source" | "sourceRef">;
}

export class GoodPods {
  readonly #options: GoodPodsOptions;
  readonly #known = new Map<string, { readonly revision: Revision; readonly pod: GoodPod }>();

  constructor(options: GoodPodsOptions) {
    this.#options = options;
  }

  /** What `state.good` is made of; undefined = there is none, or it is lost. The same object for the same revision. */
  of(name: string, { good }: RolloutState): GoodPod | undefined {
    if (good === undefined) return undefined;
    const known = this.#known.get(name);
    if (known?.revision === good.revision) return known.pod;
    const { source, store, context } = this.#options;
    const found = store.copy({ source, name });
    if (found.type === "Lost") return undefined;
    const sourceRef = `generation ${good.generation}`;
    const pod = readGoodCopy(found.copy, { ...context, source, sourceRef });
    if (pod !== undefined) this.#known.set(name, { revision: good.revision, pod });
    return pod;
  }

  forget(name: string): void {
    this.#known.delete(name);
  }
}
