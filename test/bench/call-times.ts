// Where the time of one measurement goes: inside which CRI calls, before the first, and between them, as containerd's log dates them.

import { readFileSync } from "node:fs";

import { median } from "./statistics.ts";

export type Side = "agent" | "bare";

interface Measured {
  readonly side: Side;
  /** performance.now() */
  readonly start: number;
  readonly end: number;
}

interface Call {
  readonly name: string;
  /** performance.now(), converted. */
  readonly begin: number;
  readonly end: number;
}

const LINE =
  /^time="([^"]+)" level=\w+ msg="((?:Run|Create|Start|Stop|Remove)(?:PodSandbox|Container))\b(.*)$/;

export class CallTimes {
  readonly #path: string;
  readonly #from: number;
  readonly #measured: Measured[] = [];

  /** Reads what containerd logs from now on. */
  constructor(logFile: string) {
    this.#path = logFile;
    this.#from = Bun.file(logFile).size;
  }

  add(side: Side, start: number, end: number): void {
    this.#measured.push({ side, start, end });
  }

  /** One sentence a side, in medians; only for measurements of one pod, where no two calls of one name run at once. */
  describe(): readonly string[] {
    const calls = readCalls(readFileSync(this.#path).subarray(this.#from).toString());
    return (["agent", "bare"] as const).flatMap((side) => {
      const own = this.#measured.filter((measured) => measured.side === side);
      return own.length === 0 ? [] : [`${side}: ${describeSide(own, calls)}`];
    });
  }
}

function describeSide(measured: readonly Measured[], calls: readonly Call[]): string {
  const before: number[] = [];
  const between: number[] = [];
  const inside = new Map<string, number[]>();
  for (const { start, end } of measured) {
    const own = calls
      .filter((call) => call.begin >= start && call.begin < end)
      .map((call) => ({ ...call, end: Math.min(call.end, end) }));
    let outside = 0;
    let covered = own[0]?.begin ?? end;
    before.push(covered - start);
    for (const { name, begin, end: returned } of own) {
      inside.set(name, [...(inside.get(name) ?? []), returned - begin]);
      outside += Math.max(0, begin - covered);
      covered = Math.max(covered, returned);
    }
    between.push(outside + end - covered);
  }
  const named = [...inside].map(([name, times]) => `${name} ${median(times).toFixed(0)}`);
  return `before the first call ${median(before).toFixed(1)} ms, ${named.join(", ")}, outside of these ${median(between).toFixed(1)}`;
}

function readCalls(text: string): readonly Call[] {
  const open = new Map<string, number>();
  const calls: Call[] = [];
  for (const line of text.split("\n")) {
    const found = LINE.exec(line);
    if (found === null) continue;
    const [, time = "", name = "", rest = ""] = found;
    const at = wallMs(time) - performance.timeOrigin;
    const begin = open.get(name);
    if (!/ (returns|failed)\b/.test(rest)) open.set(name, at);
    else if (begin !== undefined) {
      calls.push({ name, begin, end: at });
      open.delete(name);
    }
  }
  return calls.toSorted((a, b) => a.begin - b.begin);
}

/** RFC 3339 with nanoseconds, which Date.parse would cut. */
function wallMs(time: string): number {
  const [, seconds = "", fraction = "0"] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return Date.parse(`${seconds}Z`) + Number(`0.${fraction}`) * 1_000;
}
