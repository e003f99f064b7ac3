// Which image of several platforms this node runs. containerd: platforms.Only, whose choice at a container's start this repeats.

/** As OCI writes it. */
export interface ImagePlatform {
  readonly os: string;
  readonly architecture: string;
  /** "" = the architecture's usual one. */
  readonly variant: string;
}

/** Best first: what a machine of this architecture runs. */
const RUNNABLE: Readonly<Record<string, readonly string[]>> = {
  amd64: ["amd64", "386"],
  arm64: ["arm64", "arm/v8", "arm/v7", "arm/v6", "arm/v5"],
};

/** The usual variants are also written in full. */
const USUAL: Readonly<Record<string, string>> = {
  "amd64/v1": "amd64",
  "arm64/v8": "arm64",
  arm: "arm/v7",
};

/** 0 = best; undefined = it does not run on this node. */
export function platformRank(image: ImagePlatform, architecture: string): number | undefined {
  if (image.os !== "linux") return undefined;
  const { architecture: name, variant } = image;
  const written = variant === "" ? name : `${name}/${variant}`;
  const runnable = RUNNABLE[architecture] ?? [architecture];
  const rank = runnable.indexOf(USUAL[written] ?? written);
  return rank < 0 ? undefined : rank;
}

export function platformText({ os, architecture, variant }: ImagePlatform): string {
  return [os, architecture, ...(variant === "" ? [] : [variant])].join("/");
}
