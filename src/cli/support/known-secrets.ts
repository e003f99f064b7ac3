// Performs: collects the values that must not stand in a bundle: of Secrets, of the broker, of registries, of a manifest server.

import { readManifest } from "../../api/decode/decode-manifest.ts";
import { isJsonObject } from "../../lib/json.ts";
import { aborted } from "../../lib/clock.ts";
import { CliError } from "../exit-codes.ts";
import { jsonOf, type BundleContext } from "./bundle-context.ts";
import { manifestPaths, refuseHung, textOfFile } from "./local-files.ts";
import { isSecretKind, secretFields, secretsIn } from "./redact-bundle.ts";

/** Shorter ones occur in unrelated texts; where they are values of Secrets they go with these. */
const SHORTEST = 6;

export interface KnownSecrets {
  readonly values: ReadonlySet<string>;
  /** Where there may be more. */
  readonly problems: readonly string[];
}

/** Each source by itself: one that cannot be read until `signal` is named, and takes no other with it. */
export async function knownSecrets(
  { client, config, hung }: BundleContext,
  hasAgent: boolean,
  signal: AbortSignal,
): Promise<KnownSecrets> {
  const { mqtt, registryAuthFile, staticPodURLHeader, staticPodPath } = config;
  const values = new Set<string>();
  const problems: string[] = [];
  const add = (texts: readonly string[]): void => {
    for (const text of texts.flatMap((one) => [one, one.trim(), ...secretsIn(one)]))
      if (text.length >= SHORTEST) values.add(text);
  };
  const sources: Readonly<Record<string, () => Promise<readonly string[]>>> = {
    "the Secrets of the agent": async () =>
      hasAgent ? valuesIn(await jsonOf(client, "/api/v1/secrets", signal)) : [],
    [staticPodPath]: async () => {
      refuseHung(hung, staticPodPath);
      return ofManifests(staticPodPath);
    },
    [registryAuthFile]: () => orNone(registryAuthFile),
    [mqtt?.passwordFile ?? ""]: () => orNone(mqtt?.passwordFile),
    staticPodURLHeader: () =>
      Promise.resolve(Object.values(staticPodURLHeader).flat().flatMap(ofHeader)),
  };
  const late = aborted(signal).then((): never => {
    throw new CliError("it took too long");
  });
  const all = Object.entries(sources).map(async ([name, read]) => {
    try {
      add(await Promise.race([read(), late]));
    } catch {
      // The reason may quote what was read.
      problems.push(
        `the secret values in ${name} could not be read, so that only their form betrays them`,
      );
    }
  });
  await Promise.all(all);
  return { values, problems };
}

async function ofManifests(staticPodPath: string): Promise<readonly string[]> {
  const paths = await orEmpty(() => manifestPaths(staticPodPath));
  const texts = await Promise.all(
    paths.map(async ({ path }) => orEmpty(async () => [await textOfFile(path)])),
  );
  return texts.flat().flatMap((text) => {
    const { documents } = readManifest(new TextEncoder().encode(text));
    return documents.flatMap(({ value }) => valuesIn(value));
  });
}

/** What is not there contains nothing. */
async function orEmpty<T>(read: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await read();
  } catch {
    // Neither can it be copied into the bundle then.
    return [];
  }
}

function orNone(path: string | undefined): Promise<readonly string[]> {
  return path === undefined ? Promise.resolve([]) : orEmpty(async () => [await textOfFile(path)]);
}

/** `Bearer TOKEN` is both. */
function ofHeader(value: string): readonly string[] {
  return [value, ...value.split(/\s+/).slice(1)];
}

/** Of every Secret in a value, decoded and as written. */
function valuesIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(valuesIn);
  if (!isJsonObject(value)) return [];
  if (!isSecretKind(value["kind"]) || "items" in value)
    return Object.values(value).flatMap(valuesIn);
  return secretFields(value).flatMap(leavesOf).flatMap(decoded);
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return isJsonObject(value) ? Object.values(value).flatMap(leavesOf) : [];
}

/** Whether it is base64 is not known of a field that is misspelt. */
function decoded(written: string): readonly string[] {
  return [written, Buffer.from(written, "base64").toString()];
}
