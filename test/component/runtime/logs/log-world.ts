// Pods whose containers hold real log files open, and the log manager on virtual time.

import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { containerLogPath, podLogDirectory } from "../../../../src/api/pod/log-paths.ts";
import type { ObservedPod } from "../../../../src/api/pod/observed-pod.ts";
import { CriError } from "../../../../src/cri/cri-error.ts";
import { realFiles } from "../../../../src/host/real-files.ts";
import { GrpcCode } from "../../../../src/lib/grpc-code.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { LogManager, type LogManagerOptions } from "../../../../src/runtime/logs/log-manager.ts";
import { aSandbox, anInstance, anObservedPod, UID } from "../../../fakes/a-pod.ts";
import { VirtualClock } from "../../../fakes/fake-clock.ts";
import { decompressed, fakeCompress } from "../../../fakes/fake-compress.ts";
import { FakeLogs } from "../../../fakes/fake-logs.ts";

export const KIB = 1024;
export const INTERVAL_MS = 10_000;

export class LogWorld implements Disposable {
  readonly clock: VirtualClock;
  readonly directory: string;
  readonly logs = new FakeLogs();
  readonly lines: string[] = [];
  /** Container ids, as they were reopened. */
  readonly reopened: string[] = [];
  readonly pods = new Map<string, ObservedPod>();
  settled = true;
  /** What the next calls of ReopenContainerLog end with; `late` = it happens, and the answer is lost. */
  readonly faults: ("refused" | "lost" | "late")[] = [];
  readonly #options: Partial<LogManagerOptions>;
  #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(directory: string, options: Partial<LogManagerOptions> = {}) {
    this.directory = directory;
    this.#options = options;
    this.clock = new VirtualClock({ wall: Date.UTC(2026, 2, 4, 5, 6, 7) });
  }

  start(): void {
    const files = realFiles();
    const { clock } = this;
    this.#stop = new AbortController();
    const manager = new LogManager({
      clock,
      log: createLogger({ clock, level: "info", write: (line) => void this.lines.push(line) }),
      files,
      cri: { reopenContainerLog: (id: string) => this.#reopen(id) } as LogManagerOptions["cri"],
      compressFile: fakeCompress(files),
      podLogsDir: this.directory,
      maxSize: 10 * KIB,
      maxFiles: 4,
      workers: 1,
      intervalMs: INTERVAL_MS,
      limits: { pod: Infinity, node: Infinity },
      observed: () => this.pods,
      isSettled: () => this.settled,
      ...this.#options,
    });
    this.#running = manager.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(0);
    await this.#running;
  }

  /** Container `a` of pod `web`, attempt `attempt`: the newest one. */
  run(attempt = 0, name = "a"): void {
    const before = this.pods.get(UID)?.containers ?? [];
    const ended = before.map((one) =>
      one.name === name ? { ...one, state: "Exited" as const } : one,
    );
    for (const { id } of ended.filter((one) => one.state === "Exited")) this.logs.close(id);
    this.pods.set(UID, anObservedPod([aSandbox()], [...ended, anInstance(name, { attempt })]));
    mkdirSync(join(this.path(), ".."), { recursive: true });
    this.logs.open(`${name}-${attempt}`, this.path(`${attempt}.log`));
  }

  exit(id: string): void {
    const { containers = [] } = this.pods.get(UID) ?? {};
    const ended = containers.map((one) =>
      one.id === id ? { ...one, state: "Exited" as const } : one,
    );
    this.logs.close(id);
    this.pods.set(UID, anObservedPod([aSandbox()], ended));
  }

  path(name = "0.log"): string {
    const [directory = ""] = containerLogPath("a", 0).split("/");
    const root = podLogDirectory(this.directory, { namespace: "default", name: "web", uid: UID });
    return join(root, directory, name);
  }

  /** Lines of 1 KiB, numbered from `from` on. */
  write(from: number, count: number, id = "a-0"): void {
    for (let n = from; n < from + count; n += 1)
      this.logs.write(id, `${String(n).padStart(6, "0")}${"x".repeat(KIB - 7)}\n`);
  }

  async turns(count: number): Promise<void> {
    await this.clock.advance(count * INTERVAL_MS);
  }

  names(): readonly string[] {
    return readdirSync(join(this.path(), "..")).toSorted();
  }

  size(name = "0.log"): number {
    return statSync(this.path(name)).size;
  }

  /** The numbers of all lines, in the order of the files. */
  numbers(): readonly number[] {
    const names = [...this.names()];
    const ordered = [
      ...names.filter((name) => name !== "0.log"),
      ...names.filter((name) => name === "0.log"),
    ];
    return ordered.flatMap((name) => {
      const bytes = readFileSync(this.path(name));
      const text = name.endsWith(".gz") ? decompressed(bytes) : bytes.toString();
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => Number.parseInt(line, 10));
    });
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.logs[Symbol.dispose]();
  }

  async #reopen(id: string): Promise<void> {
    await Promise.resolve();
    this.reopened.push(id);
    const fault = this.faults.shift();
    const failure = (code: number): CriError =>
      new CriError({ call: "ReopenContainerLog", code, details: "as the test wants it" });
    if (fault === "refused") throw failure(GrpcCode.UNKNOWN);
    if (fault === "lost") throw failure(GrpcCode.DEADLINE_EXCEEDED);
    this.logs.reopen(id);
    if (fault === "late") throw failure(GrpcCode.DEADLINE_EXCEEDED);
  }
}
