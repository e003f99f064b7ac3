// What a compose service and a Quadlet container have in common: plain data between what is read and the objects that are
// written.

/** Something that has no counterpart, or means something else: printed as a warning or an error. */
export interface Remark {
  /** The service or unit, and the field: `web: networks`. */
  readonly place: string;
  readonly message: string;
  /** The service cannot be imported. */
  readonly isError?: boolean;
}

/** Tells of a field; `isError`: the service cannot be imported as it is. */
export type Tell = (field: string, message: string, isError?: boolean) => void;

export const UNKNOWN = "is not known, and was left out";

export interface ServicePort {
  readonly container: number;
  /** Absent = it is not published. */
  readonly host?: number;
  readonly hostIP?: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
}

export type ServiceMount = { readonly target: string; readonly isReadOnly: boolean } & (
  | { readonly type: "claim"; readonly claim: string; readonly subPath?: string }
  | { readonly type: "path"; readonly path: string }
  | { readonly type: "empty"; readonly inMemory: boolean; readonly size?: string }
  /** A small file, whose content is taken along. */
  | {
      readonly type: "file";
      readonly configMap: string;
      readonly key: string;
      readonly isSecret: boolean;
      readonly isExecutable?: boolean;
    }
);

export interface ServiceProbe {
  readonly command: readonly string[];
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

export interface Service {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Variables that a Secret gives, which is not imported. */
  readonly secretEnvironment: Readonly<
    Record<string, { readonly secret: string; readonly key: string }>
  >;
  readonly ports: readonly ServicePort[];
  readonly mounts: readonly ServiceMount[];
  readonly probe?: ServiceProbe;
  readonly restart: "Always" | "OnFailure" | "Never";
  readonly workingDir?: string;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly groups: readonly number[];
  readonly isPrivileged: boolean;
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  readonly isReadOnly: boolean;
  readonly noNewPrivileges: boolean;
  readonly sysctls: Readonly<Record<string, string>>;
  /** `/dev/x`, `/dev/x:/dev/y:rw`, or a name of CDI. */
  readonly devices: readonly string[];
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly limits: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, string>>;
  readonly hostname?: string;
  /** Other names under which it is found. */
  readonly aliases: readonly string[];
  /** Names that it has elsewhere; it is found under those that another service writes. */
  readonly otherNames: readonly string[];
  readonly hostAliases: Readonly<Record<string, string>>;
  readonly dns: readonly string[];
  readonly hostNetwork: boolean;
  readonly hostPID: boolean;
  readonly graceSeconds?: number;
  /** Services that start before it, and how far they have to be. */
  readonly dependsOn: Readonly<Record<string, "Running" | "Ready" | "Succeeded">>;
  /** The pod that it shares with others; absent = one of its own, of its name. */
  readonly pod?: string;
}

/** Content beside the services. */
export interface ImportedFile {
  readonly name: string;
  readonly isSecret: boolean;
  readonly data: Readonly<Record<string, string>>;
}

export interface Imported {
  readonly services: readonly Service[];
  readonly files: readonly ImportedFile[];
  readonly remarks: readonly Remark[];
}

export const NO_SERVICE: Omit<Service, "name" | "image"> = {
  environment: {},
  secretEnvironment: {},
  aliases: [],
  otherNames: [],
  ports: [],
  mounts: [],
  restart: "Always",
  groups: [],
  isPrivileged: false,
  addCapabilities: [],
  dropCapabilities: [],
  isReadOnly: false,
  noNewPrivileges: false,
  sysctls: {},
  devices: [],
  stdin: false,
  tty: false,
  limits: {},
  requests: {},
  hostAliases: {},
  dns: [],
  hostNetwork: false,
  hostPID: false,
  dependsOn: {},
};

/** As a name of Kubernetes: lower case, `-` for what has no place there. */
export function objectNameOf(written: string): string {
  const name = written.toLowerCase().replaceAll(/[^a-z0-9-]+/g, "-");
  return name.slice(0, 63).replaceAll(/^-+|-+$/g, "");
}
