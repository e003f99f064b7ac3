// Volumes whose files come from ConfigMaps, Secrets and the pod's own fields. k8s: validateProjectionSources

import {
  KEY_TO_PATH,
  filePath,
  FIELD_REF,
  RESOURCE_FIELD_REF,
  fileMode,
  objectName,
} from "./key-and-field-refs.ts";
import {
  objectType,
  type Decoded,
  converted,
  type ObjectOf,
  unread,
  list,
  fieldOf,
  boolean,
} from "../schema/codec.ts";
import { type Tagged, tagged, untagged, isEmptyUnion } from "../schema/union.ts";
import { writtenOf, type Node } from "../decode/field-reader.ts";
import type { Type, Field } from "../schema/type.ts";
import { refused, needsAPIServer } from "../decode/field-rules.ts";
import { repeated } from "../../lib/compare.ts";

/** 0644 */
const DEFAULT_FILE_MODE = 420;

const PROJECTION = {
  items: list(KEY_TO_PATH, { about: "Keys that become files. Default: every key." }),
  optional: boolean({
    about: "Whether the pod starts while the object or a key is missing.",
    default: false,
  }),
};
export const DEFAULT_MODE = {
  defaultMode: fileMode("Permissions of files that have no mode of their own.", DEFAULT_FILE_MODE),
};

const CONFIG_MAP_PROJECTION = objectType("ConfigMapProjection", {
  name: objectName("ConfigMap"),
  ...PROJECTION,
});
const SECRET_PROJECTION = objectType("SecretProjection", {
  name: objectName("Secret"),
  ...PROJECTION,
});
/** Which keys of a ConfigMap or Secret become files; without items every key, under its own name. */
export type ObjectProjection = Decoded<typeof SECRET_PROJECTION>;

export const CONFIG_MAP_VOLUME = objectType("ConfigMapVolumeSource", {
  name: objectName("ConfigMap"),
  ...PROJECTION,
  ...DEFAULT_MODE,
});
export const SECRET_VOLUME = converted(
  objectType("SecretVolumeSource", {
    secretName: objectName("Secret"),
    ...PROJECTION,
    ...DEFAULT_MODE,
  }),
  {
    to: ({ secretName: name, ...rest }) => ({ name, ...rest }),
    from: ({ name, ...rest }: Decoded<typeof CONFIG_MAP_VOLUME>) => ({ secretName: name, ...rest }),
  },
);

/** k8s: validateDownwardAPIVolumeFile */
const DOWNWARD_API_FILE = objectType(
  "DownwardAPIVolumeFile",
  {
    path: filePath,
    mode: fileMode("Permissions of this file, 0 to 0777. Default: the volume's defaultMode."),
    fieldRef: fieldOf(FIELD_REF.volume)({ about: "A field of the pod, such as metadata.labels." }),
    resourceFieldRef: fieldOf(RESOURCE_FIELD_REF.volume)({
      about: "A limit or request of a container.",
    }),
  },
  {
    check(_file, node) {
      const { findings, path } = node;
      const written = writtenOf(node, ["fieldRef", "resourceFieldRef"]);
      if (written.length === 0)
        findings.required(path, "one of fieldRef and resourceFieldRef is required");
      if (written.length === 2) {
        const message = "fieldRef and resourceFieldRef can not be specified simultaneously";
        findings.invalid(path, "resource", message);
      }
    },
  },
);
export type DownwardAPIFile = Decoded<typeof DOWNWARD_API_FILE>;
export const FILES = { items: list(DOWNWARD_API_FILE, { about: "The files." }) };

const PROJECTED_SOURCES = {
  configMap: fieldOf(CONFIG_MAP_PROJECTION)({ about: "Keys of a ConfigMap." }),
  secret: fieldOf(SECRET_PROJECTION)({ about: "Keys of a Secret." }),
  downwardAPI: fieldOf(objectType("DownwardAPIProjection", FILES))({ about: "Fields of the pod." }),
};
export type ProjectedSource = Tagged<ObjectOf<typeof PROJECTED_SOURCES>>;

function ofCluster(key: string, about: string): Field<never> {
  const type = `${key.charAt(0).toUpperCase()}${key.slice(1)}Projection`;
  return unread(type, about, refused(needsAPIServer(key, "configMap, secret or downwardAPI")));
}

const PROJECTED_FIELDS = {
  ...PROJECTED_SOURCES,
  serviceAccountToken: ofCluster("serviceAccountToken", "A token for an API server."),
  clusterTrustBundle: ofCluster("clusterTrustBundle", "Certificates of a cluster."),
  podCertificate: ofCluster("podCertificate", "A certificate that a cluster issues."),
};

const PROJECTED_SOURCE: Type<ProjectedSource> = converted(
  objectType("VolumeProjection", PROJECTED_FIELDS, {
    union: Object.keys(PROJECTED_FIELDS),
    check(_source, node) {
      if (isEmptyUnion(node, PROJECTED_FIELDS))
        node.findings.required(node.path, "must specify a volume type");
      refuseSeveral(node, Object.keys(PROJECTED_FIELDS));
    },
  }),
  { to: tagged, from: untagged<ObjectOf<typeof PROJECTED_SOURCES>> },
);

export function refuseSeveral(node: Node, sources: readonly string[]): void {
  if (writtenOf(node, sources).length > 1)
    node.findings.forbidden(node.path, "may not specify more than 1 volume type");
}

export const PROJECTED_VOLUME = objectType(
  "ProjectedVolumeSource",
  {
    sources: list(PROJECTED_SOURCE, { about: "Sources whose files share the volume." }),
    ...DEFAULT_MODE,
  },
  {
    check({ sources }, { findings, path }) {
      const files = sources.flatMap(({ items }) => items.map((file) => file.path));
      for (const file of repeated(files, (one) => one))
        findings.invalid(path, file, "conflicting duplicate paths");
    },
  },
);
