// Decides what the files of a provisioning directory are, by their names, and where each belongs on the node.

import { MANIFEST_NAME } from "../source/file/manifest-entry.ts";

export type PartKind =
  "Config" | "RootKey" | "Manifest" | "Certificate" | "Key" | "Password" | "RegistryAuth";

/** What of the configuration says where files belong. */
export interface Places {
  /** The file of the configuration itself. */
  readonly configFile: string;
  readonly trustPath: string;
  readonly staticPodPath: string;
  readonly registryAuthFile: string;
}

export const CONFIG_NAME = "agent.yaml";
export const IMAGES = "images";

/** By the name at the top of the directory. */
const SINGLE: Readonly<Record<string, PartKind>> = {
  [CONFIG_NAME]: "Config",
  "mqtt-password": "Password",
  "registry-auth.json": "RegistryAuth",
};

/** Names that people and desktops leave beside them. */
const BESIDE = /^(?:\.|readme|system volume information$|thumbs\.db$|desktop\.ini$)/i;

/** Below a directory of the provisioning directory. */
const BELOW: Readonly<Record<string, (name: string) => PartKind | undefined>> = {
  "trust.d": (name) => (name.endsWith(".pub") ? "RootKey" : undefined),
  manifests: (name) => (MANIFEST_NAME.test(name) ? "Manifest" : undefined),
  tls: (name) => {
    if (name.endsWith(".key")) return "Key";
    return /\.(?:crt|pem)$/.test(name) ? "Certificate" : undefined;
  },
};

export const DIRECTORIES: readonly string[] = [...Object.keys(BELOW), IMAGES];

/** `name` is relative: `agent.yaml`, `tls/client.key`. undefined = nothing that the agent takes over. */
export function kindOf(name: string): PartKind | undefined {
  const [directory = "", file] = name.split("/");
  return file === undefined ? SINGLE[directory] : BELOW[directory]?.(file);
}

/** Whether it is a file of the operating system or of the user's computer, which the agent leaves. */
export function isBeside(name: string): boolean {
  return BESIDE.test(fileNameOf(name));
}

export function targetOf(kind: PartKind, name: string, places: Places): string {
  const file = fileNameOf(name);
  const home = parentOf(places.configFile);
  switch (kind) {
    case "Config":
      return places.configFile;
    case "RootKey":
      return below(places.trustPath, file);
    case "Manifest":
      return below(places.staticPodPath, file);
    case "Certificate":
    case "Key":
      return below(below(home, "tls"), file);
    case "Password":
      return below(home, file);
    case "RegistryAuth":
      return places.registryAuthFile;
  }
}

/** With a slash between them. */
export function below(directory: string, name: string): string {
  return directory.endsWith("/") ? `${directory}${name}` : `${directory}/${name}`;
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

export function fileNameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
