// Whether a document was signed outlives the database; a reset of its version does not outlive the next document.

import { totalChanges } from "../../fakes/in-the-store.ts";
import { beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { AcceptedDocument } from "../../../src/protocol/desired-document.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
let stateDir: string;

beforeEach(() => {
  stateDir = newDirectory();
});

function aDocument(generation: number, fields: Partial<AcceptedDocument> = {}): AcceptedDocument {
  const payload = new TextEncoder().encode(`payload ${generation}`);
  return {
    source: "mqtt:node",
    epoch: "e",
    generation,
    digest: `sha256:${sha256(payload)}`,
    payload,
    observedGeneration: 0,
    acceptedAt: 5,
    ...fields,
  };
}

function accept(document: AcceptedDocument): void {
  using store = openStore(stateDir);
  store.documents.accept(document);
}

function forget(): void {
  using store = openStore(stateDir);
  store.documents.forgetVersion("mqtt:node");
}

function found(): AcceptedDocument | undefined {
  using store = openStore(stateDir);
  return store.documents.get("mqtt:node");
}

function loseDatabase(): void {
  for (const suffix of ["", "-wal", "-shm"])
    rmSync(join(stateDir, `agent.db${suffix}`), { force: true });
}

test("a signed document stays signed over a restart and a lost database", () => {
  const document = aDocument(1, { signed: true });
  accept(document);
  expect(found()).toEqual(document);
  loseDatabase();
  expect(found()).toEqual(document);
});

test("one that holds Secrets too", () => {
  const document = aDocument(1, { signed: true, holdsSecrets: true });
  accept(document);
  loseDatabase();
  expect(found()).toEqual(document);
});

test("an unsigned document after a signed one is not signed", () => {
  accept(aDocument(1, { signed: true }));
  accept(aDocument(2));
  expect(found()).toEqual(aDocument(2));
  loseDatabase();
  expect(found()).toEqual(aDocument(2));
});

test("the same document is written again when it comes signed, and only then", () => {
  accept(aDocument(1));
  accept(aDocument(1, { signed: true }));
  loseDatabase();
  expect(found()).toEqual(aDocument(1, { signed: true }));
  using store = openStore(stateDir);
  const before = totalChanges(store.database);
  store.documents.accept(aDocument(1, { signed: true }));
  expect(totalChanges(store.database)).toBe(before);
});

test("a document that an older agent wrote over a signed one is not signed", () => {
  accept(aDocument(1, { signed: true }));
  using store = openStore(stateDir);
  const update = "UPDATE document SET generation = 2, digest = ? WHERE source = ?";
  store.database.query<[string, string]>(update).run("sha256:2", "mqtt:node");
  expect(store.documents.get("mqtt:node")?.signed).toBeUndefined();
});

test("a forgotten version is forgotten over a restart, until a document comes", () => {
  const document = aDocument(7);
  accept(document);
  forget();
  expect(found()).toEqual({ ...document, versionForgotten: true });
  accept(aDocument(1));
  expect(found()).toEqual(aDocument(1));
});

test("the very same document brings its version back", () => {
  accept(aDocument(7));
  forget();
  accept(aDocument(7));
  expect(found()).toEqual(aDocument(7));
});

test("where there is no document there is nothing to forget", () => {
  forget();
  expect(found()).toBeUndefined();
  accept(aDocument(1));
  expect(found()).toEqual(aDocument(1));
});
