// Services → the objects that a node runs: a pod for each service, or for those that share one, with claims, ConfigMaps and
// Secrets.

import type { JsonObject } from "../../lib/json.ts";
import { withoutUndefined } from "../../lib/json.ts";
import {
  objectNameOf,
  type Imported,
  type ImportedFile,
  type Remark,
  type Service,
  type ServiceMount,
} from "./service.ts";
import { POD_LABEL, servicesOf } from "./service-names.ts";
import { dependenciesOf, placeServices, type PlacedService } from "./place-services.ts";

export interface WrittenObjects {
  readonly objects: readonly JsonObject[];
  readonly remarks: readonly Remark[];
}

const DEFAULT_CLAIM = "1Gi";

export function objectsOf({ services, files, remarks }: Imported): WrittenObjects {
  const { placed, remarks: unplaced } = placeServices(services);
  const pods = Map.groupBy(placed, ({ pod }) => pod);
  const { annotations, remarks: unmet } = dependenciesOf(placed);
  const claims = services
    .flatMap(({ mounts }) => mounts)
    .flatMap((mount) => (mount.type === "claim" ? [mount.claim] : []));
  const onceEach = mergeFiles(files);
  const names = servicesOf(placed, onceEach.files);
  const written = [...pods].map(([name, members]) =>
    podOf(name, members, {
      isLabelled: names.labelled.has(name),
      dependencies: annotations.get(name) ?? "",
    }),
  );
  return {
    objects: [
      ...onceEach.files.map(fileObject),
      ...[...new Set(claims)].map(claimOf),
      ...names.objects,
      ...written.map(({ pod }) => pod),
    ],
    remarks: [
      ...remarks,
      ...unplaced,
      ...unmet,
      ...onceEach.remarks,
      ...names.remarks,
      ...written.flatMap((one) => one.remarks),
    ],
  };
}

/** Several services may use one file; two contents of one name cannot both be written. */
function mergeFiles(files: readonly ImportedFile[]): {
  readonly files: readonly ImportedFile[];
  readonly remarks: readonly Remark[];
} {
  const byName = Map.groupBy(files, ({ name, isSecret }) => `${isSecret} ${name}`);
  const remarks = [...byName.values()].flatMap(([first, ...others]): readonly Remark[] => {
    const differs = others.some((one) => JSON.stringify(one.data) !== JSON.stringify(first?.data));
    if (!differs || first === undefined) return [];
    const message = "two contents would have this name, and the first is written: rename one";
    return [{ place: first.name, message, isError: true }];
  });
  return { files: [...byName.values()].flatMap(([first]) => first ?? []), remarks };
}

function fileObject({ name, isSecret, data }: ImportedFile): JsonObject {
  const metadata = { name };
  return isSecret
    ? { apiVersion: "v1", kind: "Secret", metadata, stringData: data }
    : { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

function claimOf(name: string): JsonObject {
  const resources = { requests: { storage: DEFAULT_CLAIM } };
  const spec = { accessModes: ["ReadWriteOnce"], resources };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name }, spec };
}

interface PodMetadata {
  readonly isLabelled: boolean;
  /** "" = none. */
  readonly dependencies: string;
}

function podOf(
  name: string,
  members: readonly PlacedService[],
  { isLabelled, dependencies }: PodMetadata,
): { readonly pod: JsonObject; readonly remarks: readonly Remark[] } {
  const [first] = members;
  const volumes = new Volumes();
  const containers = members.map((service) => containerOf(service, volumes));
  const security = podSecurityOf(members);
  const grace = Math.max(...members.map(({ graceSeconds = GRACE_SECONDS }) => graceSeconds));
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      ...(isLabelled ? { labels: { [POD_LABEL]: name } } : {}),
      ...(dependencies === "" ? {} : { annotations: { "agent/depends-on": dependencies } }),
    },
    spec: {
      restartPolicy: first?.restart ?? "Always",
      terminationGracePeriodSeconds: grace,
      ...withoutUndefined({ hostname: first?.hostname }),
      ...(members.some((one) => one.hostNetwork) ? { hostNetwork: true } : {}),
      ...(members.some((one) => one.hostPID) ? { hostPID: true } : {}),
      ...namesOf(members),
      ...(Object.keys(security).length === 0 ? {} : { securityContext: security }),
      containers,
      ...(volumes.all.length === 0 ? {} : { volumes: volumes.all }),
    },
  };
  return { pod, remarks: sharedRemarks(name, members) };
}

/** What containers of one pod cannot have for themselves. */
function sharedRemarks(place: string, members: readonly PlacedService[]): readonly Remark[] {
  const [first, ...others] = members;
  if (first === undefined) return [];
  const policies = others.filter(({ restart }) => restart !== first.restart);
  const hosts = others.flatMap(({ hostname = first.hostname }) =>
    hostname === undefined || hostname === first.hostname ? [] : [hostname],
  );
  const shared = "its containers share a pod and one";
  return [
    ...(policies.length === 0
      ? []
      : [{ place, message: `${shared} restart policy, that of ${first.name}` }]),
    ...(hosts.length === 0
      ? []
      : [{ place, message: `${shared} hostname: ${hosts.join(", ")} left out` }]),
  ];
}

/** Docker's. */
const GRACE_SECONDS = 10;

function podSecurityOf(members: readonly Service[]): JsonObject {
  const sysctls = [...new Map(members.flatMap((one) => Object.entries(one.sysctls)))];
  const groups = members.flatMap((one) => one.groups);
  return {
    ...(sysctls.length === 0 ? {} : { sysctls: sysctls.map(([name, value]) => ({ name, value })) }),
    ...(groups.length === 0 ? {} : { supplementalGroups: [...new Set(groups)] }),
  };
}

function namesOf(members: readonly Service[]): JsonObject {
  const aliases = new Map(members.flatMap(({ hostAliases }) => Object.entries(hostAliases)));
  const nameservers = [...new Set(members.flatMap(({ dns }) => dns))];
  return {
    ...(aliases.size === 0
      ? {}
      : { hostAliases: [...aliases].map(([host, ip]) => ({ ip, hostnames: [host] })) }),
    ...(nameservers.length === 0 ? {} : { dnsPolicy: "None", dnsConfig: { nameservers } }),
  };
}

function containerOf(service: Service, volumes: Volumes): JsonObject {
  const { name, image, imagePullPolicy, command, args, workingDir, probe } = service;
  const env = [
    ...Object.entries(service.environment).map(([key, value]) => ({
      name: key,
      value: escaped(value),
    })),
    ...Object.entries(service.secretEnvironment).map(([variable, { secret, key }]) => ({
      name: variable,
      valueFrom: { secretKeyRef: { name: secret, key } },
    })),
  ];
  const ports = service.ports.map(({ container, host, hostIP, protocol }) => ({
    containerPort: container,
    ...withoutUndefined({ hostPort: host, hostIP }),
    ...(protocol === "TCP" ? {} : { protocol }),
  }));
  const mounts = service.mounts.map((mount) => volumes.mount(mount));
  const security = securityOf(service);
  const devices = service.devices.map((one): readonly [string, number] => [
    one.startsWith("/") ? `podman.io/device=${one}` : one,
    1,
  ]);
  const limits = { ...service.limits, ...Object.fromEntries(devices) };
  const resources = {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(service.requests).length === 0 ? {} : { requests: service.requests }),
  };
  return {
    name: objectNameOf(name),
    image,
    ...withoutUndefined({ imagePullPolicy, workingDir }),
    ...(command === undefined ? {} : { command: command.map(escaped) }),
    ...(args === undefined ? {} : { args: args.map(escaped) }),
    ...(env.length === 0 ? {} : { env }),
    ...(ports.length === 0 ? {} : { ports }),
    ...(service.stdin ? { stdin: true } : {}),
    ...(service.tty ? { tty: true } : {}),
    ...(probe === undefined ? {} : { readinessProbe: probeOf(probe) }),
    ...(Object.keys(resources).length === 0 ? {} : { resources }),
    ...(Object.keys(security).length === 0 ? {} : { securityContext: security }),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
}

/** `$(NAME)` and `$$` are replaced in a pod, and are plain text in a compose file. */
function escaped(text: string): string {
  return text.replaceAll(/\$+(?=\()|\$\$+/g, (signs) => signs + signs);
}

function probeOf({ command, ...times }: NonNullable<Service["probe"]>): JsonObject {
  return { exec: { command: [...command] }, ...times };
}

function securityOf(service: Service): JsonObject {
  const { runAsUser, runAsGroup, addCapabilities: add, dropCapabilities: drop } = service;
  const capabilities = {
    ...(add.length === 0 ? {} : { add: [...add] }),
    ...(drop.length === 0 ? {} : { drop: [...drop] }),
  };
  return {
    ...(service.isPrivileged ? { privileged: true } : {}),
    ...withoutUndefined({ runAsUser, runAsGroup }),
    ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }),
    ...(service.isReadOnly ? { readOnlyRootFilesystem: true } : {}),
    ...(service.noNewPrivileges ? { allowPrivilegeEscalation: false } : {}),
  };
}

const EXECUTABLE = 0o755;

/** The volumes of one pod: what several containers mount stands there once. */
class Volumes {
  readonly #byKey = new Map<string, JsonObject>();

  get all(): readonly JsonObject[] {
    return [...this.#byKey.values()];
  }

  mount(mount: ServiceMount): JsonObject {
    const common = { mountPath: mount.target, ...(mount.isReadOnly ? { readOnly: true } : {}) };
    switch (mount.type) {
      case "claim": {
        const source = { persistentVolumeClaim: { claimName: mount.claim } };
        const name = this.#named(`claim ${mount.claim}`, mount.claim, source);
        return { name, ...common, ...withoutUndefined({ subPath: mount.subPath }) };
      }
      case "path": {
        const source = { hostPath: { path: mount.path } };
        return { name: this.#named(`path ${mount.path}`, mount.path, source), ...common };
      }
      case "empty": {
        const medium = mount.inMemory ? { medium: "Memory" } : {};
        const source = { emptyDir: { ...medium, ...withoutUndefined({ sizeLimit: mount.size }) } };
        return { name: this.#named(`empty ${mount.target}`, mount.target, source), ...common };
      }
      case "file": {
        const { configMap, key, isSecret } = mount;
        const mode = mount.isExecutable === true ? { defaultMode: EXECUTABLE } : {};
        const source = isSecret
          ? { secret: { secretName: configMap } }
          : { configMap: { name: configMap, ...mode } };
        const name = this.#named(`file ${configMap}`, configMap, source);
        return { name, mountPath: mount.target, subPath: key, readOnly: true };
      }
    }
  }

  #named(key: string, wish: string, source: JsonObject): string {
    const known = this.#byKey.get(key)?.["name"];
    if (typeof known === "string") return known;
    const base =
      objectNameOf(wish)
        .slice(0, 50)
        .replaceAll(/^-+|-+$/g, "") || "volume";
    const taken = new Set(this.all.map(({ name }) => name));
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
    this.#byKey.set(key, { name, ...source });
    return name;
  }
}
