// Every manifest of test/fixtures: the valid ones say only what stands beside them as warnings, the invalid ones say exactly what stands beside them as errors.

import { describe, expect, test } from "bun:test";

import { decodeText, decodedText, filesIn, findingLines, fixturesIn } from "./fixture-files.ts";

describe("valid manifests", () => {
  test.each(fixturesIn("valid").map((fixture) => [fixture.file, fixture] as const))(
    "%s",
    (_file, fixture) => {
      const manifest = decodeText(fixture);
      const { pods, objects, runs, errors, ignoredKinds, notices } = manifest;
      expect(findingLines(errors)).toBe("");
      expect(findingLines([...ignoredKinds, ...notices])).toBe(fixture.beside("warnings") ?? "");
      expect(pods.length + objects.length + runs.length + ignoredKinds.length).toBeGreaterThan(0);
    },
  );

  const decoded = fixturesIn("valid").filter(({ beside }) => beside("decoded.json") !== undefined);
  test.each(decoded.map((fixture) => [fixture.file, fixture] as const))(
    "%s means what stands beside it",
    (_file, fixture) => {
      const decoded: unknown = JSON.parse(decodedText(decodeText(fixture)));
      const expected: unknown = JSON.parse(fixture.beside("decoded.json") ?? "");
      expect(decoded).toEqual(expected);
    },
  );
});

describe("invalid manifests", () => {
  test.each(fixturesIn("invalid").map((fixture) => [fixture.file, fixture] as const))(
    "%s",
    (_file, fixture) => {
      const { errors, ignoredKinds, notices } = decodeText(fixture);
      const said = findingLines([...errors, ...ignoredKinds, ...notices]);
      expect(said).toBe(fixture.beside("errors") ?? "");
      expect(said).not.toBe("");
    },
  );
});

test("every expectation has its manifest", () => {
  for (const directory of ["valid", "invalid"] as const) {
    const stems = new Set(fixturesIn(directory).map(({ file }) => file.replace(/\.[a-z]+$/, "")));
    const alone = filesIn(directory).filter(
      (file) => !stems.has(file.replace(/(\.decoded)?\.[a-z]+$/, "")),
    );
    expect(alone).toEqual([]);
  }
});
