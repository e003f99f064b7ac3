// The bounds of what a card may bring: beyond them a file is refused and named, and the rest is taken over.

import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { FILE_LIMITS } from "../../../src/api/yaml/text-limits.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { readMark, MARK_FILE } from "../../../src/provision/mark.ts";
import {
  MAX_CARD_BYTES,
  MAX_CARD_ENTRIES,
  readCard,
  type CardRefusal,
} from "../../../src/provision/read-card.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { CardStage, POD } from "./card-stage.ts";

const directory = temporaryDirectories();

function told(refused: readonly CardRefusal[]): string {
  return refused.map(({ name, message }) => `${name} ${message}`).join("\n");
}

test("of more entries than the limit only the first count", () => {
  const path = directory();
  mkdirSync(join(path, "manifests"));
  for (let number = 0; number <= MAX_CARD_ENTRIES; number += 1)
    writeFileSync(join(path, "manifests", `${number}.yaml`), "{}");
  const card = readCard(realFiles(), path);
  expect(card.files.length).toBe(MAX_CARD_ENTRIES);
  expect(told(card.refused)).toMatch(
    /^manifests has 1,001 entries, of which only the first 1,000 count$/,
  );
});

test("one file, and all files together, have a limit", () => {
  const path = directory();
  mkdirSync(join(path, "manifests"));
  const put = (name: string, bytes: number): void =>
    writeFileSync(join(path, "manifests", name), Buffer.alloc(bytes));
  for (const name of ["a", "b", "c", "d"]) put(`${name}.yaml`, MAX_CARD_BYTES / 4);
  put("e.yaml", 1);
  put("f.yaml", FILE_LIMITS.bytes + 1);
  const card = readCard(realFiles(), path);
  expect(card.files.length).toBe(4);
  expect(told(card.refused)).toMatch(
    /^manifests\/e\.yaml is beyond the 16,777,216 bytes [^]*\nmanifests\/f\.yaml has 4,194,305 bytes, at most 4,194,304$/,
  );
});

test("what is no regular file is not read", () => {
  const path = directory();
  symlinkSync("/etc/passwd", join(path, "mqtt-password"));
  mkdirSync(join(path, "agent.yaml"));
  expect(readCard(realFiles(), path)).toMatchObject({
    files: [],
    refused: [{ name: "mqtt-password", message: "is no regular file" }],
    unknown: ["agent.yaml/"],
  });
});

test("a key or certificate has a limit of its own", () => {
  const stage = new CardStage(directory());
  stage.insert({ "tls/ca.crt": "x".repeat(65_537), "manifests/web.yaml": POD("web") });
  const report = stage.start();
  expect(told(report?.refused ?? [])).toBe("tls/ca.crt is too large for what it is");
  expect(Object.keys(stage.onNode())).toEqual(["manifests/web.yaml"]);
});

test("a mark of the longest take-over is read again, a longer one is refused", () => {
  const stage = new CardStage(directory());
  const tree = Object.fromEntries(
    Array.from({ length: MAX_CARD_ENTRIES }, (_, number) => [
      `manifests/${String(number).padStart(200, "n")}.yaml`,
      POD(`pod-${number}`),
    ]),
  );
  stage.insert(tree);
  expect(stage.start()?.taken.length).toBe(MAX_CARD_ENTRIES);
  const path = join(stage.config.stateDir, MARK_FILE);
  expect(readMark(realFiles().read(path, 2 * FILE_LIMITS.bytes))?.files.size).toBe(
    MAX_CARD_ENTRIES,
  );
  expect(stage.start()).toMatchObject({ taken: [], failure: undefined });
  writeFileSync(path, " ".repeat(2 * FILE_LIMITS.bytes + 1));
  expect(stage.start()?.failure).toMatch(/larger than 8388608 bytes/);
}, 60_000);
