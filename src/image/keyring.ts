// Which credentials fit an image: those whose location in the keyring matches it. kubelet: credentialprovider
// BasicDockerKeyring

import type { ImageReference } from "./image-reference.ts";
import { isJsonObject } from "../lib/json.ts";

/** Must never appear in a log, an event or an error. */
export type PullCredentials =
  | { readonly username: string; readonly password: string }
  /** Exchanged for a token of the registry. */
  | { readonly identityToken: string }
  | { readonly registryToken: string };

/** A location as Docker writes it, such as `https://index.docker.io/v1/` or `*.r.test/team`, and its entry. */
export type RegistryAuth = readonly [location: string, entry: unknown];

/** In the order in which they are tried: the longest registry name first, then the order of `auths`. */
export function credentialsFor(
  { domain, path }: Pick<ImageReference, "domain" | "path">,
  auths: readonly RegistryAuth[],
): readonly PullCredentials[] {
  const ring = keyring(auths);
  const image = `${domain}/${path}`;
  const fitting = [...ring.keys()]
    .toSorted()
    .toReversed()
    .filter((key) => matches(key, image));
  const found = fitting.flatMap((key) => ring.get(key) ?? []);
  if (found.length > 0 || domain !== DOCKER_IO) return found;
  return ring.get(DOCKER_HUB) ?? [];
}

/** Whether a pattern such as `*.dkr.ecr.*.amazonaws.com` stands for the image. kubelet: URLsMatchStr */
export function isMatch(
  pattern: string,
  { domain, path }: Pick<ImageReference, "domain" | "path">,
): boolean {
  return matches(keyOf(pattern), `${domain}/${path}`);
}

/** The names under which Docker's own tools may know this registry. */
export function registryNames(domain: string): readonly string[] {
  return domain === DOCKER_IO ? [DOCKER_IO, DOCKER_HUB, DOCKER_HUB_URL] : [domain];
}

const DOCKER_IO = "docker.io";
const DOCKER_HUB = "index.docker.io";
export const DOCKER_HUB_URL = "https://index.docker.io/v1/";

type Keyring = ReadonlyMap<string, readonly PullCredentials[]>;

function keyring(auths: readonly RegistryAuth[]): Keyring {
  const ring = new Map<string, readonly PullCredentials[]>();
  for (const [location, entry] of auths) {
    const credentials = credentialsOf(entry);
    if (credentials === undefined) continue;
    const key = keyOf(location);
    ring.set(key, [...(ring.get(key) ?? []), credentials]);
  }
  return ring;
}

/** A token stands before user and password, which Docker then leaves as a remark. */
export function credentialsOf(entry: unknown): PullCredentials | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { username, password, auth, identitytoken, registrytoken } = entry;
  if (typeof identitytoken === "string" && identitytoken !== "")
    return { identityToken: identitytoken };
  if (typeof registrytoken === "string" && registrytoken !== "")
    return { registryToken: registrytoken };
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
