// What failed, out of the output of `bun test`: a log of thousands of lines is read from its end.

/** Lines of one failure: its end is what matters. */
export const MAX_LINES = 60;

/**
 * Each failure with what was said since the test before it ended: the file's heading, what the test said, the error
 * and the line `(fail) …`; an error between tests likewise. An output without either gives nothing.
 */
export function failures(output: string): readonly string[] {
  const found: string[] = [];
  let heading = "";
  let said: string[] = [];
  const tell = (): void => {
    found.push([heading, ...said.slice(-MAX_LINES)].filter((line) => line !== "").join("\n"));
    said = [];
  };
  let isBetween = false;
  for (const line of output.split("\n")) {
    if (/^\S+\.test\.ts:$/.test(line)) {
      heading = line;
      said = [];
      continue;
    }
    if (/^\((pass|skip|todo)\) /.test(line)) {
      said = [];
      continue;
    }
    said.push(line);
    if (line.startsWith("(fail) ")) tell();
    if (line.startsWith("# Unhandled error")) isBetween = true;
    if (isBetween && /^-+$/.test(line) && said.filter((one) => /^-+$/.test(one)).length === 2) {
      tell();
      isBetween = false;
    }
  }
  return found;
}
