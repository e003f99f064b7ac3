// Volumes, tmpfs, configs and secrets of a compose service → mounts, and the small files that are taken along.

import { isJsonObject, withoutUndefined, type JsonObject } from "../../lib/json.ts";
import { flagOf, sizeOf, tellMountOptions, tellOthers, tmpfsMount } from "./service-fields.ts";
import { objectNameOf, type ImportedFile, type ServiceMount, type Tell } from "./service.ts";
import { plain } from "./words.ts";

/** What lies beside the compose file. */
export interface ComposeFiles {
  /** A small file's text; undefined = there is none, or it is too large or no text. */
  readonly read: (path: string) => string | undefined;
  /** True if its owner may run it. */
  readonly isExecutable: (path: string) => boolean;
  /** As an absolute path; `~` is the home of the operator. */
  readonly resolve: (path: string) => string;
  /** Of the environment; undefined = it is not set. */
  readonly variable: (name: string) => string | undefined;
}

export interface MountInput {
  /** Of the service. */
  readonly name: string;
  readonly volumes: unknown;
  readonly tmpfs: unknown;
  readonly configs: unknown;
  readonly secrets: unknown;
  /** The whole compose file. */
  readonly file: JsonObject;
  readonly files: ComposeFiles;
  readonly tell: Tell;
}

export interface ReadMounts {
  readonly mounts: readonly ServiceMount[];
  /** Small files that are taken along. */
  readonly imported: readonly ImportedFile[];
}

export function composeMounts(input: MountInput): ReadMounts {
  const items = (value: unknown): readonly unknown[] =>
    Array.isArray(value) ? value : value === undefined ? [] : [value];
  const { tell } = input;
  const all: readonly ReadMounts[] = [
    ...items(input.volumes).map((one) => volumeOf(one, input)),
    ...items(input.tmpfs).map((one) => only(tmpfsMount(plain(one), { field: "tmpfs", tell }))),
    ...items(input.configs).map((one) => grantOf(one, { ...input, kind: "configs" })),
    ...items(input.secrets).map((one) => grantOf(one, { ...input, kind: "secrets" })),
  ];
  return {
    mounts: all.flatMap(({ mounts }) => mounts),
    imported: all.flatMap(({ imported }) => imported),
  };
}

const NOTHING: ReadMounts = { mounts: [], imported: [] };

function only(mount: ServiceMount): ReadMounts {
  return { mounts: [mount], imported: [] };
}

function volumeOf(written: unknown, input: MountInput): ReadMounts {
  if (isJsonObject(written)) return longVolume(written, input);
  const [first = "", target, flags = ""] = plain(written).split(":");
  if (target === undefined)
    return only({ type: "empty", inMemory: false, target: first, isReadOnly: false });
  const options = flags.split(",");
  tellMountOptions(first, options, { field: "volumes", tell: input.tell });
  const mount = { source: first, target, isReadOnly: options.includes("ro") };
  return isPath(first) ? pathMount(mount, input) : only(claimMount(mount, input));
}

/** Keys of the long form, and those of its parts that have a counterpart or the default's meaning. */
const LONG = ["type", "source", "target", "read_only", "bind", "volume", "tmpfs", "consistency"];
const PARTS = { bind: ["create_host_path"], volume: ["subpath"], tmpfs: ["size"] };

function longVolume(written: JsonObject, input: MountInput): ReadMounts {
  const { type = "volume", source, target, volume, tmpfs } = written;
  const place = { field: "volumes", tell: input.tell };
  tellOthers(written, LONG, place);
  for (const [part, known] of Object.entries(PARTS)) tellOthers(written[part], known, place);
  if (typeof target !== "string") {
    input.tell("volumes", "an entry has no target", true);
    return NOTHING;
  }
  const common = { target, isReadOnly: flagOf(written["read_only"], place) };
  if (type === "tmpfs") {
    const size = isJsonObject(tmpfs) ? sizeOf(tmpfs["size"], place) : undefined;
    return only({ type: "empty", inMemory: true, ...common, ...withoutUndefined({ size }) });
  }
  if (type !== "bind" && type !== "volume") {
    input.tell("volumes", `${target}: the type ${plain(type)} has no counterpart`, true);
    return NOTHING;
  }
  if (source === undefined) return only({ type: "empty", inMemory: false, ...common });
  const mount = { source: plain(source), ...common };
  if (type === "bind") return pathMount(mount, input);
  const subPath = isJsonObject(volume) ? volume["subpath"] : undefined;
  const claim = claimMount(mount, input);
  return only(
    claim.type === "claim" && typeof subPath === "string" ? { ...claim, subPath } : claim,
  );
}

interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

function isPath(source: string): boolean {
  return /^[./~]/.test(source);
}

function claimMount(
  { source, ...common }: Mount,
  { file, tell }: Pick<MountInput, "file" | "tell">,
): ServiceMount {
  const volumes = file["volumes"];
  const declared = isJsonObject(volumes) ? volumes[source] : undefined;
  const {
    driver = "local",
    driver_opts: options,
    external,
  } = isJsonObject(declared) ? declared : {};
  const place = { field: `volumes.${source}`, tell };
  tellOthers(declared, ["driver", "driver_opts", "external", "name", "labels"], place);
  if (driver !== "local")
    tell(
      place.field,
      `the driver ${plain(driver)} has no counterpart; the claim is a directory of the node`,
    );
  else if (isJsonObject(options)) {
    const { device, o: flags = "" } = options;
    if (typeof device === "string" && device.startsWith("/") && /\bbind\b/.test(plain(flags)))
      return { type: "path", path: device, ...common };
    const names = Object.keys(options).join(", ");
    tell(
      place.field,
      `driver_opts ${names} have no counterpart; the claim is a directory of the node`,
    );
  }
  if (external !== undefined && external !== false)
    tell(place.field, "is external: the claim begins empty; copy what the volume holds");
  return { type: "claim", claim: objectNameOf(source), ...common };
}

export function pathMount(
  { source, ...common }: Mount,
  { name, files, tell }: Pick<MountInput, "name" | "files" | "tell">,
): ReadMounts {
  if (source.startsWith("/")) {
    if (/(?:docker|podman)\.sock$/.test(source))
      tell("volumes", `${source}: there is no Docker and no Podman on the node`, true);
    return only({ type: "path", path: source, ...common });
  }
  const text = source.startsWith("~") ? undefined : files.read(source);
  if (text === undefined) {
    const path = files.resolve(source);
    tell("volumes", `${source} becomes ${path} of the node: put it there, or choose another path`);
    return only({ type: "path", path, ...common });
  }
  const key = source.split("/").at(-1) ?? source;
  const configMap = objectNameOf(`${name}-${key}`);
  if (!common.isReadOnly)
    tell("volumes", `${source} becomes ConfigMap ${configMap}, which the container cannot write`);
  const mode = files.isExecutable(source) ? { isExecutable: true } : {};
  const { target } = common;
  return {
    mounts: [{ type: "file", configMap, key, isSecret: false, ...mode, target, isReadOnly: true }],
    imported: [{ name: configMap, isSecret: false, data: { [key]: text } }],
  };
}

/** A service's use of a config or a secret. */
function grantOf(
  written: unknown,
  { kind, file, files, tell }: MountInput & { readonly kind: "configs" | "secrets" },
): ReadMounts {
  const grant = isJsonObject(written) ? written : { source: written };
  tellOthers(grant, ["source", "target"], { field: kind, tell });
  const source = plain(grant["source"] ?? "");
  const all = file[kind];
  const declared = isJsonObject(all) ? all[source] : undefined;
  const isSecret = kind === "secrets";
  const wanted = plain(grant["target"] ?? source);
  const target = wanted.startsWith("/")
    ? wanted
    : isSecret
      ? `/run/secrets/${wanted}`
      : `/${wanted}`;
  const text = isJsonObject(declared) ? contentOf(declared, files) : undefined;
  if (text === undefined) {
    tell(
      kind,
      `${source} has no content here: external ones and those of Swarm have to be written as ${isSecret ? "a Secret" : "a ConfigMap"}`,
      true,
    );
    return NOTHING;
  }
  const name = objectNameOf(source);
  if (isSecret)
    tell(
      kind,
      `${source} stands in the result as plain text: keep it out of git, or seal it with agent fleet seal`,
    );
  return {
    mounts: [{ type: "file", configMap: name, key: source, isSecret, target, isReadOnly: true }],
    imported: [{ name, isSecret, data: { [source]: text } }],
  };
}

function contentOf(
  { content, file, environment }: JsonObject,
  files: ComposeFiles,
): string | undefined {
  if (typeof content === "string") return content;
  if (typeof environment === "string") return files.variable(environment);
  return typeof file === "string" ? files.read(file) : undefined;
}
