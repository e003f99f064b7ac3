// Which epoch and generation the next document must have so that every target accepts it, whatever the broker has lost.

export interface KnownVersion {
  /** `the retained document`, `node pi-1`. */
  readonly of: string;
  readonly epoch: string;
  /** 0 = has accepted nothing. */
  readonly generation: number;
}

export interface VersionFacts {
  readonly retained: KnownVersion | undefined;
  /** What each target node has accepted of this source. */
  readonly nodes: readonly KnownVersion[];
  /** Asked for by a person. */
  readonly epoch?: string;
}

export type NextVersion =
  | {
      readonly ok: true;
      readonly epoch: string;
      readonly generation: number;
      /** The one before, where another is to follow it. */
      readonly previousEpoch?: string;
    }
  | { readonly ok: false; readonly why: string };

/** A higher generation would leave no room for a successor; the known ones come from the broker, unverified. */
export const HIGHEST_VERSION = 2 ** 40;

/** Without --epoch the generations of all epochs together count: a gap does no harm. */
export function nextVersion({ retained, nodes, epoch: asked }: VersionFacts): NextVersion {
  const all = [...(retained === undefined ? [] : [retained]), ...nodes];
  // Generations of different epochs are not comparable: a new epoch starts at 1.
  const known = asked === undefined ? all : all.filter(({ epoch }) => epoch === asked);
  const implausible = known.find(({ generation }) => generation > HIGHEST_VERSION);
  if (implausible !== undefined) {
    const epoch = asked === undefined ? "a new epoch" : "another epoch";
    const why = `${implausible.of} reports generation ${implausible.generation}, which is implausibly high; start ${epoch} with --epoch NAME`;
    return { ok: false, why };
  }
  const generation = known.reduce((highest, one) => Math.max(highest, one.generation), 0) + 1;
  // A node without an epoch accepts any; one with an epoch accepts only its own.
  const bound = nodes.filter((node) => node.generation > 0 && node.epoch !== "");
  const [first] = bound;
  const before = first?.epoch ?? retained?.epoch ?? "";
  if (asked !== undefined) {
    const follows = before !== "" && before !== asked ? { previousEpoch: before } : {};
    return { ok: true, epoch: asked, generation, ...follows };
  }
  if (first === undefined) return { ok: true, epoch: before, generation };
  const other = bound.find((node) => node.epoch !== first.epoch);
  if (other === undefined) return { ok: true, epoch: before, generation };
  const why = `${first.of} is in epoch ${quoted(first.epoch)} and ${other.of} in ${quoted(other.epoch)}; choose one with --epoch, nodes of the other answer 409 until "agent trust reset"`;
  return { ok: false, why };
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
