// When an image is pulled.

/** Always for images with the tag `latest`, or with neither tag nor digest; else IfNotPresent. */
export function defaultPullPolicy(image: string): PullPolicy {
  const [name = "", digest] = image.split("@", 2);
  const tag = /:([^/:]*)$/.exec(name)?.[1];
  if (digest !== undefined && tag === undefined) return "IfNotPresent";
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent";
}

export type PullPolicy = "Always" | "IfNotPresent" | "Never";
