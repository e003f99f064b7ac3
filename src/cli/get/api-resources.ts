// Performs: learns from the agent which kinds of objects it has.

import { isApiGroups, isApiResources, type ApiResourceList } from "../../node/api-views.ts";
import type { LocalClient } from "../local-client.ts";

export interface ApiResource {
  /** Where its objects are: `/api/v1`, `/apis/agent/v1`. */
  readonly root: string;
  readonly name: string;
  readonly singularName: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

/** In the order of the server. */
export async function apiResources(client: LocalClient): Promise<readonly ApiResource[]> {
  const { groups } = await client.read("/apis", isApiGroups);
  const roots = [
    "/api/v1",
    ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ];
  const lists = await Promise.all(roots.map((root) => client.read(root, isApiResources)));
  return lists.flatMap((list, index) => resourcesOf(list, roots[index] ?? ""));
}

function resourcesOf({ resources }: ApiResourceList, root: string): readonly ApiResource[] {
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map(({ namespaced, shortNames = [], categories = [], ...names }) => {
      return { ...names, root, isNamespaced: namespaced, shortNames, categories };
    });
}
