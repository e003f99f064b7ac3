// Performs: indexes the merged objects by name, finds those that changed, and gives each pod those that it may use.

import {
  objectKey,
  type DesiredObject,
  type LocalObjects,
  objectsBy,
} from "../api/v1/object/local-object.ts";
import { NODE_CONFIG_MAP, nodeConfigMap, type NodeIdentities } from "../api/pod/node-config-map.ts";
import { isStatic } from "../api/pod/labels.ts";
import { mayUse, type Reader } from "./object-access.ts";
import { isSameList, sameValue } from "../lib/compare.ts";

export class ObjectIndex {
  readonly #node: () => NodeIdentities;
  /** The node's identity as pods have read it, and the namespaces of those pods. */
  #nodeAsRead: string;
  readonly #askedOfNode = new Set<string>();
  #list: readonly DesiredObject[] = [];
  #byKey: ReadonlyMap<string, DesiredObject> = new Map();
  #version = 0;

  constructor(node: () => NodeIdentities) {
    this.#node = node;
    this.#nodeAsRead = JSON.stringify(node());
  }

  /** Grows with every change of an object. */
  get version(): number {
    return this.#version;
  }

  /** Returns the keys (`ConfigMap default/web`) of the objects that were added, removed or changed. */
  replace(objects: readonly DesiredObject[]): ReadonlySet<string> {
    const changed = new Set([...this.#replaceAll(objects), ...this.#nodeChanges()]);
    if (changed.size > 0) this.#version += 1;
    return changed;
  }

  #replaceAll(objects: readonly DesiredObject[]): readonly string[] {
    if (isSameList(objects, this.#list)) return [];
    const before = this.#byKey;
    this.#list = objects;
    this.#byKey = new Map(objects.map((desired) => [objectKey(desired.object), desired]));
    return [
      ...[...before.keys()].filter((key) => !this.#byKey.has(key)),
      ...objects.map(({ object }) => objectKey(object)).filter((key) => this.#differs(key, before)),
    ];
  }

  /** The node's document can change labels and groups of the node. */
  #nodeChanges(): readonly string[] {
    const now = JSON.stringify(this.#node());
    if (now === this.#nodeAsRead) return [];
    this.#nodeAsRead = now;
    return [...this.#askedOfNode].map((namespace) => `ConfigMap ${namespace}/${NODE_CONFIG_MAP}`);
  }

  /** The objects that the pod `reader` may use. */
  for(reader: Reader): LocalObjects {
    return objectsBy((key, of) => {
      // It exists in every namespace.
      if (of.kind === "ConfigMap" && of.name === NODE_CONFIG_MAP) {
        this.#askedOfNode.add(of.namespace);
        const node = this.#node();
        const seen = isStatic(reader.source) ? { ...node, ...node.own } : node;
        return nodeConfigMap(seen, of.namespace);
      }
      return this.find(reader, key)?.object;
    });
  }

  /** The declared object of this key (`ConfigMap default/web`) that the pod `reader` may use. */
  find(reader: Reader, key: string): DesiredObject | undefined {
    const desired = this.#byKey.get(key);
    return desired !== undefined && mayUse(reader, desired) ? desired : undefined;
  }

  #differs(key: string, before: ReadonlyMap<string, DesiredObject>): boolean {
    const [was, is] = [before.get(key), this.#byKey.get(key)];
    if (was === is) return false;
    if (was === undefined || is === undefined) return true;
    // An object of another source may be visible to other pods.
    return was.source !== is.source || !sameValue(was.object, is.object);
  }
}
