// Performs: reads which objects a list of the API has.

import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import { isListOf } from "../../node/api-views.ts";
import type { LocalClient } from "../local-client.ts";

export interface ListedName {
  /** "" = it has none. */
  readonly namespace: string;
  readonly name: string;
  /** "" = it has none. */
  readonly uid: string;
}

/** In the order of the server. */
export async function listNames(client: LocalClient, path: string): Promise<readonly ListedName[]> {
  const { items } = await client.object(path, isListOf(isJsonObject));
  return items.map((item) => ({
    namespace: textOf(item, "namespace"),
    name: textOf(item, "name"),
    uid: textOf(item, "uid"),
  }));
}

function textOf(object: JsonObject, name: string): string {
  const value = memberOf(object["metadata"], name);
  return typeof value === "string" ? value : "";
}
