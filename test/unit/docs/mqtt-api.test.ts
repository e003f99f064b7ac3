import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { stringify } from "yaml";

import { bytesOfBase64 } from "../../../src/api/validation/base64.ts";
import { COMMAND_VERBS, LATER_VERBS } from "../../../src/command/verbs.ts";
import { decodeTrustBundle } from "../../../src/protocol/trust-bundle.ts";
import { keyIdOf, preAuthEncoding, readSignedEnvelope } from "../../../src/protocol/dsse.ts";
import { DOCUMENT_LIMITS } from "../../../src/api/yaml/text-limits.ts";
import { MAX_GROUPS, MAX_TOPIC_BYTES, parseTopic } from "../../../src/protocol/mqtt-topics.ts";
import { stateMessage } from "../../../src/protocol/reported-state.ts";
import type { Phase, RefusalCode, ResponsePhase } from "../../../src/protocol/status-codes.ts";
import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { readEnvelope } from "../../../src/source/document/decode.ts";
import { sha256 } from "../api/digest.ts";
import {
  COMMAND,
  EVENTS,
  LOG,
  POD_REPORT,
  REPORTED,
  RESPONSE,
  STATE,
  SUPERSEDED,
} from "./mqtt-examples.ts";
import {
  decodeCommand,
  DEFAULT_TTL_SECONDS,
  MAX_TTL_SECONDS,
} from "../../../src/command/judge-command.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const PAGE = readFileSync(join(ROOT, "docs/mqtt-api.md"), "utf8");

/** The block behind the heading. */
function example(heading: string): string {
  const at = Math.max(...["##", "###"].map((mark) => PAGE.indexOf(`\n${mark} ${heading}\n`)));
  const block = /```(?:json|yaml)\n([^]*?)```/.exec(at < 0 ? "" : PAGE.slice(at))?.[1];
  if (block === undefined) throw new Error(`no example under "${heading}"`);
  return block;
}

const json = (heading: string): unknown => JSON.parse(example(heading));
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test.each<[string, unknown]>([
  ["Report", REPORTED],
  ["Superseded", SUPERSEDED],
  ["Pod", POD_REPORT],
  ["Events", EVENTS],
  ["Response", RESPONSE],
  ["Log", LOG],
])("%s: the example conforms to its type", (heading, expected) => {
  expect(json(heading)).toEqual(expected);
});

test("State: the example is what a node writes", () => {
  const { state, incarnation, session, time, bootID, agent } = STATE;
  const now = Date.parse(time);
  const facts = { incarnation, session, now, bootID, agent };
  const written: unknown = JSON.parse(new TextDecoder().decode(stateMessage(state, facts)));
  expect(json("State")).toEqual(written);
});

test("Desired state: the example is accepted as it stands", () => {
  const read = readEnvelope(bytes(example("Desired state")));
  expect(read.type).toBe("Envelope");
  if (read.type !== "Envelope") return;
  expect([read.envelope.ignored, read.envelope.unsupported]).toEqual([[], []]);
});

test("Groups: the example is accepted as it stands", () => {
  const read = readEnvelope(bytes(example("Groups")));
  if (read.type !== "Envelope") throw new Error(read.type);
  const { groups, labels, requires, ignored, unsupported } = read.envelope;
  expect([ignored, unsupported]).toEqual([[], []]);
  expect({ groups, labels }).toEqual({
    groups: [{ name: "kiosks", priority: 10 }],
    labels: { site: "berlin" },
  });
  expect(requires.documents).toEqual({ "group/kiosks": 3 });
});

test("Signature: the example was made with the key that stands there", () => {
  const read = readSignedEnvelope(json("Signature"));
  if (!read.ok) throw new Error(stringify(read.errors));
  const key = bytesOfBase64(/public key `([^`]+)`/.exec(PAGE)?.[1] ?? "") ?? new Uint8Array();
  const { payload, payloadType, signatures } = read.value;
  const [signature] = signatures;
  expect(signature?.keyid).toBe(keyIdOf(key, sha256));
  const signed = preAuthEncoding(payloadType, payload);
  expect(verifyEd25519(key, signed, signature?.sig ?? new Uint8Array())).toBe(true);
  expect(readEnvelope(payload).type).toBe("Envelope");
});

test("Trust bundle: the example can be read", () => {
  const read = decodeTrustBundle(bytes(example("Trust bundle")));
  expect(read.ok ? read.value.keys.length : read.errors).toBe(2);
});

test("Command: the example can be read", () => {
  expect(json("Command")).toEqual(COMMAND);
  expect(decodeCommand(json("Command"))).toMatchObject({ type: "Command" });
});

test("every topic of the page is one", () => {
  const named = [...PAGE.matchAll(/`(agent\/v1\/[^`]+)`/g)].map((match) => match[1] ?? "");
  expect(named.length).toBeGreaterThan(12);
  for (const topic of named) {
    const filled = topic.replaceAll(/<sha256>/g, "0".repeat(64)).replaceAll(/<[a-z]+>/g, "x");
    expect([topic, parseTopic("agent/v1", filled) !== undefined]).toEqual([topic, true]);
  }
});

test("every test that the page names is there", () => {
  const named = [...PAGE.matchAll(/`(test\/[^`]+\.ts)`/g)].map((match) => match[1] ?? "");
  expect(named.length).toBeGreaterThan(8);
  for (const path of named) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
});

/** The cells of the first table behind the heading, row by row, without its head. */
function table(heading: string): readonly (readonly string[])[] {
  const at = Math.max(...["##", "###"].map((mark) => PAGE.indexOf(`\n${mark} ${heading}\n`)));
  const rows = /\n\|[^]*?\n\n/.exec(PAGE.slice(at))?.[0].trim().split("\n") ?? [];
  return rows
    .slice(2)
    .map((row) => row.split(" | ").map((cell) => cell.replaceAll(/^\| ?| ?\|$/g, "").trim()));
}

/** What stands in code in these cells. */
function coded(cells: readonly (string | undefined)[]): readonly string[] {
  return cells.flatMap((cell = "") => [...cell.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word));
}

test("Desired state: every field of the table is known, and none is missing", () => {
  const fields = table("Desired state").flatMap(([cell = ""]) =>
    coded([cell.replaceAll(/\.\w+/g, "")]),
  );
  const named = Object.fromEntries([...new Set(fields)].map((field) => [field, null]));
  const document = {
    ...named,
    apiVersion: "agent/v1",
    kind: "DesiredState",
    generation: 1,
    resources: [],
  };
  const read = readEnvelope(bytes(stringify({ ...document, unknown: 1 })));
  if (read.type !== "Envelope") throw new Error(read.type);
  const [ignored] = read.envelope.ignored;
  expect(read.envelope.ignored.map(({ path }) => path)).toEqual(["unknown"]);
  expect(ignored?.code).toBe("Ignored");
  const known = Object.keys(read.envelope).filter(
    (key) => !["unsupported", "ignored"].includes(key),
  );
  for (const field of known) expect([field, PAGE.includes(`\`${field}`)]).toEqual([field, true]);
});

test("Answers: every code of a refusal is in the table, and no other", () => {
  const codes = {
    400: 1,
    401: 1,
    403: 1,
    408: 1,
    409: 1,
    410: 1,
    412: 1,
    413: 1,
    417: 1,
    423: 1,
    500: 1,
    503: 1,
    507: 1,
  } satisfies Readonly<Record<RefusalCode, 1>>;
  const written = table("Answers").flatMap((row) => row.at(-1)?.match(/\b[45]\d\d\b/g) ?? []);
  expect([...new Set(written)].toSorted()).toEqual(Object.keys(codes).toSorted());
});

test("Rollout of an accepted document: every phase has its row", () => {
  const phases = {
    Received: 1,
    Rejected: 1,
    Held: 1,
    Downloading: 1,
    Applying: 1,
    Progressing: 1,
    Healthy: 1,
    Degraded: 1,
    RolledBack: 1,
    Superseded: 1,
  } satisfies Readonly<Record<Phase, 1>>;
  const written = coded(table("Rollout of an accepted document").map(([cell]) => cell));
  expect(written.toSorted()).toEqual(Object.keys(phases).toSorted());
});

test("Commands: every verb and every phase of an answer has its row", () => {
  const section = PAGE.slice(PAGE.indexOf("| verb | arguments"));
  const verbs = [...section.slice(0, section.indexOf("\n\n")).matchAll(/^\| (.*?) \|/gm)];
  const named = coded(verbs.slice(1).map(([, cell]) => cell?.split(" with ")[0]));
  expect([...new Set(named)].toSorted()).toEqual([...COMMAND_VERBS].toSorted());
  for (const verb of LATER_VERBS) expect(PAGE).toContain(`\`${verb}\``);
  const phases = {
    accepted: 1,
    running: 1,
    done: 1,
    failed: 1,
    expired: 1,
    denied: 1,
    duplicate: 1,
  } satisfies Readonly<Record<ResponsePhase, 1>>;
  const written = coded(table("Response").map(([cell]) => cell));
  expect(written.toSorted()).toEqual(Object.keys(phases).toSorted());
});

test("the limits of the page are those of the code", () => {
  expect(PAGE).toContain(`at most ${DOCUMENT_LIMITS.bytes / 1024} KiB as published`);
  expect(PAGE).toContain(
    `${DOCUMENT_LIMITS.nodes.toLocaleString("en")} keys, values and list items`,
  );
  expect(PAGE).toContain(`of its own document, at most ${MAX_GROUPS};`);
  expect(PAGE).toContain(`8 levels and ${MAX_TOPIC_BYTES} bytes`);
  expect(PAGE).toContain(
    `seconds (${DEFAULT_TTL_SECONDS}; at most ${MAX_TTL_SECONDS.toLocaleString("en")})`,
  );
});
