import { beforeEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf, payloadTypeOf, writeSignedEnvelope } from "../../../src/protocol/dsse.ts";
import { trustView, type TrustView } from "../../../src/trust/trust-view.ts";
import { pemOfPublicKey } from "../../fakes/public-key-pem.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { readRootKeys } from "../../../src/host/root-keys.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { Trust } from "../../../src/trust/trust.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import type { TrustRecord } from "../../../src/protocol/trust-bundle.ts";

const newDirectory = temporaryDirectories();
const sha256 = (data: Uint8Array | string): string =>
  createHash("sha256").update(data).digest("hex");
const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const id = (byte: number): string => keyIdOf(key(byte), sha256);
const files = realFiles();

let trustPath: string;
let record: TrustRecord;
/** A TrustBundle that has come since. */
let arrived: Uint8Array | undefined;

beforeEach(() => {
  trustPath = join(newDirectory(), "trust.d");
  record = { required: false };
  arrived = undefined;
});

function put(name: string, text: string): string {
  mkdirSync(trustPath, { recursive: true, mode: 0o755 });
  const path = join(trustPath, name);
  writeFileSync(path, text);
  return path;
}

function entry(requireSignature = false): TrustView {
  const clock = new VirtualClock();
  using trust = new Trust({
    store: {
      read: () => record,
      write: (next) => {
        record = next;
      },
    },
    rootKeys: () => readRootKeys(files, trustPath),
    verify: () => false,
    sha256,
    clock,
    log: createLogger({ clock, level: "error", write: () => undefined }),
    node: "pi-1",
    trustPath,
    requireSignature,
    onConditions: () => undefined,
  });
  if (arrived !== undefined) trust.receive(arrived);
  return trustView({ files, sha256, config: { trustPath }, trust });
}

function bundle(version: number, fields: object): NonNullable<TrustRecord["bundle"]> {
  const payload = new TextEncoder().encode(JSON.stringify({ version, ...fields }));
  const signatures = [{ keyid: id(1), sig: new Uint8Array(64) }];
  const envelope = writeSignedEnvelope({
    payloadType: payloadTypeOf("trust"),
    payload,
    signatures,
  });
  return { version, envelope: new TextEncoder().encode(envelope) };
}

test("a node without keys accepts plain documents and has no problem", () => {
  expect(entry()).toEqual({
    required: false,
    why: `there has never been a key in ${trustPath}`,
    trustPath,
    rootKeys: [],
    problems: [],
  });
});

test("a key counts from the moment it is there", () => {
  const file = put("root.pub", pemOfPublicKey(key(1)));
  const bad = put("other.pub", "hello");
  const shown = entry();
  expect(shown).toMatchObject({ required: true, why: `there is a key in ${trustPath}` });
  expect(shown.rootKeys).toEqual([{ keyid: id(1), file, inForce: true }]);
  expect(shown.bundle).toBeUndefined();
  expect(shown.problems).toHaveLength(1);
  expect(shown.problems[0]).toStartWith(`${bad} is not a public Ed25519 key`);
});

test("keys that have gone are required all the same, and the way out is named", () => {
  record = { required: true };
  const shown = entry();
  expect(shown).toMatchObject({ required: true, rootKeys: [] });
  expect(shown.why).toContain("agent trust reset ends that");
  expect(shown.problems).toHaveLength(1);
  expect(shown.problems[0]).toContain(trustPath);
  expect(shown.problems[0]).toContain('"agent trust reset"');
});

test("a bundle shows its keys with their scopes, and which root keys it has replaced", () => {
  const kept = put("a.pub", pemOfPublicKey(key(1)));
  const replaced = put("b.pub", pemOfPublicKey(key(2)));
  const pub = (byte: number): string => key(byte).toBase64();
  record = {
    required: true,
    bundle: bundle(4, {
      notBefore: "2026-11-21T08:00:00Z",
      root: [pub(1), pub(3)],
      keys: [
        { pub: pub(5), roles: ["desired", "command"], nodes: ["pi-*"], groups: [] },
        { pub: pub(6), roles: ["rollout"] },
      ],
    }),
  };
  const shown = entry();
  expect(shown.rootKeys).toEqual([
    { keyid: id(1), file: kept, inForce: true },
    { keyid: id(3), inForce: true },
    { keyid: id(2), file: replaced, inForce: false },
  ]);
  expect(shown.bundle).toEqual({
    version: 4,
    notBefore: "2026-11-21T08:00:00Z",
    keys: [
      { keyid: id(5), roles: ["desired", "command"], nodes: ["pi-*"], groups: [] },
      { keyid: id(6), roles: ["rollout"] },
    ],
  });
  expect(shown.problems).toEqual([]);
});

test("a bundle that cannot be read leaves no key in force", () => {
  const file = put("a.pub", pemOfPublicKey(key(1)));
  record = { required: true, bundle: { version: 9, envelope: new TextEncoder().encode("?") } };
  const shown = entry();
  expect(shown.rootKeys).toEqual([{ keyid: id(1), file, inForce: false }]);
  expect(shown.bundle).toEqual({ version: 9, keys: [] });
  expect(shown.problems).toHaveLength(1);
});

test("a bundle that was refused is said", () => {
  put("a.pub", pemOfPublicKey(key(1)));
  arrived = new TextEncoder().encode("{}");
  const shown = entry();
  expect(shown.problems).toHaveLength(1);
  expect(shown.problems[0]).toStartWith("a TrustBundle was refused (401): ");
});
