// One container of Quadlet, key by key; a key without a counterpart is a remark.

import { withoutUndefined } from "../../lib/json.ts";
import { hostsOf } from "./compose-fields.ts";
import { pathMount, type ComposeFiles } from "./compose-mounts.ts";
import { composePorts, portsIn } from "./compose-ports.ts";
import { pairOf, sectionOf, type QuadletUnit } from "./quadlet-unit.ts";
import { LEFT_OUT } from "./quadlet-keys.ts";
import { dependenciesOfUnit, remarkSystemd } from "./quadlet-order.ts";
import {
  NO_SERVICE,
  objectNameOf,
  UNKNOWN,
  type ImportedFile,
  type Service,
  type ServiceMount,
  type ServiceProbe,
  type Tell,
} from "./service.ts";
import {
  amounts,
  capability,
  deviceOf,
  flagOf,
  gracePeriod,
  hostPIDOf,
  numericId,
  probeTimes,
  sharedMemory,
  tellMountOptions,
  tmpfsMount,
  type FieldPlace,
} from "./service-fields.ts";
import { envLines, plain, shellWords } from "./words.ts";

const HEALTH_TIMES = ["HealthInterval", "HealthTimeout", "HealthRetries", "HealthStartPeriod"];
/** Podman makes them writable in a container that is read-only. */
const WRITABLE = ["/run", "/tmp", "/var/tmp"];
const PULL: Readonly<Record<string, Service["imagePullPolicy"]>> = {
  always: "Always",
  newer: "Always",
  missing: "IfNotPresent",
  never: "Never",
};

interface ContainerParts {
  /** All units, by name. */
  readonly directory: ReadonlyMap<string, QuadletUnit>;
  readonly files: ComposeFiles;
}

export class ContainerReader {
  readonly #name: string;
  readonly #unit: QuadletUnit;
  readonly #parts: ContainerParts;
  readonly #taken = new Set<string>();
  /** Files that were taken along. */
  imported: readonly ImportedFile[] = [];

  constructor(unit: QuadletUnit, parts: ContainerParts) {
    this.#name = objectNameOf(unit.stem.replace(/@$/, ""));
    this.#unit = unit;
    this.#parts = parts;
  }

  /** undefined = it cannot be imported. */
  read(): Service | undefined {
    const { tell } = this.#unit;
    const image = this.#image();
    if (image === undefined) return undefined;
    const exec = this.#one("Exec");
    const entrypoint = this.#one("Entrypoint");
    const network = this.#network();
    const tellPort = this.#tellAs("PublishPort");
    const ports = composePorts(this.#all("PublishPort"), this.#all("ExposeHostPort"), tellPort);
    const isReadOnly = this.#flag("ReadOnly");
    const service: Service = {
      ...NO_SERVICE,
      name: this.#name,
      image,
      ...(entrypoint === ""
        ? {}
        : { command: entrypoint.startsWith("[") ? jsonWords(entrypoint) : [entrypoint] }),
      ...(exec === "" ? {} : { args: this.#words(exec) }),
      environment: this.#environment(),
      ports: portsIn(network.hostNetwork, ports, tellPort),
      ...this.#mountsAndSecrets(isReadOnly),
      ...this.#probe(),
      restart: this.#restart(),
      ...withoutUndefined({
        imagePullPolicy: this.#pullPolicy(),
        workingDir: this.#maybe("WorkingDir"),
        hostname: this.#maybe("HostName"),
        ...this.#user(),
      }),
      groups: this.#all("GroupAdd").flatMap((one) => numericId("GroupAdd", one, tell) ?? []),
      isPrivileged: this.#flag("privileged"),
      addCapabilities: this.#all("AddCapability").flatMap(shellWords).map(capability),
      dropCapabilities: this.#all("DropCapability").flatMap(shellWords).map(capability),
      isReadOnly,
      noNewPrivileges: this.#flag("NoNewPrivileges"),
      sysctls: Object.fromEntries(this.#pairs("Sysctl")),
      devices: this.#devices(),
      limits: amounts(
        { cpus: this.#maybe("cpus"), memory: this.#maybe("Memory") },
        this.#place("Memory"),
      ),
      hostAliases: hostsOf(this.#all("AddHost"), this.#tellAs("AddHost")),
      dns: this.#all("DNS"),
      aliases: this.#all("NetworkAlias"),
      otherNames: [this.#maybe("ContainerName") ?? `systemd-${this.#unit.stem}`],
      ...network,
      hostPID: hostPIDOf(this.#one("pid"), this.#place("PodmanArgs --pid")),
      ...gracePeriod(this.#stopTimeout(), this.#place("StopTimeout")),
      dependsOn: dependenciesOfUnit(this.#unit, this.#parts.directory),
    };
    this.#remarkRest();
    return service;
  }

  #all(key: string): readonly string[] {
    this.#taken.add(key);
    return sectionOf(this.#unit, "Container").get(key) ?? [];
  }

  /** "" if it is not written. */
  #one(key: string): string {
    return this.#maybe(key) ?? "";
  }

  /** undefined = it is not written. */
  #maybe(key: string): string | undefined {
    return this.#all(key).at(-1);
  }

  #place(field: string): FieldPlace {
    return { field, tell: this.#unit.tell };
  }

  /** Readers of compose files call fields by their names there. */
  #tellAs(field: string): Tell {
    return (_, message, isError) => this.#unit.tell(field, message, isError);
  }

  #flag(key: string): boolean {
    return flagOf(this.#maybe(key), this.#place(key));
  }

  #image(): string | undefined {
    const { tell } = this.#unit;
    const written = this.#one("Image");
    const unit = this.#parts.directory.get(written);
    const image = written.endsWith(".image")
      ? unit && sectionOf(unit, "Image").get("Image")?.at(-1)
      : written;
    if (image === undefined) tell("Image", `${written} is not in the directory`, true);
    else if (image === "") tell("Image", "is missing", true);
    else if (image.endsWith(".build"))
      tell("Image", "a node builds no image: push it, and name it", true);
    else return image;
    return undefined;
  }

  /** systemd splits the value of a variable that is a word of its own. */
  #words(written: string): readonly string[] {
    return shellWords(written).flatMap((word) => {
      const [, name] = /^\$(\w+)$/.exec(word) ?? [];
      if (name === undefined) return [word];
      const value = this.#unit.variables[name];
      if (value !== undefined) return value.split(/\s+/).filter((one) => one !== "");
      this.#unit.tell("Exec", `${word} has no value: write it, or set it in [Service]`, true);
      return [word];
    });
  }

  #network(): Pick<Service, "hostNetwork"> & { readonly pod?: string } {
    const networks = this.#all("Network");
    const others = networks.filter((one) => one !== "host" && !one.endsWith(".container"));
    if (others.length > 0) this.#unit.tell("Network", LEFT_OUT["Network"] ?? "");
    const shared = networks.find((one) => one.endsWith(".container"));
    const pod = this.#maybe("Pod") ?? shared;
    const known = pod === undefined || this.#parts.directory.has(pod);
    if (!known) this.#unit.tell("Pod", `${pod} is not in the directory`);
    return {
      hostNetwork: networks.includes("host"),
      ...(pod === undefined ? {} : { pod: objectNameOf(pod.replace(/\.(?:pod|container)$/, "")) }),
    };
  }

  /** `NAME=value` */
  #pairs(key: string): readonly (readonly [string, string])[] {
    return this.#all(key)
      .flatMap(shellWords)
      .flatMap((word) => {
        const pair = pairOf(word);
        if (pair.length === 0) this.#unit.tell(key, `${word} has no value, and is left out`);
        return pair;
      });
  }

  #environment(): Readonly<Record<string, string>> {
    const { tell } = this.#unit;
    const fromFiles = this.#all("EnvironmentFile").flatMap((path) => {
      const text = this.#parts.files.read(path.replace(/^-/, ""));
      if (text === undefined && !path.startsWith("-"))
        tell("EnvironmentFile", `${path} cannot be read`, true);
      return text === undefined ? [] : Object.entries(envLines(text));
    });
    return Object.fromEntries([...fromFiles, ...this.#pairs("Environment")]);
  }

  #mountsAndSecrets(isReadOnly: boolean): Pick<Service, "mounts" | "secretEnvironment"> {
    const secrets = this.#all("Secret").map((one) => this.#secret(one));
    const written: readonly ServiceMount[] = [
      ...this.#all("Volume").flatMap((one) => this.#volume(one)),
      ...this.#all("Tmpfs").map((one) => tmpfsMount(one, this.#place("Tmpfs"))),
      ...sharedMemory(this.#maybe("ShmSize"), this.#place("ShmSize")),
      ...secrets.flatMap(({ mounts }) => mounts),
    ];
    const isKept = this.#maybe("ReadOnlyTmpfs") !== "false" && isReadOnly;
    const added = (isKept ? WRITABLE : [])
      .filter((target) => written.every((one) => one.target !== target))
      .map((target) => ({ type: "empty", inMemory: true, target, isReadOnly: false }) as const);
    return {
      mounts: [...written, ...added],
      secretEnvironment: Object.assign(
        {},
        ...secrets.map((one) => one.secretEnvironment),
      ) as Service["secretEnvironment"],
    };
  }

  #volume(written: string): readonly ServiceMount[] {
    const [first = "", target, rest = ""] = written.split(":");
    // What it stands for is not known, which is an error already.
    if (/^[%$]/.test(first)) return [];
    if (target === undefined)
      return [{ type: "empty", inMemory: false, target: first, isReadOnly: false }];
    const options = rest.split(",");
    tellMountOptions(first, options, this.#place("Volume"));
    const isReadOnly = options.includes("ro");
    const unit = this.#parts.directory.get(first);
    const source = unit && boundBy(unit);
    if (source !== undefined || /^[./~]/.test(first)) {
      const { files } = this.#parts;
      const tell = this.#tellAs("Volume");
      const mount = { source: source ?? first, target, isReadOnly };
      const read = pathMount(mount, { name: this.#name, files, tell });
      this.imported = [...this.imported, ...read.imported];
      return read.mounts;
    }
    const name = unit && sectionOf(unit, "Volume").get("VolumeName")?.at(-1);
    const claim = objectNameOf(name ?? first.replace(/\.volume$/, ""));
    return [{ type: "claim", claim, target, isReadOnly }];
  }

  /** `name[,type=env|mount][,target=…]`; Podman keeps what is in it. */
  #secret(written: string): Pick<Service, "mounts" | "secretEnvironment"> {
    const { tell } = this.#unit;
    const [name = "", ...options] = written.split(",");
    const { type = "mount", target, ...others } = Object.fromEntries(options.flatMap(pairOf));
    const names = Object.keys(others);
    if (names.length > 0) tell("Secret", `${name}: ${names.join(", ")}: not known, and left out`);
    const secret = objectNameOf(name);
    tell("Secret", `write a Secret ${secret} with the key ${name}; the pod waits for it`);
    if (type === "env")
      return { mounts: [], secretEnvironment: { [target ?? name]: { secret, key: name } } };
    const path = target ?? name;
    const mounts: readonly ServiceMount[] = [
      {
        type: "file",
        configMap: secret,
        key: name,
        isSecret: true,
        target: path.startsWith("/") ? path : `/run/secrets/${path}`,
        isReadOnly: true,
      },
    ];
    return { mounts, secretEnvironment: {} };
  }

  #devices(): readonly string[] {
    return this.#all("AddDevice").flatMap((written) => {
      if (written.startsWith("-"))
        this.#unit.tell("AddDevice", `${written}: the container waits until the device is there`);
      return deviceOf(written.replace(/^-/, ""), this.#place("AddDevice"));
    });
  }

  #probe(): { readonly probe?: ServiceProbe } {
    const command = this.#one("HealthCmd");
    const times = probeTimes(
      {
        interval: this.#maybe("HealthInterval"),
        timeout: this.#maybe("HealthTimeout"),
        retries: this.#maybe("HealthRetries"),
      },
      this.#place("HealthCmd"),
    );
    this.#taken.add("HealthStartPeriod");
    // Those that depend on it wait until it is ready.
    if (sectionOf(this.#unit, "Container").get("Notify")?.at(-1) === "healthy")
      this.#taken.add("Notify");
    if (command === "" || command === "none") {
      const keys = HEALTH_TIMES.filter((key) => this.#maybe(key) !== undefined);
      if (command === "" && keys.length > 0)
        this.#unit.tell(
          keys.join(", "),
          "the check of the image is not taken over: write HealthCmd",
        );
      return {};
    }
    return { probe: { command: healthWords(command), ...times } };
  }

  #restart(): Service["restart"] {
    const service = sectionOf(this.#unit, "Service").get("Restart")?.at(-1);
    const how = service ?? this.#maybe("restart") ?? "no";
    if (how === "no") return "Never";
    return how === "always" || how === "unless-stopped" ? "Always" : "OnFailure";
  }

  #pullPolicy(): Service["imagePullPolicy"] {
    const written = this.#one("Pull");
    const policy = PULL[written];
    if (written !== "" && policy === undefined)
      this.#unit.tell("Pull", `${written} has no counterpart`);
    return policy;
  }

  /** `User=1000:1000` is Podman's too. */
  #user(): { readonly runAsUser: number | undefined; readonly runAsGroup: number | undefined } {
    const [user, ofUser] = this.#one("User").split(":");
    const idOf = (key: string, written = ""): number | undefined =>
      written === "" ? undefined : numericId(key, written, this.#unit.tell);
    return {
      runAsUser: idOf("User", user),
      runAsGroup: idOf("Group", this.#maybe("Group") ?? ofUser),
    };
  }

  /** The unit's own time comes before systemd's. */
  #stopTimeout(): string | undefined {
    const service = sectionOf(this.#unit, "Service");
    return this.#maybe("StopTimeout") ?? service.get("TimeoutStopSec")?.at(-1);
  }

  #remarkRest(): void {
    const { tell } = this.#unit;
    for (const key of sectionOf(this.#unit, "Container").keys())
      if (!this.#taken.has(key)) tell(key, LEFT_OUT[key] ?? UNKNOWN);
    if (![undefined, this.#name].includes(this.#maybe("ContainerName")))
      tell("ContainerName", LEFT_OUT["ContainerName"] ?? "");
    remarkSystemd(this.#unit);
  }
}

/** The path that a volume only binds. */
export function boundBy(volume: QuadletUnit): string | undefined {
  const section = sectionOf(volume, "Volume");
  const device = section.get("Device")?.at(-1);
  const isBound = /\bbind\b/.test(section.get("Options")?.at(-1) ?? "");
  return isBound && device?.startsWith("/") === true ? device : undefined;
}

/** Without a form of Docker in front it is a line for the shell. */
function healthWords(command: string): readonly string[] {
  if (command.startsWith("[")) {
    const [first, ...rest] = jsonWords(command);
    if (first === "CMD-SHELL") return ["sh", "-c", rest.join(" ")];
    return first === "CMD" || first === undefined ? rest : [first, ...rest];
  }
  const [, form, rest = command] = /^(CMD|CMD-SHELL)\s+([^]*)$/.exec(command) ?? [];
  return form === "CMD" ? shellWords(rest) : ["sh", "-c", rest];
}

function jsonWords(written: string): readonly string[] {
  try {
    const words: unknown = JSON.parse(written);
    return Array.isArray(words) ? words.map(plain) : [];
  } catch {
    return shellWords(written);
  }
}
