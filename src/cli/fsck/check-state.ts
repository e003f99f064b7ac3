// Performs: checks database, files, versions, manifests and archives of this node, and mends the state with the agent stopped.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allContainers, podName } from "../../api/v1/pod.ts";
import type { AgentConfig } from "../../config/config.ts";
import { lockStateDir } from "../../host/agent-lock.ts";
import { realFiles } from "../../host/real-files.ts";
import { checkVersions } from "../../host/versions/check-versions.ts";
import { archiveLooks } from "../../image/archive/plan-archives.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import { systemRandom } from "../../lib/system-clock.ts";
import { readPki } from "../../server/secure/pki-state.ts";
import { PKI_MAGIC } from "../../server/secure/pki-file.ts";
import { checkDatabase } from "../../store/check/check-database.ts";
import { checkStateFiles } from "../../store/check/check-state-files.ts";
import { storedImages, type StoredImages } from "../../store/check/stored-images.ts";
import { repairState } from "../../store/check/repair-state.ts";
import type { StateProblem } from "../../store/check/state-problem.ts";
import { checkedContent } from "../../store/checked-file.ts";
import { SecretBox } from "../../store/seal-secrets.ts";
import { lookAtSecretKey } from "../../store/secret-key.ts";
import { borrowAddon } from "../../store/sqlite/native-addon.ts";
import { errorLine } from "../terminal-text.ts";
import { judgePaths } from "../validate/validate.ts";
import type { Checked, FsckFinding, Outcome } from "./fsck-report.ts";
import type { ImageUse } from "./images/needed-images.ts";

const PKI_BYTES = 4 * 1024 * 1024;
const files = realFiles();

/** What can be asked of stateDir; disposing it removes a borrowed addon. */
export interface StateCheck extends Disposable {
  readonly hasState: boolean;
  problems(): readonly StateProblem[];
  /** How its images came. */
  images(): StoredImages;
  /** Why it is not done; undefined = it was tried, and another check shows the result. */
  repair(problems: readonly StateProblem[]): string | undefined;
}

/** Throws AgentError `SqliteAddonUnusable`. */
export function openStateCheck({ stateDir }: AgentConfig, isLight: boolean): StateCheck {
  const hasState = files.info(stateDir) !== undefined;
  let spare: string | undefined;
  const scratch = (): string => (spare ??= mkdtempSync(join(tmpdir(), "agent-fsck-")));
  const path = join(stateDir, "agent.db");
  const nativeBinding = hasState ? borrowAddon(stateDir, { files, spare: scratch }) : "";
  return {
    hasState,
    problems: () =>
      hasState
        ? [
            ...checkDatabase({ path, nativeBinding, isLight, secrets: secretsOf(stateDir) }),
            ...checkStateFiles({ stateDir, files }),
            ...pkiProblems(stateDir),
          ]
        : [],
    images: () => storedImages({ path, nativeBinding, secrets: secretsOf(stateDir) }),
    repair(problems) {
      try {
        using _lock = lockStateDir(stateDir);
        repairState(problems, { stateDir, files, random: systemRandom, nativeBinding });
        return undefined;
      } catch (error) {
        if (reasonOf(error, "") === "StateDirInUse")
          return "the agent runs and uses it: systemctl stop agent (the pods run on), agent fsck --repair, systemctl start agent";
        return `the repair failed: ${messageOf(error)}`;
      }
    },
    [Symbol.dispose]() {
      if (spare !== undefined) rmSync(spare, { recursive: true, force: true });
    },
  };
}

/** undefined = no key opens anything; the check of the files reports that. */
function secretsOf(stateDir: string): SecretBox | undefined {
  try {
    const key = lookAtSecretKey(stateDir, files);
    if (key === undefined || !("bytes" in key)) return undefined;
    const path = join(stateDir, "secret.key");
    const kept = { path, bytes: key.bytes, trouble: undefined, keep: () => undefined };
    return new SecretBox(kept, systemRandom);
  } catch {
    return undefined;
  }
}

function pkiProblems(stateDir: string): readonly StateProblem[] {
  const file = join(stateDir, "pki/pki.json");
  const remedy =
    "agent fsck --repair with the agent stopped sets it aside, as the next start does; then make new kubeconfigs with agent kubeconfig";
  try {
    if (files.info(file) === undefined) return [];
    const content = checkedContent(PKI_MAGIC, files.read(file, PKI_BYTES));
    if (content !== undefined && readPki(content) !== undefined) return [];
    const what = "it is torn or was changed: no user of the API counts any longer";
    return [{ part: "state", file, what, remedy, repair: { type: "ForgetFile" } }];
  } catch (error) {
    return [{ part: "state", file, what: messageOf(error), remedy, isUnchecked: true }];
  }
}

export function stateFinding({ part, file, what, remedy, isUnchecked }: StateProblem): FsckFinding {
  const outcome: Outcome = isUnchecked === true ? "Unchecked" : "Found";
  return { part, file, what, remedy, outcome };
}

export interface Judged {
  readonly checked: readonly Checked[];
  readonly findings: readonly FsckFinding[];
}

/** What a node would refuse, as `agent validate` has it, and which images the pods name. */
export function checkManifests({
  staticPodPath,
}: AgentConfig): Judged & { readonly uses: readonly ImageUse[] } {
  if (files.target(staticPodPath) === undefined) return { checked: [], findings: [], uses: [] };
  try {
    const { judgement, files: count } = judgePaths([staticPodPath]);
    const { errors, pods } = judgement;
    const findings = errors.map((error): FsckFinding => ({
      part: "manifest",
      file: error.ref,
      what: errorLine({ file: "", ...error }).replace(/^:/, ""),
      remedy: "correct the file; until then the last good pod runs on",
      outcome: "Found",
    }));
    const uses = pods.flatMap(({ pod }) =>
      allContainers(pod.spec).map(({ image }) => ({ reference: image, user: podName(pod) })),
    );
    return { checked: [{ part: "manifest", what: `${count} files` }], findings, uses };
  } catch (error) {
    const remedy = "run it as root, on a file system that can be read";
    const unread = {
      part: "manifest",
      file: staticPodPath,
      what: messageOf(error),
      remedy,
    } as const;
    return { checked: [], findings: [{ ...unread, outcome: "Unchecked" }], uses: [] };
  }
}

export async function checkKeptVersions(
  { stateDir }: AgentConfig,
  options: { readonly isLight: boolean; readonly signal: AbortSignal },
): Promise<Judged> {
  const place = join(stateDir, "self-update");
  try {
    const { versions, problems } = await checkVersions({ place, ...options });
    const findings = problems.map((problem) => ({
      ...problem,
      part: "version" as const,
      outcome: "Found" as const,
    }));
    const checked =
      versions === 0 ? [] : [{ part: "version" as const, what: `${versions} versions` }];
    return { checked, findings };
  } catch (error) {
    options.signal.throwIfAborted();
    const remedy = "run it as root, on a file system that can be read";
    const unread = { part: "version", file: place, what: messageOf(error), remedy } as const;
    return { checked: [], findings: [{ ...unread, outcome: "Unchecked" }] };
  }
}

/** By their looks only: the agent verifies every digest when it imports one. */
export function checkArchives({ imageArchivePath }: AgentConfig): Judged {
  if (files.target(imageArchivePath)?.kind !== "directory") return { checked: [], findings: [] };
  try {
    const listed = files.list(imageArchivePath);
    const archives = archiveLooks(listed).size;
    const empty = listed.filter(
      ({ name, kind, size }) =>
        kind === "file" && size === 0 && /^[^.].*\.tar(\.gz|\.zst)?$/.test(name),
    );
    const findings = empty.map(({ name }): FsckFinding => ({
      part: "archive",
      file: join(imageArchivePath, name),
      what: "it is empty",
      remedy: "copy it again; cp and scp may need a sync before the power goes",
      outcome: "Found",
    }));
    return { checked: [{ part: "archive", what: `${archives} archives` }], findings };
  } catch (error) {
    const remedy = "run it as root, on a file system that can be read";
    const unread = {
      part: "archive",
      file: imageArchivePath,
      what: messageOf(error),
      remedy,
    } as const;
    return { checked: [], findings: [{ ...unread, outcome: "Unchecked" }] };
  }
}
