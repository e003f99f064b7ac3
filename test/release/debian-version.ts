// The version of the Debian package: by it apt decides what is newer.

export interface SourceState {
  /** Of the binary: `0.2.0`, `0.2.0-rc.1`, or `0.2.0+1a2b3c4d5e6f`, perhaps with `.dirty`, of what is no release. */
  readonly version: string;
  /** The release before or at this commit, `v0.2.0`; undefined = there is none. */
  readonly tag?: string | undefined;
  /** Of the commit, in seconds since 1970. */
  readonly time: number;
}

/**
 * A release has its own number, a candidate sorts before it. What is built after a release sorts behind it, and by the time of
 * its commit; what is built before the first release sorts before that.
 */
export function debianVersion({ version, tag, time }: SourceState): string {
  const [number = "", commit] = version.split("+");
  const base = number.replace("-", "~").replaceAll("-", ".");
  if (commit === undefined) return base;
  const stamp = new Date(time * 1000).toISOString().replaceAll(/[-:T]|\.\d+Z$/g, "");
  return `${base}${tag === undefined ? "~" : "+"}git${stamp}.${commit}`;
}
