// What is published on a log topic while a lease runs.

export interface LogLine {
  /** RFC 3339 with nanoseconds, as the runtime wrote it; "" = unknown. */
  readonly time: string;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  /** The runtime split the line here: the next line of its stream continues it. */
  readonly partial?: true;
}

export interface LogBatch {
  /** Id of the command that started the lease. */
  readonly id: string;
  /** From 0, in the order of publishing. */
  readonly seq: number;
  readonly lines: readonly LogLine[];
  /** Number of lines left out before these: too many at once, or the log was rotated. */
  readonly dropped?: number;
}

const LINE = /^(\S+) (stdout|stderr) ([PF])(?::\S*)?(?: |$)/;

/** One line of a container's log as the runtime writes it; undefined = the text has another format. */
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
