// Reads `registryAuthFile`, a config.json as `docker login` writes it, and what credential helpers answer.

import { isJsonObject, memberOf, parseJson, type JsonObject } from "../lib/json.ts";
import { shortText } from "../lib/short-text.ts";
import {
  credentialsOf,
  DOCKER_HUB_URL,
  registryNames,
  type PullCredentials,
  type RegistryAuth,
} from "./keyring.ts";

export interface DockerConfig {
  readonly auths: readonly RegistryAuth[];
  /** Registry → name of its helper, which comes before `credsStore`. */
  readonly credHelpers: Readonly<Record<string, string>>;
  /** The helper of all other registries; undefined = none. */
  readonly credsStore: string | undefined;
  /** What the file contains and nothing obeys, without a secret. */
  readonly warnings: readonly string[];
}

export const NO_DOCKER_CONFIG: DockerConfig = {
  auths: [],
  credHelpers: {},
  credsStore: undefined,
  warnings: [],
};

/** The program `docker-credential-<name>` and the registry that it is asked about. */
export interface HelperCall {
  readonly helper: string;
  readonly serverURL: string;
}

/** A helper's name becomes part of a path. */
const HELPER = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** The user name by which a helper marks an identity token. */
const TOKEN_USER = "<token>";
const WARNINGS = 10;
/** Of a field or a registry, in a warning. */
const SHOWN_NAME = 100;
const NOT_FOUND = /credentials not found/i;

/** The configuration, or what is wrong with the file, without a word of what it contains. */
export function readDockerConfig(text: Uint8Array): DockerConfig | { readonly wrong: string } {
  const config = parseJson(text);
  if (!isJsonObject(config)) return { wrong: "is not a JSON object" };
  const { auths = {}, credHelpers = {}, credsStore } = config;
  if (!isJsonObject(auths)) return { wrong: "has auths that are not an object" };
  if (!isJsonObject(credHelpers)) return { wrong: "has credHelpers that are not an object" };
  const helpers: Record<string, string> = {};
  for (const [registry, helper] of Object.entries(credHelpers)) {
    if (!isHelper(helper)) return { wrong: "has a name in credHelpers that no helper can have" };
    helpers[registry] = helper;
  }
  const store = credsStore === "" ? undefined : credsStore;
  if (store !== undefined && !isHelper(store))
    return { wrong: "has a name as credsStore that no helper can have" };
  const entries = Object.entries(auths);
  const warnings = [...insecureFields(config), ...unusableEntries(entries)].slice(0, WARNINGS);
  return { auths: entries, credHelpers: helpers, credsStore: store, warnings };
}

/** Docker's daemon and other tools have such fields; a person who writes one here expects it to work. */
function insecureFields(config: JsonObject): readonly string[] {
  return Object.keys(config)
    .filter((field) => /insecure|skip.?verify/i.test(field))
    .map(
      (field) =>
        `${shortText(field, SHOWN_NAME)} does nothing here: plain HTTP and unverified certificates are lines of containerd's hosts.toml`,
    );
}

/** An empty entry is what `docker login` leaves beside a helper. */
function unusableEntries(auths: readonly RegistryAuth[]): readonly string[] {
  return auths
    .filter(([, entry]) => credentialsOf(entry) === undefined && !isEmptyEntry(entry))
    .map(
      ([location]) =>
        `the entry of ${shortText(location, SHOWN_NAME)} has no credentials: auth is base64 of user:password`,
    );
}

function isEmptyEntry(entry: unknown): boolean {
  return isJsonObject(entry) && Object.values(entry).every((value) => value === "");
}

function isHelper(name: unknown): name is string {
  return typeof name === "string" && HELPER.test(name);
}

/** The helper for a registry; undefined = none. */
export function helperFor(
  { credHelpers, credsStore }: DockerConfig,
  domain: string,
): HelperCall | undefined {
  for (const name of registryNames(domain)) {
    const helper = credHelpers[name];
    if (helper !== undefined) return { helper, serverURL: name };
  }
  if (credsStore === undefined) return undefined;
  const [, isHub] = registryNames(domain);
  return { helper: credsStore, serverURL: isHub === undefined ? domain : DOCKER_HUB_URL };
}

export interface ProgramEnd {
  readonly exitCode: number;
  readonly stdout: string;
}

/** What a helper answers; undefined = it knows no credentials. */
export function readHelperAnswer({
  exitCode,
  stdout,
}: ProgramEnd): PullCredentials | undefined | { readonly wrong: string } {
  if (exitCode !== 0)
    return NOT_FOUND.test(stdout) ? undefined : { wrong: `it ended with exit code ${exitCode}` };
  const answer = parseJson(stdout);
  const [username, secret] = [memberOf(answer, "Username"), memberOf(answer, "Secret")];
  if (typeof username !== "string" || typeof secret !== "string")
    return { wrong: "its answer has no Username and Secret" };
  if (secret === "") return undefined;
  return username === TOKEN_USER ? { identityToken: secret } : { username, password: secret };
}
