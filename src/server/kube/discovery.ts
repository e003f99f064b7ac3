// Which groups, versions and resources there are. k8s: APIVersions, APIGroupList, APIResourceList

import { apiVersionOf, type KubeResource } from "./kube-resource.ts";

export interface SubResource {
  /** `pods/log`. */
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** `/api`. */
export function apiVersions(address: string): object {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
  };
}

/** `/apis`. */
export function apiGroupList(resources: readonly KubeResource[]): object {
  return { kind: "APIGroupList", apiVersion: "v1", groups: groupsOf(resources).map(groupOf) };
}

/** `/apis/<group>`; undefined = unknown. */
export function apiGroup(resources: readonly KubeResource[], name: string): object | undefined {
  const group = groupsOf(resources).find(([one]) => one === name);
  if (group === undefined) return undefined;
  return { kind: "APIGroup", apiVersion: "v1", ...groupOf(group) };
}

type Group = readonly [name: string, versions: readonly string[]];

function groupsOf(resources: readonly KubeResource[]): readonly Group[] {
  const groups = new Map<string, Set<string>>();
  for (const { group, version } of resources)
    if (group !== "") groups.set(group, (groups.get(group) ?? new Set()).add(version));
  return [...groups].map(([name, versions]) => [name, [...versions]]);
}

function groupOf([name, versions]: Group): object {
  const all = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: all, preferredVersion: all[0] };
}

/** `/api/v1`, `/apis/<group>/<version>`; undefined = unknown. */
export function apiResourceList(
  resources: readonly KubeResource[],
  groupVersion: string,
  below: readonly SubResource[],
): object | undefined {
  const own = resources.filter((one) => apiVersionOf(one) === groupVersion);
  const [first] = own;
  if (first === undefined) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: [
      ...own.map(({ name, singularName, kind, isNamespaced, verbs, shortNames, categories }) => ({
        name,
        singularName,
        namespaced: isNamespaced,
        kind,
        verbs,
        ...(shortNames.length === 0 ? {} : { shortNames }),
        ...(categories === undefined ? {} : { categories }),
      })),
      ...(first.group === ""
        ? below.map((one) => ({ ...one, singularName: "", namespaced: true }))
        : []),
    ],
  };
}
