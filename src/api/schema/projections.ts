// Volumes whose files come from objects and from the pod's own fields.

import { refused } from "../decode/field-rules.ts";
import { field, type Field, type Level } from "./field.ts";
import { needsAPIServer } from "./refusals.ts";
import { FIELD_REF, KEY_TO_PATH, RESOURCE_FIELD_REF } from "../v1/references.ts";

const DEFAULT_MODE = field(
  "integer",
  "Permissions of files that have no mode; 0644 if not written.",
);

const ITEMS = field("[]KeyToPath", "Keys that become files; every key if not written.", {
  level: KEY_TO_PATH.level,
});

/** The fields by which a volume takes the keys of an object in. */
function keysOf(kind: string): { readonly name: Field; readonly items: Field; optional: Field } {
  return {
    name: field("string", `Name of a ${kind} in the pod's namespace.`),
    items: ITEMS,
    optional: field("boolean", `Whether to start while there is no such ${kind} or key.`),
  };
}

export const CONFIG_MAP_PROJECTION: Level = keysOf("ConfigMap");
export const SECRET_PROJECTION: Level = keysOf("Secret");

export const CONFIG_MAP_VOLUME: Level = { ...keysOf("ConfigMap"), defaultMode: DEFAULT_MODE };

export const SECRET_VOLUME: Level = {
  secretName: keysOf("Secret").name,
  items: ITEMS,
  optional: keysOf("Secret").optional,
  defaultMode: DEFAULT_MODE,
};

export const DOWNWARD_API_FILE: Level = {
  path: field("string", "The file: a relative path inside the volume, without ..", {
    required: true,
  }),
  fieldRef: field("ObjectFieldSelector", "A field of the pod, such as metadata.labels.", {
    level: FIELD_REF.volume.level,
  }),
  resourceFieldRef: field("ResourceFieldSelector", "A request or limit of a container.", {
    level: RESOURCE_FIELD_REF.volume.level,
  }),
  mode: field("integer", "Permissions of this file, 0 to 0777."),
};

const DOWNWARD_API_ITEMS = field("[]DownwardAPIVolumeFile", "The files.", {
  level: DOWNWARD_API_FILE,
});

export const DOWNWARD_API_VOLUME: Level = {
  items: DOWNWARD_API_ITEMS,
  defaultMode: DEFAULT_MODE,
};

export const DOWNWARD_API_PROJECTION: Level = { items: DOWNWARD_API_ITEMS };

const INSTEAD = "configMap, secret or downwardAPI";

export const PROJECTED_SOURCE: Level = {
  configMap: field("ConfigMapProjection", "Keys of a ConfigMap.", { level: CONFIG_MAP_PROJECTION }),
  secret: field("SecretProjection", "Keys of a Secret.", { level: SECRET_PROJECTION }),
  downwardAPI: field("DownwardAPIProjection", "Fields of the pod.", {
    level: DOWNWARD_API_PROJECTION,
  }),
  serviceAccountToken: field("ServiceAccountTokenProjection", "A token for an API server.", {
    rule: refused(needsAPIServer("serviceAccountToken", INSTEAD)),
  }),
  clusterTrustBundle: field("ClusterTrustBundleProjection", "Certificates of a cluster.", {
    rule: refused(needsAPIServer("clusterTrustBundle", INSTEAD)),
  }),
  podCertificate: field("PodCertificateProjection", "A certificate that a cluster issues.", {
    rule: refused(needsAPIServer("podCertificate", INSTEAD)),
  }),
};

export const PROJECTED_VOLUME: Level = {
  sources: field("[]VolumeProjection", "What stands side by side in the volume.", {
    level: PROJECTED_SOURCE,
  }),
  defaultMode: DEFAULT_MODE,
};
