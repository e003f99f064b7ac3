// Reads the credentials in a pod's imagePullSecrets. kubelet: credentialprovider secrets.MakeDockerKeyring

import { warning, type EventContent } from "../api/v1/events.ts";
import type { Secret } from "../api/v1/object/secret.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import type { Pod } from "../api/v1/pod.ts";
import { isJsonObject, memberOf, parseJson, type JsonObject } from "../lib/json.ts";
import type { RegistryAuth } from "./keyring.ts";

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

/** Registries with their entries, in the order of the secrets. */
export function authsOfSecrets(secrets: readonly Secret[]): readonly RegistryAuth[] {
  return secrets.flatMap((secret) => Object.entries(authsOf(secret) ?? {}));
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

function parsed(data: Uint8Array | undefined): unknown {
  return parseJson(new TextDecoder().decode(data));
}

function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}
