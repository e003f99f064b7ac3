// The mounts of a container: its pod's volumes, /etc/hosts and the termination log. kubelet: makeMounts

import type { IdRange } from "../../api/pod/observed-pod.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { ImageVolume, Volume } from "../../api/v1/volumes.ts";
import type { MountInit } from "../../cri/cri-client.ts";
import { MountPropagation } from "../../cri/gen/runtime/v1/api_pb.ts";
import { subPathOf } from "./container-sub-paths.ts";
import type { EnvEntry } from "./environment.ts";
import { canRecursiveReadOnly, unsupported, type RuntimeFeatures } from "./features.ts";
import { absolutePath } from "../observe/termination-message.ts";
import type { Container } from "../../api/v1/container.ts";
import { isPart, type VolumeMount } from "../../api/v1/volume-mounts.ts";
import { idMappings } from "./namespaces.ts";
import { configError } from "../../lib/errors.ts";

export interface MountFacts {
  /** Volume name → path on the host. */
  readonly volumes: ReadonlyMap<string, string>;
  /** Index in volumeMounts → path on the host, for mounts of a part of their volume. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** Volume name → the runtime's reference of the image in it. */
  readonly imageVolumes: ReadonlyMap<string, string>;
  /** Host path of the file mounted as /etc/hosts; absent = the runtime's own. */
  readonly etcHosts?: string;
  /** Host path of the file that receives the termination message; absent = none. */
  readonly terminationLog?: string;
  /** For paths that contain `$(NAME)`. */
  readonly env: readonly EnvEntry[];
  readonly features: RuntimeFeatures;
  /** "" = the default. */
  readonly runtimeHandler: string;
  /** Only with hostUsers: false. */
  readonly userNamespace?: IdRange;
}

const ETC_HOSTS = "/etc/hosts";

/**
 * Throws AgentError: `CreateContainerConfigError` when a volume was not set up, `UnsupportedByRuntime` when the runtime
 * would mount something other than the spec asks for.
 */
export function containerMounts(pod: Pod, container: Container, facts: MountFacts): MountInit[] {
  const mounts = [
    ...container.volumeMounts.map((mount, index) => volumeMount(pod, { mount, index }, facts)),
    ...hostsMount(container, facts.etcHosts),
    ...terminationMount(container, facts.terminationLog),
  ];
  if (facts.userNamespace === undefined) return mounts;
  // Files of the node's root belong to the pod's root inside its user namespace.
  const mappings = idMappings(facts.userNamespace);
  return mounts.map((mount) => ({ ...mount, uidMappings: mappings, gidMappings: mappings }));
}

/** Plain data; without a `hostPath` an image is mounted. */
type Mount = Exclude<MountInit, { readonly $typeName: string }>;

interface IndexedMount {
  readonly mount: VolumeMount;
  /** In volumeMounts. */
  readonly index: number;
}

function volumeMount(pod: Pod, indexed: IndexedMount, facts: MountFacts): Mount {
  const { mount } = indexed;
  const volume = pod.spec.volumes.find(({ name }) => name === mount.name);
  const traits = volume === undefined ? HOST_OWNED : traitsOf(volume);
  return {
    containerPath: absolutePath(mount.mountPath),
    ...(volume !== undefined && "image" in volume
      ? imageOf(volume, mount, facts)
      : { hostPath: hostPathOf(indexed, facts) }),
    readonly: mount.readOnly || traits.readOnly,
    recursiveReadOnly: isRecursive(mount, facts),
    propagation: PROPAGATION[mount.mountPropagation ?? "None"],
    selinuxRelabel: traits.relabel,
  };
}

interface VolumeTraits {
  /** Mounted read-only even if the mount does not ask for it. */
  readonly readOnly: boolean;
  /** Belongs to this pod only, so the runtime may set the pod's SELinux label on its files. */
  readonly relabel: boolean;
}

const HOST_OWNED: VolumeTraits = { readOnly: false, relabel: false };

/** kubelet: Attributes of the volume plugins */
function traitsOf(volume: Volume): VolumeTraits {
  if ("hostPath" in volume) return HOST_OWNED;
  if ("emptyDir" in volume) return { readOnly: false, relabel: true };
  if ("persistentVolumeClaim" in volume) {
    const { readOnly } = volume.persistentVolumeClaim;
    return { readOnly, relabel: !readOnly };
  }
  return { readOnly: true, relabel: true };
}

function hostPathOf({ mount, index }: IndexedMount, { volumes, subPaths }: MountFacts): string {
  const hostPath = isPart(mount) ? subPaths.get(index) : volumes.get(mount.name);
  if (hostPath !== undefined) return hostPath;
  const what = isPart(mount) ? `the part of volume "${mount.name}"` : `volume "${mount.name}"`;
  throw configError(`${what} for ${mount.mountPath} is not set up`);
}

function imageOf(
  { name, image: { reference } }: ImageVolume,
  mount: VolumeMount,
  { features, imageVolumes, env }: MountFacts,
): Pick<Mount, "hostPath" | "image" | "imageSubPath"> {
  if (!features.imageVolumes)
    throw unsupported(
      `volume "${name}" is an image, which this container runtime cannot mount; use containerd 2.1 or newer`,
    );
  const imageSubPath = subPathOf(mount, env);
  if (imageSubPath !== "" && !features.imageSubPaths)
    throw unsupported(
      `a part of the image in volume "${name}" is wanted, and this container runtime would mount all of it; use containerd 2.2 or newer`,
    );
  const image = imageVolumes.get(name);
  if (image === undefined)
    throw configError(`the image of volume "${name}" for ${mount.mountPath} is not on this node`);
  return { hostPath: "", image: { image, userSpecifiedImage: reference }, imageSubPath };
}

const PROPAGATION = {
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
} as const;

/** Otherwise only the volume's own file system is read-only, not what is mounted below it. kubelet: resolveRecursiveReadOnly */
function isRecursive(mount: VolumeMount, { features, runtimeHandler }: MountFacts): boolean {
  const { name, recursiveReadOnly, readOnly, mountPropagation } = mount;
  if (recursiveReadOnly === undefined) return false;
  const asked = `volume "${name}" requested recursive read-only mode, but it is not`;
  if (!readOnly) throw configError(`${asked} read-only`);
  if (mountPropagation !== undefined)
    throw configError(`${asked} compatible with propagation "${mountPropagation}"`);
  const can = canRecursiveReadOnly(features, runtimeHandler);
  if (recursiveReadOnly === "Enabled" && !can)
    throw unsupported(
      `${asked} supported by the runtime; use containerd 2.0, runc 1.1 and Linux 5.12 or newer, or recursiveReadOnly: IfPossible`,
    );
  return can;
}

/** A volume that the container mounts at /etc/hosts takes precedence. */
function hostsMount({ volumeMounts }: Container, hostPath: string | undefined): readonly Mount[] {
  const isTaken = volumeMounts.some(
    ({ mountPath }) => absolutePath(mountPath).replace(/\/+$/, "") === ETC_HOSTS,
  );
  return isTaken || hostPath === undefined ? [] : [nodeFile(ETC_HOSTS, hostPath)];
}

/** Must be the last mount, so that no volume covers it. */
function terminationMount(
  { terminationMessagePath: path }: Container,
  hostPath: string | undefined,
): readonly Mount[] {
  return path === "" || hostPath === undefined ? [] : [nodeFile(absolutePath(path), hostPath)];
}

function nodeFile(containerPath: string, hostPath: string): Mount {
  return {
    containerPath,
    hostPath,
    readonly: false,
    recursiveReadOnly: false,
    propagation: PROPAGATION.None,
    selinuxRelabel: true,
  };
}

/**
 * The images that a container mounts: volume name → the container with that image in place of its own, so that pulls and
 * their events work as for the container's image.
 */
export function volumeImages({ spec }: Pod, container: Container): ReadonlyMap<string, Container> {
  const mounted = new Set(container.volumeMounts.map(({ name }) => name));
  return new Map(
    spec.volumes.flatMap((volume) => {
      if (!("image" in volume) || !mounted.has(volume.name)) return [];
      const { reference: image, pullPolicy: imagePullPolicy } = volume.image;
      return [[volume.name, { ...container, image, imagePullPolicy }] as const];
    }),
  );
}
