// Performs: takes over a provisioning directory, such as /boot/firmware/agent of an SD card: looks, judges, and takes what the
// node has not got yet.

import { FILE_LIMITS } from "../api/yaml/text-limits.ts";
import type { AgentConfig } from "../config/config.ts";
import { publicKeyOfPem } from "../host/crypto/ed25519.ts";
import { eraseFile } from "../host/tree/erase-file.ts";
import type { Files } from "../host/files.ts";
import { messageOf } from "../lib/errors.ts";
import { sha256 } from "../lib/system-sha256.ts";
import { certificateProblem, isKeyOf, keyProblem } from "../mqtt/key-pair.ts";
import { below, CONFIG_NAME, type Places } from "./card-files.ts";
import { judgeCard, type JudgedCard, type KeyEdge } from "./judge-card.ts";
import type { Mark } from "./mark.ts";
import { planTake, type Take } from "./plan-take.ts";
import { readCard, type Card, type CardRefusal } from "./read-card.ts";
import { nothingOf, type ProvisionReport, type TakenFile } from "./report.ts";
import { TakeOver, type LeftSecret } from "./take-over.ts";

/** Where the boot partition of a Raspberry Pi is mounted, by newer and older systems. */
export const PROVISIONING_DIRECTORIES: readonly string[] = ["/boot/firmware/agent", "/boot/agent"];

export interface ProvisionOptions {
  readonly files: Files;
  /** That holds for the node now. */
  readonly config: AgentConfig;
  /** Where agent.yaml goes. */
  readonly configFile: string;
  /** Held while something is written. Throws when an agent runs. */
  readonly lock: (stateDir: string) => Disposable;
  /** Absent = the real one. */
  readonly erase?: (path: string) => void;
}

export interface LookOptions extends ProvisionOptions {
  /** The first that exists counts. */
  readonly directories: readonly string[];
  /** Everything, also what was taken before. */
  readonly again: boolean;
  /** Look, and change nothing. */
  readonly isDry: boolean;
}

const KEYS: KeyEdge = {
  sha256,
  certificateProblem,
  keyProblem,
  isKeyOf,
  isRootKey: (pem) => publicKeyOfPem(pem) !== undefined,
};

/**
 * Finishes what a power cut has interrupted; undefined = there is no such thing. The configuration may be another one
 * afterwards. Throws when a file cannot be written, or an agent runs.
 */
export function resumeProvisioning(options: ProvisionOptions): readonly TakenFile[] | undefined {
  const takeOver = takeOverIn(options.config.stateDir, options);
  if (!takeOver.hasRemains()) return undefined;
  using _lock = options.lock(options.config.stateDir);
  const plan = takeOver.interrupted();
  if (plan === undefined) {
    takeOver.removeRemains();
    return undefined;
  }
  takeOver.finish(plan);
  return plan.files.map(({ name, target }) => ({ name, target }));
}

/** undefined = there is no such directory. Never throws. */
export function provision(options: LookOptions): ProvisionReport | undefined {
  const { files, directories, isDry } = options;
  const directory = directories.find((path) => files.target(path)?.kind === "directory");
  if (directory === undefined) return undefined;
  let seen: Seen;
  try {
    seen = look(directory, options);
  } catch (error) {
    return failedWith(nothingOf(directory), error);
  }
  const { card, take, refused } = seen;
  const report: ProvisionReport = {
    ...nothingOf(directory),
    archives: take.archives.map((name) => below(directory, name)),
    refused,
    ignored: take.ignored,
    unknown: card.unknown,
  };
  const taken = take.files.map(({ name, target }) => ({ name, target }));
  if (isDry) return { ...report, taken };
  if (!take.isMarkChanged && take.secrets.length === 0) return report;
  try {
    files.makeDirectory(seen.stateDir, 0o700);
    using _lock = options.lock(seen.stateDir);
    return { ...report, taken, left: perform(directory, seen, options) };
  } catch (error) {
    return failedWith(report, error);
  }
}

interface Seen {
  readonly card: Card;
  readonly take: Take;
  readonly refused: readonly CardRefusal[];
  /** Of the configuration that holds afterwards. */
  readonly stateDir: string;
}

function look(directory: string, options: LookOptions): Seen {
  const { files, config, configFile, again } = options;
  const card = readCard(files, directory);
  const placesWith = (own: AgentConfig | undefined): Places => ({ ...(own ?? config), configFile });
  const judged = judgeCard(card, KEYS, placesWith);
  const mark = again ? undefined : takeOverIn(config.stateDir, options).mark();
  const plan = (own: AgentConfig | undefined): Planned =>
    planWith({ card, directory, judged, mark, options, places: placesWith(own) });
  const first = plan(undefined);
  // Only a configuration that is taken decides where the rest belongs.
  const own = first.take.files.some(({ name }) => name === CONFIG_NAME) ? judged.config : undefined;
  const { stateDir } = own ?? config;
  return { card, stateDir, ...(own === undefined ? first : plan(own)) };
}

type Planned = Pick<Seen, "take" | "refused">;

interface PlanFacts {
  readonly card: Card;
  readonly directory: string;
  readonly judged: JudgedCard;
  readonly mark: Mark | undefined;
  readonly options: LookOptions;
  readonly places: Places;
}

function planWith({ card, directory, judged, mark, options, places }: PlanFacts): Planned {
  const { files, again } = options;
  const path = places.staticPodPath;
  // One file instead of a directory: others beside it would not be read.
  const isOneFile = files.target(path)?.kind === "file";
  const homeless = judged.good.filter(({ kind }) => isOneFile && kind === "Manifest");
  const refused = [
    ...judged.refused,
    ...homeless.map(({ name }) => ({
      name,
      message: `has no place: staticPodPath ${path} is one file`,
      remedy: "name a directory as staticPodPath",
    })),
  ];
  const take = planTake({
    directory,
    good: judged.good.filter((file) => !homeless.includes(file)),
    refused,
    archives: card.archives,
    mark,
    places,
    again,
    digestOf: sha256,
    present: (target) =>
      files.target(target) === undefined
        ? undefined
        : sha256(files.readFollowing(target, FILE_LIMITS.bytes)),
  });
  return { take, refused };
}

function perform(
  directory: string,
  { take, stateDir }: Seen,
  options: LookOptions,
): readonly LeftSecret[] {
  const takeOver = takeOverIn(stateDir, options);
  const left = takeOver.erase(directory, take.secrets);
  if (!take.isMarkChanged) return left;
  return [...left, ...takeOver.finish(takeOver.stage(take.files, take.mark))];
}

function takeOverIn(stateDir: string, { files, erase = eraseFile }: ProvisionOptions): TakeOver {
  return new TakeOver({ files, sha256, erase, stateDir });
}

function failedWith(report: ProvisionReport, error: unknown): ProvisionReport {
  const failure = `${report.directory} could not be taken over, and the next start tries again: ${messageOf(error)}`;
  return { ...report, failure };
}
