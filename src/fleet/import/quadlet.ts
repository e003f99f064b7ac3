// A directory of Quadlet units of Podman → services, with a remark for everything that has no counterpart. podman-systemd.unit(5)

import { withoutUndefined } from "../../lib/json.ts";
import { composePorts } from "./compose-ports.ts";
import {
  NO_SERVICE,
  objectNameOf,
  UNKNOWN,
  type Imported,
  type Remark,
  type Service,
  type ServiceMount,
  type ServiceProbe,
  type Tell,
} from "./service.ts";
import {
  amounts,
  capability,
  gracePeriod,
  numericId,
  probeTimes,
  remarking,
  tmpfsMount,
} from "./service-fields.ts";
import { readUnitFile, type UnitFile } from "./unit-file.ts";
import { envLines, shellWords, plain } from "./words.ts";

export interface QuadletInput {
  /** Units of the directory, by name: `web.container`. */
  readonly units: Readonly<Record<string, string>>;
  /** A small file's text; undefined = there is none. */
  readonly read: (path: string) => string | undefined;
}

const MAX_UNITS = 64;
const KINDS: Readonly<Record<string, string | undefined>> = {
  network: "pods of a node reach each other; networks separate nothing here",
  image: "the node pulls the image that a container names",
  build: "a node builds no image: build and push it, and name it as Image",
};

export function importQuadlet({ units, read }: QuadletInput): Imported {
  const remarks: Remark[] = [];
  const tell = remarking(remarks);
  const names = Object.keys(units).toSorted();
  if (names.length > MAX_UNITS)
    tell("the directory", `only its first ${MAX_UNITS} units are imported`, true);
  const files = new Map(
    names.slice(0, MAX_UNITS).map((name) => [name, readUnitFile(units[name] ?? "")]),
  );
  const services = [...files].flatMap(([file, unit]) => {
    const [, stem = "", kind = ""] = /^(.+)\.(\w+)$/.exec(file) ?? [];
    const tellField: Tell = (field, message, isError) =>
      tell(`${file}: ${field}`, message, isError);
    if (kind !== "container") {
      const remark = remarkOf(kind, unit);
      if (remark !== undefined) tell(file, remark, kind === "build");
      return [];
    }
    return new ContainerReader(stem, { unit, files, read, tell: tellField }).read() ?? [];
  });
  return { services, files: [], remarks };
}

/** What becomes of a unit that is no container; undefined = it is part of one. */
function remarkOf(kind: string, unit: UnitFile): string | undefined {
  if (kind !== "kube") return KINDS[kind];
  const [yaml] = unit.get("Kube")?.get("Yaml") ?? [];
  return yaml === undefined ? "names no Yaml" : `${yaml} is a manifest already: apply it as it is`;
}

/** Keys that become nothing, and why; each is a warning. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  Network: "pods of a node reach each other; only host has a counterpart",
  ContainerName: "the pod has the name of the unit",
  AutoUpdate: "an update comes with a document",
  PodmanArgs: "has no counterpart",
  GlobalArgs: "has no counterpart",
  Notify: "a readiness probe says when a container is ready",
  LogDriver: "logs go to the node, which rotates them",
  RunInit: "has no counterpart",
  IP: "the node gives a pod its address",
  UserNS: "write hostUsers into the pod",
  Timezone: "set TZ in the environment",
  Annotation: "write it into the pod",
  Label: "write labels into the pod",
  Secret: "write a Secret, and refer to it by env or a volume",
  SeccompProfile: "write it into the securityContext of the container",
  SecurityLabelDisable: "has no counterpart",
  Ulimit: "a pod has none; set them in the image",
  PidsLimit: "is a setting of the node (podPidsLimit)",
  StopSignal: "is that of the image",
  ShmSize: "mount an emptyDir with medium: Memory on /dev/shm",
};
/** Of [Service]: how systemd runs it. */
const SERVICE_READ = ["Restart", "TimeoutStopSec", "TimeoutStartSec", "RestartSec", "Type"];

class ContainerReader {
  readonly #name: string;
  readonly #parts: {
    readonly unit: UnitFile;
    readonly files: ReadonlyMap<string, UnitFile>;
    readonly read: (path: string) => string | undefined;
    readonly tell: Tell;
  };
  readonly #taken = new Set<string>();

  constructor(
    name: string,
    parts: {
      readonly unit: UnitFile;
      readonly files: ReadonlyMap<string, UnitFile>;
      readonly read: (path: string) => string | undefined;
      readonly tell: Tell;
    },
  ) {
    this.#name = objectNameOf(name);
    this.#parts = parts;
  }

  /** undefined = it cannot be imported. */
  read(): Service | undefined {
    const { tell } = this.#parts;
    const written = this.#one("Image");
    const image = written.endsWith(".image") ? this.#imageOf(written) : written;
    if (image === "" || image.endsWith(".build")) {
      tell(
        "Image",
        image === "" ? "is missing" : "a node builds no image: push it, and name it",
        true,
      );
      return undefined;
    }
    const exec = this.#one("Exec");
    const entrypoint = this.#one("Entrypoint");
    const pod = this.#pod();
    const network = this.#all("Network");
    const service: Service = {
      ...NO_SERVICE,
      name: this.#name,
      image,
      ...(entrypoint === ""
        ? {}
        : { command: entrypoint.startsWith("[") ? jsonWords(entrypoint) : [entrypoint] }),
      ...(exec === "" ? {} : { args: shellWords(exec) }),
      environment: this.#environment(),
      ports: composePorts(
        [...this.#all("PublishPort"), ...this.#podPorts(pod)],
        this.#all("ExposeHostPort"),
        tell,
      ),
      mounts: [...this.#volumes(), ...this.#all("Tmpfs").map(tmpfsMount)],
      ...this.#probe(),
      restart: this.#restart(),
      ...withoutUndefined({
        workingDir: this.#maybe("WorkingDir"),
        hostname: this.#maybe("HostName"),
        runAsUser: this.#id("User"),
        runAsGroup: this.#id("Group"),
        pod,
      }),
      addCapabilities: this.#all("AddCapability").flatMap(shellWords).map(capability),
      dropCapabilities: this.#all("DropCapability").flatMap(shellWords).map(capability),
      isReadOnly: isTrue(this.#one("ReadOnly")),
      noNewPrivileges: isTrue(this.#one("NoNewPrivileges")),
      sysctls: Object.fromEntries(this.#all("Sysctl").flatMap(shellWords).flatMap(pairOf)),
      devices: this.#all("AddDevice").map((one) => one.replace(/^-/, "").split(":")[0] ?? one),
      limits: amounts({ cpus: this.#one("CPUs"), memory: this.#one("Memory") }),
      hostAliases: Object.fromEntries(this.#all("AddHost").flatMap(hostOf)),
      dns: this.#all("DNS"),
      hostNetwork: network.includes("host"),
      ...gracePeriod(this.#stopTimeout()),
      dependsOn: this.#dependsOn(),
    };
    if (network.some((one) => one !== "host")) tell("Network", LEFT_OUT["Network"] ?? "");
    this.#remarkRest();
    return service;
  }

  #all(key: string): readonly string[] {
    this.#taken.add(key);
    return this.#parts.unit.get("Container")?.get(key) ?? [];
  }

  /** "" if it is not written. */
  #one(key: string): string {
    return this.#maybe(key) ?? "";
  }

  /** undefined = it is not written. */
  #maybe(key: string): string | undefined {
    return this.#all(key).at(-1);
  }

  #imageOf(unit: string): string {
    return this.#parts.files.get(unit)?.get("Image")?.get("Image")?.at(-1) ?? "";
  }

  #pod(): string | undefined {
    const unit = this.#one("Pod");
    if (unit === "") return undefined;
    return objectNameOf(unit.replace(/\.pod$/, ""));
  }

  /** Ports of a shared pod are published by its first container. */
  #podPorts(pod: string | undefined): readonly string[] {
    if (pod === undefined) return [];
    const { files } = this.#parts;
    const unit = this.#one("Pod");
    const members = [...files].filter(
      ([name, one]) =>
        name.endsWith(".container") && one.get("Container")?.get("Pod")?.at(-1) === unit,
    );
    const isFirst =
      objectNameOf((members[0]?.[0] ?? "").replace(/\.container$/, "")) === this.#name;
    return isFirst ? (files.get(unit)?.get("Pod")?.get("PublishPort") ?? []) : [];
  }

  #environment(): Readonly<Record<string, string>> {
    const { read, tell } = this.#parts;
    const fromFiles = this.#all("EnvironmentFile").flatMap((path) => {
      const text = read(path.replace(/^-/, ""));
      if (text === undefined && !path.startsWith("-"))
        tell("EnvironmentFile", `${path} cannot be read`, true);
      return text === undefined ? [] : Object.entries(envLines(text));
    });
    const own = this.#all("Environment").flatMap(shellWords).flatMap(pairOf);
    return Object.fromEntries([...fromFiles, ...own]);
  }

  #volumes(): readonly ServiceMount[] {
    const { tell } = this.#parts;
    return this.#all("Volume").flatMap((written): readonly ServiceMount[] => {
      const [first = "", target, options = ""] = written.split(":");
      if (target === undefined)
        return [{ type: "empty", inMemory: false, target: first, isReadOnly: false }];
      const isReadOnly = options.split(",").includes("ro");
      if (first.startsWith("/")) return [{ type: "path", path: first, target, isReadOnly }];
      if (/^[.%~]/.test(first)) {
        tell("Volume", `${first} is a path of a user: write the path of the node`, true);
        return [];
      }
      return [
        { type: "claim", claim: objectNameOf(first.replace(/\.volume$/, "")), target, isReadOnly },
      ];
    });
  }

  #probe(): { readonly probe?: ServiceProbe } {
    const command = this.#one("HealthCmd");
    const times = probeTimes({
      interval: this.#maybe("HealthInterval"),
      timeout: this.#maybe("HealthTimeout"),
      retries: this.#maybe("HealthRetries"),
      startPeriod: this.#maybe("HealthStartPeriod"),
    });
    if (command === "" || command === "none") return {};
    const words = command.startsWith("[") ? jsonWords(command) : ["sh", "-c", command];
    return { probe: { command: words[0] === "CMD" ? words.slice(1) : words, ...times } };
  }

  #restart(): Service["restart"] {
    const how = this.#parts.unit.get("Service")?.get("Restart")?.at(-1) ?? "no";
    if (how === "no") return "Never";
    return how === "always" ? "Always" : "OnFailure";
  }

  #id(key: string): number | undefined {
    const written = this.#maybe(key);
    return written === undefined ? undefined : numericId(key, written, this.#parts.tell);
  }

  /** The unit's own time comes before systemd's. */
  #stopTimeout(): string | undefined {
    return (
      this.#maybe("StopTimeout") ?? this.#parts.unit.get("Service")?.get("TimeoutStopSec")?.at(-1)
    );
  }

  #dependsOn(): Service["dependsOn"] {
    const after = this.#parts.unit.get("Unit")?.get("After") ?? [];
    const units = after
      .flatMap(shellWords)
      .flatMap((unit) => /^(.+)\.service$/.exec(unit)?.[1] ?? []);
    const known = units.filter((name) => this.#parts.files.has(`${name}.container`));
    return Object.fromEntries(known.map((name) => [objectNameOf(name), "Running" as const]));
  }

  #remarkRest(): void {
    const { unit, tell } = this.#parts;
    for (const key of unit.get("Container")?.keys() ?? [])
      if (!this.#taken.has(key)) tell(key, LEFT_OUT[key] ?? UNKNOWN);
    for (const key of unit.get("Service")?.keys() ?? [])
      if (!SERVICE_READ.includes(key))
        tell(`[Service] ${key}`, "the node runs the pod, not systemd");
  }
}

function isTrue(written: string): boolean {
  return /^(?:1|yes|true|on)$/i.test(written);
}

function pairOf(written: string): readonly (readonly [string, string])[] {
  const equals = written.indexOf("=");
  return equals < 1 ? [] : [[written.slice(0, equals), written.slice(equals + 1)]];
}

function hostOf(written: string): readonly (readonly [string, string])[] {
  const colon = written.indexOf(":");
  return colon < 1 ? [] : [[written.slice(0, colon), written.slice(colon + 1)]];
}

function jsonWords(written: string): readonly string[] {
  try {
    const words: unknown = JSON.parse(written);
    return Array.isArray(words) ? words.map(plain) : [];
  } catch {
    return shellWords(written);
  }
}
