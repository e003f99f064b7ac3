// What is published on a log topic while a lease runs.

export interface LogLine {
  /** RFC 3339 with nanoseconds, as the runtime wrote it; "" = not known. */
  readonly time: string;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  /** The runtime cut the line here: the next one of its stream goes on with it. */
  readonly partial?: true;
}

export interface LogBatch {
  /** Of the command that took the lease. */
  readonly id: string;
  /** From 0, in the order of publishing. */
  readonly seq: number;
  readonly lines: readonly LogLine[];
  /** Lines left out before these: too many at once, or the log was turned over. */
  readonly dropped?: number;
}

const LINE = /^(\S+) (stdout|stderr) ([PF])(?::\S*)?(?: |$)/;

/** One line of a container's log as the runtime writes it; undefined = it is none. */
export function parseLogLine(line: string): LogLine | undefined {
  const match = LINE.exec(line);
  if (match === null) return undefined;
  const [head, time = "", stream, tag] = match;
  return {
    time,
    stream: stream === "stderr" ? "stderr" : "stdout",
    text: line.slice(head.length),
    ...(tag === "P" ? { partial: true } : {}),
  };
}
