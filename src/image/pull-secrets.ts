// Finds the credentials for an image in a pod's imagePullSecrets. kubelet: credentialprovider BasicDockerKeyring

import { warning, type EventContent } from "../api/v1/events.ts";
import type { Secret } from "../api/v1/object/secret.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { ImageReference } from "./image-reference.ts";
import { isJsonObject, memberOf, parseJson, type JsonObject } from "../lib/json.ts";

/** Must never appear in a log, an event or an error. */
export interface PullCredentials {
  readonly username: string;
  readonly password: string;
}

export interface PullSecrets {
  /** The pod's, in its order. */
  readonly secrets: readonly Secret[];
  /** Names of secrets that do not exist, or contain no credentials. */
  readonly unusable: readonly string[];
}

/** A missing secret is no error: the registry may not require any. */
export function pullSecretsOf({ metadata, spec }: Pod, objects: LocalObjects): PullSecrets {
  const found = [...new Set(spec.imagePullSecrets)].map((name) => ({
    name,
    secret: objects.secret(metadata.namespace, name),
  }));
  const secrets = found.flatMap(({ secret }) => secret ?? []);
  const unusable = found.filter(
    ({ secret }) => secret === undefined || authsOf(secret) === undefined,
  );
  return { secrets, unusable: unusable.map(({ name }) => name) };
}

/** The event about secrets that are missing or unusable: the image is pulled without them. */
export function unusableSecrets(names: readonly string[]): EventContent {
  const message = `Unable to retrieve some image pull secrets (${names.join(", ")}); attempting to pull the image may not succeed.`;
  return warning("FailedToRetrieveImagePullSecret", message);
}

/** In the order in which they are tried: the longest registry name first, then the order of the secrets. */
export function credentialsFor(
  { domain, path }: Pick<ImageReference, "domain" | "path">,
  secrets: readonly Secret[],
): readonly PullCredentials[] {
  const ring = keyring(secrets);
  const image = `${domain}/${path}`;
  const fitting = [...ring.keys()]
    .toSorted()
    .toReversed()
    .filter((key) => matches(key, image));
  const found = fitting.flatMap((key) => ring.get(key) ?? []);
  if (found.length > 0 || domain !== "docker.io") return found;
  return ring.get(DOCKER_HUB) ?? [];
}

const DOCKER_HUB = "index.docker.io";

type Keyring = ReadonlyMap<string, readonly PullCredentials[]>;

function keyring(secrets: readonly Secret[]): Keyring {
  const ring = new Map<string, readonly PullCredentials[]>();
  for (const secret of secrets)
    for (const [location, entry] of Object.entries(authsOf(secret) ?? {})) {
      const credentials = credentialsOf(entry);
      if (credentials === undefined) continue;
      const key = keyOf(location);
      ring.set(key, [...(ring.get(key) ?? []), credentials]);
    }
  return ring;
}

/** Location → entry; undefined = the secret is of another type, or unreadable. */
function authsOf({ type, data }: Secret): JsonObject | undefined {
  switch (type) {
    case "kubernetes.io/dockerconfigjson":
      return objectOf(memberOf(parsed(data[".dockerconfigjson"]), "auths"));
    case "kubernetes.io/dockercfg":
      return objectOf(parsed(data[".dockercfg"]));
  }
  return undefined;
}

function credentialsOf(entry: unknown): PullCredentials | undefined {
  const { username, password, auth } = objectOf(entry) ?? {};
  if (typeof auth === "string" && auth !== "") return decodedAuth(auth);
  if (typeof username !== "string" || typeof password !== "string") return undefined;
  return username === "" && password === "" ? undefined : { username, password };
}

/** `auth` is base64 of `user:password`, with or without padding; it takes precedence over the two fields. */
function decodedAuth(auth: string): PullCredentials | undefined {
  const text = textOfBase64(auth.trim());
  const colon = text?.indexOf(":") ?? -1;
  if (text === undefined || colon < 0) return undefined;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function textOfBase64(text: string): string | undefined {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text));
  } catch {
    // Not base64: no credentials.
    return undefined;
  }
}

/** `https://index.docker.io/v1/` → `index.docker.io`, as docker's own configuration writes it. */
function keyOf(location: string): string {
  const [, host = "", path = ""] = /^(?:https?:\/\/)?([^/]*)(.*)$/s.exec(location) ?? [];
  const effective = path.replace(/^\/v[12]\//, "/");
  return effective === "/" ? host : `${host}${effective}`;
}

/** Compares the host part by part (`*` and `?` match anything but a dot), the port, and the beginning of the path. */
function matches(key: string, image: string): boolean {
  const [wanted, given] = [located(key), located(image)];
  if (wanted.port !== given.port || wanted.parts.length !== given.parts.length) return false;
  if (!given.path.startsWith(wanted.path)) return false;
  return wanted.parts.every((part, index) => isLike(given.parts[index] ?? "", part));
}

interface Located {
  readonly parts: readonly string[];
  readonly port: string;
  readonly path: string;
}

function located(name: string): Located {
  const slash = name.indexOf("/");
  const host = slash < 0 ? name : name.slice(0, slash);
  const [, names = host, port = ""] = /^(.*):([0-9]+)$/.exec(host) ?? [];
  return { parts: names.split("."), port, path: slash < 0 ? "" : name.slice(slash) };
}

/** `*` is any text, `?` any character. Only the last star is tried again, so no pattern takes long. */
function isLike(text: string, pattern: string): boolean {
  let [at, star, resume] = [0, -1, 0];
  let p = 0;
  while (at < text.length) {
    if (pattern[p] === "*") {
      [star, resume] = [p, at];
      p += 1;
    } else if (pattern[p] === "?" || pattern[p] === text[at]) {
      [p, at] = [p + 1, at + 1];
    } else if (star >= 0) {
      resume += 1;
      [p, at] = [star + 1, resume];
    } else return false;
  }
  return /^\**$/.test(pattern.slice(p));
}

function parsed(data: Uint8Array | undefined): unknown {
  return parseJson(new TextDecoder().decode(data));
}

function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}
