import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { stringify } from "yaml";

import { bytesOfBase64 } from "../../../src/api/validation/base64.ts";
import { decodeCommand } from "../../../src/protocol/decode-command.ts";
import { decodeTrustBundle } from "../../../src/protocol/decode-trust-bundle.ts";
import { keyIdOf, preAuthEncoding, readSignedEnvelope } from "../../../src/protocol/dsse.ts";
import { parseTopic } from "../../../src/protocol/mqtt-topics.ts";
import { verifyEd25519 } from "../../../src/host/ed25519.ts";
import { readEnvelope } from "../../../src/source/document/decode.ts";
import { stateMessage } from "../../../src/protocol/state-message.ts";
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
])("%s: the example is what its type says", (heading, expected) => {
  expect(json(heading)).toEqual(expected);
});

test("State: the example is what a node writes", () => {
  const { state, incarnation, session, time, bootID, agent } = STATE;
  const now = Date.parse(time);
  const facts = { incarnation, session, now, about: { bootID, agent } };
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
