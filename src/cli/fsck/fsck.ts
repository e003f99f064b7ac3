// Performs: `agent fsck`: checks what this node has stored, down to the content of its images, and repairs it on demand.

import { archiveBytes } from "../../containerd/archive/archive-bytes.ts";
import { readMachineFacts } from "../../host/machine.ts";
import { bringArchive } from "../../image/archive/bring-archive.ts";
import { connectContainerd } from "../images/archives-and-list.ts";
import { loadConfig } from "../load-config.ts";
import { becomeLowPriority } from "../../host/low-priority.ts";
import type { AgentConfig } from "../../config/config.ts";
import type { VerbCall } from "../define-verb.ts";
import { UsageError } from "../exit-codes.ts";
import { printObject } from "../json-yaml-output.ts";
import { isConfirmed } from "../process-io.ts";
import { withProgress } from "../terminal/progress-line.ts";
import {
  checkArchives,
  checkKeptVersions,
  checkManifests,
  openStateCheck,
  stateFinding,
  type StateCheck,
} from "./check-state.ts";
import {
  exitCodeOf,
  fsckList,
  fsckText,
  type Checked,
  type FsckFinding,
  type FsckReport,
} from "./fsck-report.ts";
import { checkImages, type BrokenContent } from "./images/check-images.ts";
import { brokenFinding, remedyFor, repairImages } from "./images/repair-images.ts";
import type { StateProblem } from "../../store/check/state-problem.ts";

interface FsckFlags {
  readonly all?: boolean;
  readonly light?: boolean;
  readonly repair?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly containerdRoot?: string;
  readonly output?: "json" | "yaml";
}

/** The exit code: 0, 1, 4 or 8 as in fsck(8), and their sums. Throws UsageError. */
export async function fsck(call: VerbCall): Promise<number> {
  const { terminal } = call;
  const flags = call.flags<FsckFlags>();
  const { light = false, repair = false, all = false, output } = flags;
  if (light && (repair || all))
    throw new UsageError("--light only looks: leave it out with --repair or --all");
  if (flags.force === true && !repair) throw new UsageError("--force goes with --repair");
  const config = await loadConfig(call.flags(), terminal.environment);
  becomeLowPriority();
  const run = new FsckRun(call, { config, flags, signal: terminal.interrupted() });
  const found = await withProgress(
    terminal,
    () => run.progress,
    () => run.check(),
  );
  const mends = repair && found.canRepair && (await run.mayRepair(found));
  const report = mends
    ? await withProgress(
        terminal,
        () => run.progress,
        () => run.repair(found),
      )
    : found.report;
  if (output !== undefined) await printObject(terminal, fsckList(report), output);
  else terminal.out(fsckText(report, terminal.palette));
  return exitCodeOf(report);
}

interface Found {
  readonly report: FsckReport;
  readonly problems: readonly StateProblem[];
  readonly broken: readonly BrokenContent[];
  readonly canRepair: boolean;
}

interface RunOptions {
  readonly config: AgentConfig;
  readonly flags: FsckFlags;
  readonly signal: AbortSignal;
}

class FsckRun {
  /** Shown on a terminal. */
  progress = "checking the database";
  readonly #call: VerbCall;
  readonly #options: RunOptions;

  constructor(call: VerbCall, options: RunOptions) {
    this.#call = call;
    this.#options = options;
  }

  async check(): Promise<Found> {
    const { config, flags, signal } = this.#options;
    const isLight = flags.light === true;
    using state = openStateCheck(config, isLight);
    const problems = state.problems();
    this.progress = "checking manifests and versions";
    const manifests = checkManifests(config);
    const versions = await checkKeptVersions(config, { isLight, signal });
    const archives = checkArchives(config);
    this.progress = "checking images";
    const stored = state.images();
    const images = await checkImages({
      config,
      clock: this.#call.terminal.clock,
      signal,
      isAll: flags.all === true,
      isLight,
      root: flags.containerdRoot,
      uses: [
        ...manifests.uses,
        ...stored.named.map(({ reference, source }) => ({
          reference,
          user: `a pod of ${source}`,
        })),
      ],
      onProgress: (text) => void (this.progress = `checking ${text}`),
    });
    const { imageArchivePath } = config;
    const origins = { stored, imageArchivePath, sandbox: images.sandbox };
    const checked: readonly Checked[] = [
      ...(state.hasState ? checkedState(config, isLight) : []),
      ...[versions, manifests, archives, images].flatMap((one) => one.checked),
    ];
    const findings = [
      ...problems.map(stateFinding),
      ...[versions, manifests, archives].flatMap((one) => one.findings),
      ...images.unchecked,
      ...images.broken.map((one) => brokenFinding(one, remedyFor(one.images, origins).remedy)),
    ];
    const canRepair = images.broken.length > 0 || problems.some((one) => one.repair !== undefined);
    return { report: { checked, findings }, problems, broken: images.broken, canRepair };
  }

  /** Asks on a terminal; what is not confirmed is only reported. */
  async mayRepair({ report }: Found): Promise<boolean> {
    const { terminal } = this.#call;
    const { yes = false, output } = this.#options.flags;
    if (yes || !terminal.isInteractive || output !== undefined) return true;
    terminal.out(fsckText(report, terminal.palette));
    return isConfirmed(terminal, "Repair what can be repaired? Type yes: ");
  }

  async repair({ report, problems, broken }: Found): Promise<FsckReport> {
    const { config, flags, signal } = this.#options;
    this.progress = "repairing the state";
    using state = openStateCheck(config, false);
    const stored = state.images();
    const mended = this.#mendState(state, problems);
    const images =
      broken.length === 0
        ? []
        : await repairImages(broken, {
            config,
            clock: this.#call.terminal.clock,
            signal,
            stored,
            isForced: flags.force === true,
            importArchive: (path) => this.#importArchive(path),
            pull: await this.#puller(),
            onProgress: (text) => void (this.progress = text),
          });
    const paths = new Set(broken.map(({ path }) => path));
    const others = report.findings.filter(
      ({ part, file }) => part !== "database" && part !== "state" && !paths.has(file),
    );
    return { checked: report.checked, findings: [...mended, ...others, ...images] };
  }

  #mendState(state: StateCheck, problems: readonly StateProblem[]): readonly FsckFinding[] {
    if (problems.length === 0) return [];
    const why = state.repair(problems);
    if (why !== undefined) return problems.map((one) => ({ ...stateFinding(one), remedy: why }));
    const left = state.problems();
    const isLeft = ({ file, what }: StateProblem): boolean =>
      left.some((one) => one.file === file && one.what === what);
    const mended = problems
      .filter((one) => !isLeft(one))
      .map((one): FsckFinding => ({
        ...stateFinding(one),
        remedy: doneFor(one),
        outcome: "Repaired",
      }));
    return [...left.map(stateFinding), ...mended];
  }

  /** undefined = no agent answers. */
  async #importArchive(path: string): Promise<void> {
    const { terminal } = this.#call;
    const connection = this.#call.flags<object>();
    using containerd = await connectContainerd({ connection, terminal });
    const { store, cri } = containerd;
    await bringArchive({
      archives: { store, read: archiveBytes },
      cri,
      clock: terminal.clock,
      path,
      architecture: readMachineFacts().architecture,
      baseName: undefined,
      onProgress: () => undefined,
      signal: this.#options.signal,
    });
  }

  async #puller(): Promise<((name: string) => Promise<unknown>) | undefined> {
    const client = await this.#call.connect();
    try {
      await client.version();
    } catch {
      // It brings the images itself when it runs again.
      return undefined;
    }
    return (name) => client.pullImage(name, this.#options.signal);
  }
}

function checkedState({ stateDir }: AgentConfig, isLight: boolean): readonly Checked[] {
  const how = isLight ? "quick check, schema, rows" : "integrity, schema, rows";
  return [
    { part: "database", what: `${stateDir}/agent.db: ${how}` },
    { part: "state", what: "documents, keys, trust, identity, users of the API" },
  ];
}

function doneFor({ repair, file }: StateProblem): string {
  switch (repair?.type) {
    case "Rebuild":
      return `it was set aside as ${file}.corrupt-N and made anew from the stored documents`;
    case "Reindex":
      return "its indexes were made anew";
    case "ForgetRow":
      return "the row was removed";
    case "ForgetFile":
      return `it was moved to ${file}.damaged`;
    case "Reopen":
    case undefined:
      return "it was written anew";
  }
}
