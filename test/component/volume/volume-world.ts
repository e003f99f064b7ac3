// Volumes on the real kernel below a directory of the test's own, and objects that a test changes as it goes.

import { afterEach } from "bun:test";
import { join } from "node:path";
import type { ConfigMap } from "../../../src/api/v1/object/config-map.ts";
import type { Secret } from "../../../src/api/v1/object/secret.ts";
import type { LocalObjects } from "../../../src/api/v1/object/local-object.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { DownwardAPIFile } from "../../../src/api/v1/projected-volumes.ts";
import type { Files } from "../../../src/host/files.ts";
import { realMounts, type Mounts } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { Volumes, type VolumesOptions } from "../../../src/volume/volume-manager.ts";
import { UID } from "../../fakes/a-pod.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";

export class FakeObjects implements LocalObjects {
  readonly #found = new Map<string, unknown>();

  setConfigMap(name: string, data: Record<string, string>, binary: ConfigMap["binaryData"] = {}) {
    const metadata = { name, namespace: "default", labels: {}, annotations: {} };
    const object: ConfigMap = {
      kind: "ConfigMap",
      metadata,
      data,
      binaryData: binary,
      immutable: false,
    };
    this.#found.set(`configmap default/${name}`, object);
  }

  setSecret(name: string, data: Record<string, string>) {
    const metadata = { name, namespace: "default", labels: {}, annotations: {} };
    const bytes = Object.entries(data).map(
      ([key, text]) => [key, new TextEncoder().encode(text)] as const,
    );
    const secret: Secret = {
      kind: "Secret",
      metadata,
      type: "Opaque",
      data: Object.fromEntries(bytes),
      immutable: false,
    };
    this.#found.set(`secret default/${name}`, secret);
  }

  setClaim(name: string) {
    const metadata = { name, namespace: "default", labels: {}, annotations: {} };
    this.#found.set(`claim default/${name}`, {
      kind: "PersistentVolumeClaim",
      metadata,
      accessModes: ["ReadWriteOnce"],
    });
  }

  remove(key: string) {
    this.#found.delete(key);
  }

  configMap(namespace: string, name: string) {
    return this.#found.get(`configmap ${namespace}/${name}`) as ConfigMap | undefined;
  }

  secret(namespace: string, name: string) {
    return this.#found.get(`secret ${namespace}/${name}`) as Secret | undefined;
  }

  claim(namespace: string, name: string) {
    return this.#found.get(`claim ${namespace}/${name}`) as ReturnType<LocalObjects["claim"]>;
  }
}

/** `metadata.labels['x']` only. */
export function renderLabel(pod: Pod, { fieldRef }: DownwardAPIFile): string | undefined {
  const key = /^metadata\.labels\['(.*)'\]$/.exec(fieldRef?.fieldPath ?? "")?.[1];
  return key === undefined ? undefined : (pod.metadata.labels[key] ?? "");
}

export interface VolumeWorld {
  readonly root: string;
  readonly stateDir: string;
  readonly podDir: string;
  readonly claimRoot: string;
  readonly files: Files;
  readonly mounts: Mounts;
  readonly objects: FakeObjects;
  readonly volumes: Volumes;
  /** Other volumes on the same disk: another process, or one with other edges. */
  again(more?: Partial<Omit<VolumesOptions, "objects">>): Volumes;
}

/** Temporary directories in which nothing is mounted any more when the test ends. */
export function unmountedDirectories(): () => string {
  const mounts = realMounts();
  const roots: string[] = [];
  // Registered before the one that removes the directories: hooks run in this order.
  afterEach(() => {
    for (const root of roots.splice(0))
      for (let round = 0; round < 8 && mounts.mountsUnder(root).length > 0; round += 1) {
        for (const path of mounts.mountsUnder(root)) mounts.makePrivate(path);
        for (const path of mounts.mountsUnder(root)) mounts.unmount(path);
      }
  });
  const newDirectory = temporaryDirectories();
  return () => {
    const root = newDirectory();
    roots.push(root);
    return root;
  };
}

/** Each call of the answer makes a world; after the test nothing of it is mounted any more. */
export function volumeWorlds(): () => VolumeWorld {
  const mounts = realMounts();
  const files = realFiles();
  const newDirectory = unmountedDirectories();
  return () => {
    const root = newDirectory();
    const stateDir = join(root, "state");
    const claimRoot = join(root, "claims");
    const objects = new FakeObjects();
    const found = { objects: () => objects, renderDownward: renderLabel };
    const options = { files, mounts, stateDir, claimRoot };
    // A world given as `more` brings its own bare `objects`.
    const again = (more: Partial<Omit<VolumesOptions, "objects">> = {}) =>
      new Volumes({ ...options, ...more, ...found });
    const podDir = join(stateDir, "pods", UID);
    return { root, stateDir, podDir, claimRoot, files, mounts, objects, volumes: again(), again };
  };
}
