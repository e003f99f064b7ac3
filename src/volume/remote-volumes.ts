// Performs: volumes on file systems that may hang (NFS, FUSE): every call on them is made by a helper process, so that one
// that hangs keeps its own pod waiting and nothing else.

import type { Pod } from "../api/v1/pod.ts";
import type { SubPath } from "../api/v1/volume-mounts.ts";
import type { Volume } from "../api/v1/volumes.ts";
import type { HangableMount } from "../host/mount-table.ts";
import { AgentError, messageOf, reasonOf } from "../lib/errors.ts";
import type { ClaimUser } from "./claim-directory.ts";
import type { VolumeHost } from "./volume-paths.ts";

/** What the helper process does for one volume. */
export interface VolumeRequest {
  /** With this volume only. */
  readonly pod: Pod;
  readonly claimUser: ClaimUser;
  /** `namespace/name` of the pods of unsigned documents that may write to a claim that the pod would take over. */
  readonly unsignedUsers: readonly string[];
  /** Of the file system that may hang. */
  readonly mountPoint: string;
  /** Whether it is judged where hostPaths lead. */
  readonly isJudged: boolean;
  /** The part of the volume to prepare; absent = set up the volume. */
  readonly part?: SubPath & { readonly readOnly: boolean };
}

/** A path on the host, or why there is none. */
export type VolumeAnswer =
  | { readonly path: string }
  | { readonly error: { readonly reason: string; readonly message: string } };

/** Asks a helper process. Rejects as `RunHelper` does. */
export type AskHelper = (request: VolumeRequest, signal: AbortSignal) => Promise<VolumeAnswer>;

interface RemoteVolumesOptions extends Pick<VolumeHost, "files" | "stateDir"> {
  readonly ask: AskHelper | undefined;
  /** The path on the host that a volume leads to; undefined = it is the agent's own. */
  readonly pathOf: (volume: Volume, pod: Pod) => string | undefined;
  readonly traitsOf: (
    volume: Volume,
    pod: Pod,
  ) => Pick<VolumeRequest, "claimUser" | "unsignedUsers" | "isJudged">;
}

export class RemoteVolumes {
  readonly #options: RemoteVolumesOptions;
  /** `uid/volume` → path to mount. */
  readonly #paths = new Map<string, string>();

  constructor(options: RemoteVolumesOptions) {
    this.#options = options;
  }

  /** Where the volume is on a file system that may hang; undefined = it is not, and is used as any other. */
  mountOf(volume: Volume, pod: Pod): HangableMount | undefined {
    const path = this.#options.pathOf(volume, pod);
    return path === undefined ? undefined : this.mountAt(path);
  }

  /** The same for a path. */
  mountAt(path: string): HangableMount | undefined {
    const { files, stateDir, ask } = this.#options;
    if (ask === undefined) return undefined;
    const mount = files.hangable(path);
    // Where the agent's own state hangs, no helper can help.
    return mount !== undefined && `${stateDir}/`.startsWith(`${mount.point}/`) ? undefined : mount;
  }

  /** The path that a helper has found. Throws AgentError `FailedMount` when none has. */
  path(volume: Volume, pod: Pod, mount: HangableMount): string {
    const path = this.#paths.get(keyOf(volume, pod));
    if (path !== undefined) return path;
    throw new AgentError({
      reason: "FailedMount",
      message: `${where(mount)} was mounted just now; the next try asks it`,
    });
  }

  /** Has a volume set up. Rejects with AgentError. */
  async setUp(volume: Volume, pod: Pod, signal: AbortSignal): Promise<void> {
    const mount = this.mountOf(volume, pod);
    if (mount === undefined) return;
    this.#paths.delete(keyOf(volume, pod));
    this.#paths.set(keyOf(volume, pod), await this.#ask({ volume, pod, mount }, signal));
  }

  /** Has a part of a volume prepared, and returns its path. Rejects with AgentError. */
  prepareSubPath(
    of: { readonly volume: Volume; readonly pod: Pod; readonly mount: HangableMount },
    part: SubPath & { readonly readOnly: boolean },
    signal: AbortSignal,
  ): Promise<string> {
    return this.#ask({ ...of, part }, signal);
  }

  forget(uid: string): void {
    for (const key of this.#paths.keys()) if (key.startsWith(`${uid}/`)) this.#paths.delete(key);
  }

  async #ask({ volume, pod, mount, part }: Asked, signal: AbortSignal): Promise<string> {
    const { ask, traitsOf } = this.#options;
    const one = { ...pod, spec: { ...pod.spec, volumes: [volume] } };
    const of = { pod: one, mountPoint: mount.point, ...traitsOf(volume, pod) };
    const request = { ...of, ...(part === undefined ? {} : { part }) };
    const answer = await this.#answered(ask?.(request, signal), mount, volume);
    if ("path" in answer) return answer.path;
    throw new AgentError(answer.error);
  }

  async #answered(
    asked: Promise<VolumeAnswer> | undefined,
    mount: HangableMount,
    { name }: Volume,
  ): Promise<VolumeAnswer> {
    try {
      return (await asked) ?? { path: "" };
    } catch (cause) {
      if (reasonOf(cause, "") !== "NoAnswer") throw cause;
      const message = `volume "${name}": ${where(mount)} does not answer (${messageOf(cause)}); it is tried again: check the server or the program that serves it`;
      throw new AgentError({ reason: "FailedMount", message, cause });
    }
  }
}

interface Asked {
  readonly volume: Volume;
  readonly pod: Pod;
  readonly mount: HangableMount;
  readonly part?: SubPath & { readonly readOnly: boolean };
}

function keyOf({ name }: Volume, { metadata: { uid } }: Pod): string {
  return `${uid}/${name}`;
}

function where({ point, type }: HangableMount): string {
  return `${point} (${type})`;
}
