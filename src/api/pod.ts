// The Pod as this node understands it: Kubernetes' v1 shapes, defaulted, read-only, nothing more.

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  /** Set by the agent (`pod-identity`), never read from a manifest. */
  readonly uid: PodUID;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** UUIDv8 over what a pod's author wrote; names a spec, not a life (POD-API §2). */
export type PodUID = string;

export interface Pod {
  readonly apiVersion: "v1";
  readonly kind: "Pod";
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
}

export type RestartPolicy = "Always" | "OnFailure" | "Never";
export type PullPolicy = "Always" | "IfNotPresent" | "Never";
export type PortProtocol = "TCP" | "UDP" | "SCTP";

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
  readonly restartPolicy: RestartPolicy;
  /** Seconds between SIGTERM and SIGKILL. */
  readonly terminationGracePeriodSeconds: number;
  readonly hostNetwork: boolean;
  /** Absent = the pod's name (or the node's with hostNetwork). */
  readonly hostname?: string;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy: PullPolicy;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir?: string;
  readonly env: readonly EnvVar[];
  readonly ports: readonly ContainerPort[];
  readonly resources: ResourceRequirements;
  readonly volumeMounts: readonly VolumeMount[];
}

export interface EnvVar {
  readonly name: string;
  readonly value: string;
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol: PortProtocol;
}

/** Quantities as written, in canonical text ("500m", "64Mi"); `api/quantity` reads them. */
export interface ResourceRequirements {
  readonly limits: Readonly<Partial<Record<ResourceName, string>>>;
  readonly requests: Readonly<Partial<Record<ResourceName, string>>>;
}
export type ResourceName = "cpu" | "memory";

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
}

export type Volume = HostPathVolume | EmptyDirVolume;

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
  readonly emptyDir: { readonly medium: "" | "Memory"; readonly sizeLimit?: string };
}

/** `namespace/name`, as every log line, error and table says it. */
export function podName(pod: { readonly metadata: { namespace: string; name: string } }): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}
