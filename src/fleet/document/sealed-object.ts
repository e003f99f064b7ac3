// Secrets and SealedSecrets among the objects that an operator has written.

import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";

export function isSecret(value: unknown): value is JsonObject {
  return isJsonObject(value) && value["kind"] === "Secret";
}

export function isSealed(value: unknown): value is JsonObject {
  return isJsonObject(value) && value["kind"] === "SealedSecret";
}

/** As written. */
export function namesOf(object: unknown): { readonly name: string; readonly namespace: string } {
  const metadata = memberOf(object, "metadata");
  const [name, namespace] = [memberOf(metadata, "name"), memberOf(metadata, "namespace")];
  return {
    name: typeof name === "string" ? name : "",
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : "default",
  };
}
