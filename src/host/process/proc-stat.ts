// Reads /proc/<pid>/stat. proc(5): stat

export interface ProcStat {
  /** Id of the session; a process that leads one has its own pid. */
  readonly session: number;
  /** In ticks since boot: with the pid, unique. */
  readonly startTicks: string;
}

export function parseProcStat(text: string): ProcStat {
  // The name of the program, in parentheses, may contain anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { session: Number(fields[3]), startTicks: fields[19] ?? "" };
}
