// What distinguishes containerd from other runtimes, and how it names images.

import type { VersionResponse } from "../cri/gen/runtime/v1/api_pb.ts";
import { isJsonObject, parseJson, type JsonObject } from "../lib/json.ts";

/** containerd's namespace of its CRI plugin; containerd reads it from a header of each call. */
export const CRI_NAMESPACE = "k8s.io";

export const CRI_NAMESPACE_HEADERS = { "containerd-namespace": CRI_NAMESPACE } as const;

/** Whether containerd's own services are available on the CRI socket. */
export function isContainerd(version: Pick<VersionResponse, "runtimeName">): boolean {
  return version.runtimeName === "containerd";
}

/**
 * The name of the sandbox image, from the verbose answer of CRI's Status: containerd 1.x reports `config.sandboxImage`, 2.x `pinned_images.sandbox`.
 * undefined = this runtime does not report it.
 */
export function sandboxImageName(info: Readonly<Record<string, string>>): string | undefined {
  for (const section of Object.values(info).map(parseJson).filter(isJsonObject)) {
    const { sandboxImage } = section;
    const name = typeof sandboxImage === "string" ? sandboxImage : pinnedSandbox(section);
    if (name !== undefined && name !== "") return name;
  }
  return undefined;
}

function pinnedSandbox(section: JsonObject): string | undefined {
  for (const key of ["pinned_images", "pinnedImages", "PinnedImages"]) {
    const images = section[key];
    if (isJsonObject(images) && typeof images["sandbox"] === "string") return images["sandbox"];
  }
  return undefined;
}

/** The full reference under which containerd stores an image: with registry, `library/` and tag, as Docker does. */
export function normalizedImageName(reference: string): string {
  const [first = "", ...rest] = reference.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const path = hasRegistry
    ? reference
    : `docker.io/${rest.length === 0 ? "library/" : ""}${reference}`;
  const last = path.slice(path.lastIndexOf("/") + 1);
  return /[:@]/.test(last) ? path : `${path}:latest`;
}
