import { describe, expect, test } from "bun:test";
import { readLogOptions } from "../../../../src/server/logs/log-options.ts";

const NONE = {
  container: undefined,
  isFollowing: false,
  isPrevious: false,
  withTimestamps: false,
  since: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stream: undefined,
};

describe("the query of a log", () => {
  test.each([
    ["", NONE],
    [
      "container=web&follow=true&previous=true&timestamps=true",
      {
        ...NONE,
        container: "web",
        isFollowing: true,
        isPrevious: true,
        withTimestamps: true,
      },
    ],
    [
      "tailLines=0&limitBytes=5&stream=Stderr",
      { ...NONE, tailLines: 0, limitBytes: 5, stream: "stderr" as const },
    ],
    ["sinceSeconds=10", { ...NONE, since: 90_000 }],
    ["sinceTime=1970-01-01T00:00:07Z&stream=All", { ...NONE, since: 7_000 }],
  ])("%j", (query, expected) => {
    const read = readLogOptions(new URLSearchParams(query), 100_000);
    expect(read.ok ? read.value : read.errors).toEqual(expected);
  });

  test.each([
    ["tailLines=-1", 'tailLines must be a whole number, 0 or more, not "-1"'],
    ["limitBytes=0", 'limitBytes must be a whole number, 1 or more, not "0"'],
    ["sinceTime=yesterday", "sinceTime must be a time such as 2026-11-21T08:00:00Z"],
    [
      "sinceSeconds=1&sinceTime=1970-01-01T00:00:07Z",
      "only one of sinceTime and sinceSeconds may be given",
    ],
    ["stream=stdin", "stream must be All, Stdout or Stderr"],
  ])("%j is refused: %s", (query, message) => {
    const read = readLogOptions(new URLSearchParams(query), 0);
    expect(read.ok ? [] : read.errors.map((error) => error.message)).toEqual([message]);
  });
});
