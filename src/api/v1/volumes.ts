// Volumes as Kubernetes' v1 has them, defaulted. Each kind is known by the field that holds its source.

import type { KeyToPath, FieldRef, ResourceFieldRef } from "./references.ts";

/** An entry of a list from which others may have been left out, as those of an injected token are. */
export interface Written {
  /** Where it was written; absent = where it stands now. */
  readonly writtenIndex?: number;
}

export type Volume = Written &
  (
    | HostPathVolume
    | EmptyDirVolume
    | ConfigMapVolume
    | SecretVolume
    | DownwardAPIVolume
    | ProjectedVolume
    | ClaimVolume
    | ImageVolume
  );

export interface HostPathVolume {
  readonly name: string;
  readonly hostPath: { readonly path: string; readonly type: HostPathType };
}
export type HostPathType =
  | ""
  | "DirectoryOrCreate"
  | "Directory"
  | "FileOrCreate"
  | "File"
  | "Socket"
  | "CharDevice"
  | "BlockDevice";

export interface EmptyDirVolume {
  readonly name: string;
  readonly emptyDir: { readonly medium: EmptyDirMedium; readonly sizeLimit?: string };
}
/** `HugePages` takes the page size that the pod asks for. */
export type EmptyDirMedium = "" | "Memory" | "HugePages" | `HugePages-${string}`;

export interface ConfigMapVolume {
  readonly name: string;
  readonly configMap: ObjectProjection & { readonly defaultMode: number };
}
export interface SecretVolume {
  readonly name: string;
  /** `name` is what is written as secretName. */
  readonly secret: ObjectProjection & { readonly defaultMode: number };
}
export interface DownwardAPIVolume {
  readonly name: string;
  readonly downwardAPI: {
    readonly items: readonly DownwardAPIFile[];
    readonly defaultMode: number;
  };
}
export interface ProjectedVolume {
  readonly name: string;
  readonly projected: {
    readonly sources: readonly ProjectedSource[];
    readonly defaultMode: number;
  };
}
export interface ClaimVolume {
  readonly name: string;
  readonly persistentVolumeClaim: { readonly claimName: string; readonly readOnly: boolean };
}
export interface ImageVolume {
  readonly name: string;
  readonly image: {
    readonly reference: string;
    readonly pullPolicy: "Always" | "IfNotPresent" | "Never";
  };
}

/** Which keys of a ConfigMap or Secret become files. */
export interface ObjectProjection {
  readonly name: string;
  /** Empty = every key, under its own name. */
  readonly items: readonly KeyToPath[];
  readonly optional: boolean;
}

/** Exactly one of the two. */
export interface DownwardAPIFile {
  readonly path: string;
  readonly mode?: number;
  readonly fieldRef?: FieldRef;
  readonly resourceFieldRef?: ResourceFieldRef;
}

export type ProjectedSource =
  | { readonly type: "configMap"; readonly configMap: ObjectProjection }
  | { readonly type: "secret"; readonly secret: ObjectProjection }
  | { readonly type: "downwardAPI"; readonly items: readonly DownwardAPIFile[] };

export interface VolumeMount extends Written {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
  /** Absent = Disabled. */
  readonly recursiveReadOnly?: "IfPossible" | "Enabled";
  /** Path inside the volume. */
  readonly subPath?: string;
  /** The same with `$(VAR)`. */
  readonly subPathExpr?: string;
  /** Absent = None. */
  readonly mountPropagation?: "HostToContainer" | "Bidirectional";
}

/** Whether it shows one path of the volume, and not all of it. */
export function isPart({ subPath, subPathExpr }: VolumeMount): boolean {
  return (subPath ?? subPathExpr) !== undefined;
}
