// Performs: reads what explains a pod beside its status, when it is asked for: its manifest, the ends of its logs.

import { containerLogPath, podLogDirectory } from "../../api/pod/log-paths.ts";
import { manifestPath } from "../../api/pod/desired-pod.ts";
import { allStatuses, type ContainerStatus } from "../../api/v1/pod-status.ts";
import { FILE_LIMITS } from "../../api/yaml/text-limits.ts";
import type { AgentConfig } from "../../config/config.ts";
import type { Edges } from "../../edges.ts";
import type { Pods } from "../../podworkers/pods.ts";
import { tailOfLog } from "../../runtime/logs/log-files.ts";
import type { PodEntry } from "../pod-list.ts";
import { linesOfSecrets, redactor as redacting, type Redactor } from "../redact.ts";
import { lastLines, lineInManifest, type PodNotes } from "./pod-notes.ts";

export interface NotesOptions {
  readonly edges: Pick<Edges, "files" | "clock">;
  readonly config: Pick<AgentConfig, "podLogsDir">;
  readonly pods: { readonly workers: Pick<Pods["workers"], "get"> };
  readonly redactor: Pick<Redactor, "secrets">;
}

/** Holds the last lines, if none is longer than a few kilobytes. */
const TAIL_BYTES = 32 * 1024;

/** What cannot be read is left out. */
export function readNotes(entry: PodEntry, options: NotesOptions): PodNotes {
  const statuses = allStatuses(entry.status);
  return {
    line: orNothing(() => lineOf(entry, options)),
    tries: triesOf(entry, statuses, options),
    lines: new Map(
      statuses.map((status) => [
        status.name,
        orNothing(() => linesOf(entry, status, options)) ?? [],
      ]),
    ),
  };
}

/** The explanation is worth more than the line. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function lineOf({ source, sourceRef, pod }: PodEntry, { edges }: NotesOptions): number | undefined {
  if (source !== "file") return undefined;
  const path = manifestPath(sourceRef);
  const document = Number(/#(\d+)$/.exec(sourceRef)?.[1] ?? 0);
  const bytes = edges.files.read(path, FILE_LIMITS.bytes);
  return lineInManifest(bytes, document, pod.metadata.name);
}

function triesOf(
  { pod }: PodEntry,
  statuses: readonly ContainerStatus[],
  { edges: { clock }, pods }: NotesOptions,
): PodNotes["tries"] {
  const worker = pods.workers.get(pod.metadata.uid);
  return new Map(
    statuses.flatMap(({ name }) => {
      const at = worker?.nextTry(name);
      return at === undefined ? [] : [[name, clock.now() + Math.max(0, at - clock.monotonic())]];
    }),
  );
}

/** A container that wrote a Secret shows it in its own log only. */
function linesOf(
  { pod }: PodEntry,
  { name, restartCount }: ContainerStatus,
  { edges, config, redactor }: NotesOptions,
): readonly string[] {
  const directory = podLogDirectory(config.podLogsDir, pod.metadata);
  const path = `${directory}/${containerLogPath(name, restartCount)}`;
  const bytes = tailOfLog(edges.files, path, TAIL_BYTES) ?? new Uint8Array();
  const redact = redacting(linesOfSecrets(redactor.secrets()));
  return lastLines(new TextDecoder().decode(bytes)).map(redact);
}
