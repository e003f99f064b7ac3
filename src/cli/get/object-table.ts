// ConfigMaps, Secrets and claims as rows, in kubectl's columns; where an object comes from instead of its age.

import { ANNOTATION } from "../../api/pod/labels.ts";
import type { LocalObjectView } from "../api-views.ts";
import type { ObjectResource } from "./object-query.ts";
import type { Row } from "../table.ts";

export interface ObjectColumns {
  readonly resource: ObjectResource;
  /** Where exactly it is declared, as well. */
  readonly wide: boolean;
  /** NAMESPACE first. */
  readonly namespaces: boolean;
}

const OWN: Readonly<Record<ObjectResource, Row>> = {
  configmaps: ["DATA"],
  secrets: ["TYPE", "DATA"],
  persistentvolumeclaims: ["STATUS", "CAPACITY", "ACCESS MODES"],
};

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

export function objectHeader({ resource, wide, namespaces }: ObjectColumns): Row {
  const first = namespaces ? ["NAMESPACE", "NAME"] : ["NAME"];
  return [...first, ...OWN[resource], "SOURCE", ...(wide ? ["DECLARED IN"] : [])];
}

export function objectRow(object: LocalObjectView, columns: ObjectColumns): Row {
  const { name, namespace = "default", annotations = {} } = object.metadata;
  return [
    ...(columns.namespaces ? [namespace] : []),
    name,
    ...ownCells(object, columns.resource),
    annotations[ANNOTATION.configSource] ?? "",
    ...(columns.wide ? [annotations[ANNOTATION.sourceRef] ?? ""] : []),
  ];
}

function ownCells(object: LocalObjectView, resource: ObjectResource): Row {
  switch (resource) {
    case "configmaps":
      return [`${keysOf(object.data) + keysOf(object.binaryData)}`];
    case "secrets":
      return [object.type ?? "", `${keysOf(object.data)}`];
    case "persistentvolumeclaims": {
      const { phase = "", capacity = {}, accessModes = [] } = object.status ?? {};
      const modes = accessModes.map((mode) => SHORT_MODES[mode] ?? mode).join(",");
      return [phase, capacity["storage"] ?? "", modes];
    }
  }
}

function keysOf(content: object | undefined): number {
  return Object.keys(content ?? {}).length;
}
