// Volumes, tmpfs, configs and secrets of a compose service → mounts, and the small files that are taken along.

import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { byteQuantity } from "./quantities.ts";
import { tmpfsMount } from "./service-fields.ts";
import { objectNameOf, type ImportedFile, type ServiceMount, type Tell } from "./service.ts";
import { plain } from "./words.ts";

/** What lies beside the compose file. */
export interface ComposeFiles {
  /** A small file's text; undefined = there is none, or it is too large or no text. */
  readonly read: (path: string) => string | undefined;
  /** As an absolute path. */
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

export function composeMounts(input: MountInput): {
  readonly mounts: readonly ServiceMount[];
  readonly imported: readonly ImportedFile[];
} {
  const imported: ImportedFile[] = [];
  const items = (value: unknown): readonly unknown[] =>
    Array.isArray(value) ? value : value === undefined ? [] : [value];
  const mounts = [
    ...items(input.volumes).flatMap((one) => volumeOf(one, input, imported)),
    ...items(input.tmpfs).map((one) => tmpfsMount(plain(one))),
    ...items(input.configs).flatMap((one) => grantOf(one, { ...input, kind: "configs" }, imported)),
    ...items(input.secrets).flatMap((one) => grantOf(one, { ...input, kind: "secrets" }, imported)),
  ];
  return { mounts, imported };
}

function volumeOf(
  written: unknown,
  input: MountInput,
  imported: ImportedFile[],
): readonly ServiceMount[] {
  if (isJsonObject(written)) return longVolume(written, input, imported);
  const parts = plain(written).split(":");
  const [first = "", second, options = ""] = parts;
  if (second === undefined)
    return [{ type: "empty", inMemory: false, target: first, isReadOnly: false }];
  return mountOf(
    { source: first, target: second, isReadOnly: options.split(",").includes("ro") },
    input,
    imported,
  );
}

function longVolume(
  { type = "volume", source, target, read_only: isReadOnly = false, ...more }: JsonObject,
  input: MountInput,
  imported: ImportedFile[],
): readonly ServiceMount[] {
  if (typeof target !== "string") {
    input.tell("volumes", "an entry has no target", true);
    return [];
  }
  const common = { target, isReadOnly: isReadOnly === true };
  if (type === "tmpfs") {
    const { tmpfs } = more;
    const size = isJsonObject(tmpfs) ? byteQuantity(tmpfs["size"]) : undefined;
    return [{ type: "empty", inMemory: true, ...common, ...(size === undefined ? {} : { size }) }];
  }
  if (source === undefined) return [{ type: "empty", inMemory: false, ...common }];
  return mountOf({ source: plain(source), ...common }, input, imported);
}

interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

const HOME = /^~/;

function mountOf(
  { source, target, isReadOnly }: Mount,
  { name, file, files, tell }: MountInput,
  imported: ImportedFile[],
): readonly ServiceMount[] {
  const common = { target, isReadOnly };
  if (!/^[./~]/.test(source)) {
    const volumes = file["volumes"];
    const declared = isJsonObject(volumes) ? volumes[source] : undefined;
    const driver = isJsonObject(declared) ? (declared["driver"] ?? "local") : "local";
    if (driver !== "local")
      tell(
        "volumes",
        `${source}: the driver ${plain(driver)} has no counterpart; the claim is a directory of the node`,
      );
    return [{ type: "claim", claim: objectNameOf(source), ...common }];
  }
  if (source.startsWith("/")) {
    if (source.endsWith("docker.sock"))
      tell("volumes", `${source}: there is no Docker on the node`, true);
    return [{ type: "path", path: source, ...common }];
  }
  const text = HOME.test(source) ? undefined : files.read(source);
  if (text === undefined) {
    const path = files.resolve(source);
    tell("volumes", `${source} becomes ${path} of the node: put it there, or choose another path`);
    return [{ type: "path", path, ...common }];
  }
  const key = source.split("/").at(-1) ?? source;
  const configMap = objectNameOf(`${name}-${key}`);
  imported.push({ name: configMap, isSecret: false, data: { [key]: text } });
  if (!isReadOnly)
    tell("volumes", `${source} becomes ConfigMap ${configMap}, which the container cannot write`);
  return [{ type: "file", configMap, key, isSecret: false, target, isReadOnly: true }];
}

/** A service's use of a config or a secret. */
function grantOf(
  written: unknown,
  { kind, file, files, tell }: MountInput & { readonly kind: "configs" | "secrets" },
  imported: ImportedFile[],
): readonly ServiceMount[] {
  const grant = isJsonObject(written) ? written : { source: written };
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
    return [];
  }
  const name = objectNameOf(source);
  if (!imported.some((one) => one.name === name))
    imported.push({ name, isSecret, data: { [source]: text } });
  if (isSecret)
    tell(
      kind,
      `${source} stands in the result as plain text: keep it out of git, or seal it with agent fleet seal`,
    );
  return [{ type: "file", configMap: name, key: source, isSecret, target, isReadOnly: true }];
}

function contentOf(
  { content, file, environment }: JsonObject,
  files: ComposeFiles,
): string | undefined {
  if (typeof content === "string") return content;
  if (typeof environment === "string") return files.variable(environment);
  return typeof file === "string" ? files.read(file) : undefined;
}
