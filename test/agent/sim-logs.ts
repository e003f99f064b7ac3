// Containers of a simulated machine that write to their logs, each at its own rate, and a runtime that now and then fails to
// reopen one. Its dice are its own. What is written is numbered, so that a lost line is a gap.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentConfig } from "../../src/config/config.ts";
import type { Clock, Monotonic } from "../../src/lib/clock.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";
import type { Fault } from "../fakes/fake-cri-faults.ts";
import { refused } from "../fakes/fake-cri-world.ts";
import { decompressed } from "../fakes/fake-compress.ts";
import { FakeLogs } from "../fakes/fake-logs.ts";
import type { FakeRuntime } from "../fakes/fake-runtime.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";

export const MAX_FILES = 3;
const MAX_SIZE = 16 * 1024;

/** Small, so that much happens. */
export const LOG_CONFIG: Pick<
  AgentConfig,
  "containerLogMaxSize" | "containerLogMaxFiles" | "nodeLogsMaxSize"
> = {
  containerLogMaxSize: MAX_SIZE,
  containerLogMaxFiles: MAX_FILES,
  nodeLogsMaxSize: { type: "Bytes", bytes: 300 * 1024 },
};

/** containerd writes to the old file for a moment after it has answered. */
const LATE_MS = 40;
const LINE_BYTES = 128;
/** Of one container at once: a night without an agent is only a large log. */
const MOST_LINES = 2_000;

interface Writer {
  readonly path: string;
  /** Lines a second. */
  readonly rate: number;
  at: Monotonic;
  next: number;
}

export interface SimLogsOptions {
  readonly seed: number;
  readonly clock: Clock;
  readonly runtime: () => FakeRuntime;
}

export class SimLogs implements Disposable {
  readonly #options: SimLogsOptions;
  readonly #dice: Mulberry32;
  readonly #files = new FakeLogs();
  /** By container id. */
  readonly #writers = new Map<string, Writer>();
  #isCalm = false;
  /** What no agent may do. */
  wrong: string | undefined;

  constructor(options: SimLogsOptions) {
    this.#options = options;
    this.#dice = new Mulberry32(options.seed ^ 0x1095);
  }

  opened(id: string, path: string): void {
    const rate = this.#dice.weighted([
      [0, 4],
      [0.2, 3],
      [3, 2],
      [12, 1],
    ]);
    this.#files.open(id, path);
    const writer = { path, rate, at: this.#options.clock.monotonic(), next: 0 };
    this.#writers.set(id, writer);
    this.#write(id, writer, 1);
  }

  /** The runtime's part of ReopenContainerLog. */
  reopen(id: string): void {
    this.flush();
    const writer = this.#writers.get(id);
    if (writer === undefined) return;
    try {
      const writeLate = this.#files.reopenLate(id);
      if (this.#isCalm) return void writeLate("");
      const line = this.#lines(writer, 1);
      this.#options.clock.after(LATE_MS, () => {
        if (writeLate(line) || !this.#options.runtime().isAlive(id)) return;
        if (existsSync(dirname(writer.path)))
          this.wrong ??= `${id} writes its last line to a log that was removed too early`;
      });
    } catch (error) {
      throw refused("ReopenContainerLog", error instanceof Error ? error.message : "no log");
    }
  }

  /** Before anyone looks: what was written since. */
  flush(): void {
    const { clock, runtime } = this.#options;
    for (const [id, writer] of this.#writers) {
      const isRunning = runtime().isAlive(id);
      const now = clock.monotonic();
      const lines = this.#isCalm ? 0 : Math.floor(((now - writer.at) / 1000) * writer.rate);
      if (lines > 0) this.#write(id, writer, Math.min(lines, MOST_LINES));
      if (lines > 0 || this.#isCalm) writer.at = now;
      if (isRunning && this.#files.isLost(id) && existsSync(dirname(writer.path)))
        this.wrong ??= `${id} writes to a log that was removed`;
      if (!isRunning) this.#close(id);
    }
    if (!this.#isCalm && this.#dice.chance(0.02)) this.#trouble();
  }

  /** No one floods any more. */
  calm(): void {
    this.flush();
    this.#isCalm = true;
  }

  /** When all is quiet: each running container writes where it should, and nothing of the newest lines is lost. */
  verdict(): string | undefined {
    this.flush();
    for (const [id, { path, next }] of this.#writers) {
      if (!this.#files.isAtItsPath(id)) return `${id} does not write to ${path}`;
      const wrong = wrongFiles(path, next);
      if (wrong !== undefined) return `${id}: ${wrong}`;
    }
    return this.wrong;
  }

  [Symbol.dispose](): void {
    this.#files[Symbol.dispose]();
  }

  #write(id: string, writer: Writer, count: number): void {
    this.#files.write(id, this.#lines(writer, count));
  }

  #lines(writer: Writer, count: number): string {
    let text = "";
    for (let n = 0; n < count; n += 1) {
      const head = `t stdout F ${writer.next} `;
      text += `${head}${"x".repeat(LINE_BYTES - 1 - head.length)}\n`;
      writer.next += 1;
    }
    return text;
  }

  #close(id: string): void {
    this.#files.close(id);
    this.#writers.delete(id);
  }

  #trouble(): void {
    const code = this.#dice.pick([GrpcCode.UNKNOWN, GrpcCode.UNAVAILABLE] as const);
    const fault = this.#dice.pick<Fault>([
      { type: "fail", code, details: "no" },
      { type: "fail", code: GrpcCode.UNAVAILABLE, details: "lost", effect: "happens" },
      { type: "hang" },
      { type: "hang", effect: "happens" },
      { type: "delay", ms: 3_000 },
    ]);
    this.#options.runtime().faults.order("reopenContainerLog", fault);
  }
}

function wrongFiles(path: string, next: number): string | undefined {
  const directory = dirname(path);
  const log = path.slice(directory.length + 1);
  const names = readdirSync(directory).filter((name) => name.startsWith(`${log}.`));
  const rotated = names.toSorted();
  if (rotated.length + 1 > MAX_FILES) return `${rotated.length + 1} files of ${log}`;
  const text = [...rotated, log].map((name) => textOf(join(directory, name))).join("");
  const numbers = text
    .split("\n")
    .slice(0, -1)
    .map((line) => Number(line.split(" ")[3]));
  if (numbers.at(-1) !== next - 1) return `the last line is ${numbers.at(-1)}, not ${next - 1}`;
  const gap = numbers.findIndex((n, index) => index > 0 && n !== (numbers[index - 1] ?? 0) + 1);
  return gap < 0 ? undefined : `line ${numbers[gap]} follows ${numbers[gap - 1]}`;
}

function textOf(path: string): string {
  const bytes = readFileSync(path);
  return path.endsWith(".gz") ? decompressed(bytes) : bytes.toString();
}
