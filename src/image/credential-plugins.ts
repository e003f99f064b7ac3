// The kubelet's credential provider plugins: their configuration, and what they are asked and answer.
// kubelet: plugin.readCredentialProviderConfig, pluginProvider.provide

import {
  checked,
  fieldOf,
  list,
  objectType,
  oneOf,
  string,
  text,
  type Decoded,
} from "../api/schema/codec.ts";
import { duration, exactText, filledText } from "../api/schema/values.ts";
import { parseDuration } from "../api/resource/duration.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { ImageReference } from "./image-reference.ts";
import { isMatch, type RegistryAuth } from "./keyring.ts";

const API_VERSION = "credentialprovider.kubelet.k8s.io/v1";
const LONGEST_MS = 365 * 86_400_000;

/** It becomes the last part of a path. */
const programName = filledText((name) =>
  /^(?!\.{1,2}$)[^/\s]+$/.test(name) ? undefined : "must be the name of a program, without a slash",
);
const pattern = checked(text, (written) =>
  /^[^/:\s]+(:[0-9]+)?(\/\S*)?$/.test(written)
    ? undefined
    : 'must be a registry such as "*.example.org:5000/team", without a scheme',
);
const variable = objectType("ExecEnvVar", {
  name: string({ about: "Name of the variable.", required: true }),
  value: fieldOf(exactText)({ about: "Its value.", default: "", keep: true }),
});
const PROVIDER = objectType("CredentialProvider", {
  name: fieldOf(programName, "")({ about: "Name of the plugin's program.", required: true }),
  matchImages: list(pattern, {
    about: "Registries that the plugin knows.",
    required: "at least one pattern of registries",
  }),
  defaultCacheDuration: fieldOf(
    duration(0, LONGEST_MS),
    0,
  )({
    about: "How long an answer counts that names no time.",
    required: true,
  }),
  apiVersion: oneOf([API_VERSION], { about: "Protocol of the plugin.", required: true }),
  args: list(exactText, { about: "Arguments." }),
  env: list(variable, { about: "Variables of its environment, beside PATH and HOME." }),
});
export const PROVIDER_CONFIG = objectType("CredentialProviderConfig", {
  apiVersion: oneOf(["kubelet.config.k8s.io/v1"], { about: "Version.", required: true }),
  kind: oneOf(["CredentialProviderConfig"], { about: "Kind.", required: true }),
  providers: list(PROVIDER, { about: "The plugins.", required: "at least one plugin" }),
});
export type CredentialPlugin = Decoded<typeof PROVIDER>;

export function fits(
  { matchImages }: Pick<CredentialPlugin, "matchImages">,
  reference: ImageReference,
): boolean {
  return matchImages.some((wanted) => isMatch(wanted, reference));
}

/** The repository without tag, as the kubelet asks. */
export function pluginRequest({ domain, path }: ImageReference): string {
  const image = `${domain}/${path}`;
  return JSON.stringify({ apiVersion: API_VERSION, kind: "CredentialProviderRequest", image });
}

export interface PluginAnswer {
  readonly auths: readonly RegistryAuth[];
  /** What the answer counts for. */
  readonly cacheKey: string;
  /** 0 = it counts only once. */
  readonly cacheMs: number;
}

export function readPluginAnswer(
  stdout: string,
  { defaultCacheDuration }: Pick<CredentialPlugin, "defaultCacheDuration">,
  reference: ImageReference,
): PluginAnswer | { readonly wrong: string } {
  const answer = parseJson(stdout);
  if (!isJsonObject(answer)) return { wrong: "its answer is not a JSON object" };
  const { kind, apiVersion, cacheKeyType, cacheDuration, auth } = answer;
  if (kind !== "CredentialProviderResponse" || apiVersion !== API_VERSION)
    return { wrong: `its answer is no CredentialProviderResponse of ${API_VERSION}` };
  const cacheKey = cacheKeyOf(cacheKeyType, reference);
  if (cacheKey === undefined)
    return { wrong: "its answer has a cacheKeyType other than Image, Registry or Global" };
  const cacheMs = cacheMsOf(cacheDuration, defaultCacheDuration);
  if (cacheMs === undefined) return { wrong: "its answer has a cacheDuration that is none" };
  const auths = isJsonObject(auth) ? Object.entries(auth) : [];
  return { auths, cacheKey, cacheMs };
}

function cacheMsOf(written: unknown, byDefault: number): number | undefined {
  if (written === undefined || written === null) return byDefault;
  const ms = typeof written === "string" ? parseDuration(written) : undefined;
  return ms === undefined || ms < 0 ? undefined : Math.min(ms, LONGEST_MS);
}

/** The keys under which an answer for this image may be kept. */
export function cacheKeysOf(reference: ImageReference): readonly string[] {
  return ["Image", "Registry", "Global"].flatMap((type) => cacheKeyOf(type, reference) ?? []);
}

function cacheKeyOf(type: unknown, { domain, path }: ImageReference): string | undefined {
  switch (type) {
    case "Image":
      return `image ${domain}/${path}`;
    case "Registry":
      return `registry ${domain}`;
    case "Global":
      return "global";
  }
  return undefined;
}
