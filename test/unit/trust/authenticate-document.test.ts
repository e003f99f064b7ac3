// The answers that depend on a signature, with real keys (docs/mqtt-api.md, Answers).

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { AcceptedDocument, DocumentAddress } from "../../../src/protocol/desired-document.ts";
import { writeSignedEnvelope, type SignedKind } from "../../../src/protocol/dsse.ts";
import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import type { JudgeContext, Verdict } from "../../../src/source/document/judge-document.ts";
import { keyringOf, type Keyring } from "../../../src/trust/keyring.ts";
import { aBundle, aSigner, anEnvelope, signed, type Signer } from "../../fakes/a-signer.ts";
import { sha256 } from "../api/digest.ts";
import {
  ADDRESS,
  CONTEXT,
  aWrittenPod,
  bytes,
  judge,
  storedFrom,
  written,
} from "../source/desired-arrival.ts";
import type { TrustRecord } from "../../../src/protocol/trust-bundle.ts";

const root = aSigner();
const deploy = aSigner();
const stranger = aSigner();

/** The keys in force on a node with this root key, and perhaps this bundle. */
function keyring(bundle?: Readonly<Record<string, unknown>>, required = true): Keyring {
  const text = signed("trust", aBundle({ root: [root.text], ...bundle }), root);
  const record: TrustRecord = {
    required,
    ...(bundle === undefined ? {} : { bundle: { version: 1, envelope: bytes(text) } }),
  };
  const found = { keys: [root.pub], problems: [] };
  return keyringOf({ record, found, trustPath: "/trust.d", sha256 });
}

const ROOTS = keyring();
const scoped = (scope: Readonly<Record<string, unknown>>): Keyring =>
  keyring({ keys: [{ pub: deploy.text, roles: ["desired"], ...scope }] });
const BUNDLE = scoped({});

interface Case {
  readonly message: string;
  readonly keys?: Keyring;
  readonly stored?: AcceptedDocument | undefined;
  readonly address?: DocumentAddress;
  readonly context?: Partial<JudgeContext>;
}

function answer({ message, keys = ROOTS, stored, address = ADDRESS, context }: Case): Verdict {
  const trust = { keyring: keys, verify: verifyEd25519 };
  return judge(message, { stored, address, context: { ...CONTEXT, trust, ...context } });
}

const by = (
  signer: Signer | readonly Signer[],
  changes = {},
  kind: SignedKind = "desired",
): string => signed(kind, written(changes), ...[signer].flat());

const KIOSKS: DocumentAddress = {
  source: "mqtt:group/kiosks",
  ref: "agent/v1/group/kiosks/desired",
  node: "pi-1",
};
const RUNNING = storedFrom(written({ epoch: "e1" }), { epoch: "e1", signed: true });

function tampered(): string {
  const envelope = anEnvelope("desired", written(), [root]);
  return writeSignedEnvelope({ ...envelope, payload: bytes(written({ generation: 8 })) });
}
function retyped(): string {
  const envelope = anEnvelope("rollout", written(), [root]);
  const { payloadType } = anEnvelope("desired", "", []);
  return writeSignedEnvelope({ ...envelope, payloadType });
}
function renamed(): string {
  const envelope = anEnvelope("desired", written(), [stranger]);
  const signatures = envelope.signatures.map((one) => ({ ...one, keyid: root.id }));
  return writeSignedEnvelope({ ...envelope, signatures });
}

const accepted: Readonly<Record<string, Case>> = {
  "a root key's, while there is no bundle": { message: by(root) },
  "a key of the bundle": { message: by(deploy), keys: BUNDLE },
  "two signatures, of which one counts": { message: by([stranger, root]) },
  "a node inside the scope": {
    message: by(deploy),
    keys: scoped({ nodes: ["cam-*", "pi-*"], groups: [] }),
  },
  "a group inside the scope": {
    message: by(deploy, { target: { group: "kiosks" } }),
    keys: scoped({ nodes: [], groups: ["kiosks"] }),
    address: KIOSKS,
  },
  "a second entry of the same key that allows it": {
    message: by(deploy),
    keys: keyring({
      keys: [
        { pub: deploy.text, roles: ["command"] },
        { pub: deploy.text, roles: ["desired"], nodes: ["pi-1"] },
      ],
    }),
  },
  "a document issued at notBefore": {
    message: by(deploy, { issuedAt: "2026-11-21T07:00:00Z" }),
    keys: keyring({
      notBefore: "2026-11-21T07:00:00Z",
      keys: [{ pub: deploy.text, roles: ["desired"] }],
    }),
  },
  "another epoch that names its predecessor, by a root key": {
    message: by(root, { epoch: "e2", previousEpoch: "e1", generation: 1 }),
    stored: RUNNING,
  },
  "the same by a key of the bundle and a root key": {
    message: by([deploy, root], { epoch: "e2", previousEpoch: "e1", generation: 1 }),
    keys: BUNDLE,
    stored: RUNNING,
  },
  "the fleet's own": {
    message: by(root, { target: { node: "pi-1", fleet: "berlin" } }),
    context: { fleet: "berlin" },
  },
  "any fleet's, while the node knows of none": {
    message: by(root, { target: { node: "pi-1", fleet: "berlin" } }),
  },
  "a signature where none is required": { message: by(root), keys: keyring(undefined, false) },
};

const NEXT = `signed document must name whom it is for`;

const refused: Readonly<Record<string, readonly [given: Case, code: number, said: string]>> = {
  "a plain document": [{ message: written() }, 401, "the document is not signed"],
  "an unknown key": [{ message: by(stranger) }, 401, `unknown key ${stranger.id}`],
  "a removed key": [
    {
      message: by(deploy),
      keys: keyring({ version: 2, keys: [{ pub: stranger.text, roles: ["desired"] }] }),
    },
    401,
    `unknown key ${deploy.id}`,
  ],
  "a tampered payload": [
    { message: tampered() },
    401,
    `the signature of key ${root.id} does not match`,
  ],
  "a signature over another type": [{ message: retyped() }, 401, `the signature of key ${root.id}`],
  "an unknown key under a known name": [
    { message: renamed() },
    401,
    `the signature of key ${root.id}`,
  ],
  "a message of another type": [
    { message: by(root, {}, "command") },
    401,
    'the payload type is "application/vnd.agent.command.v1+json"',
  ],
  "a root key once there is a bundle": [
    { message: by(root), keys: BUNDLE },
    401,
    `key ${root.id} is a root key`,
  ],
  "a key without the role": [
    { message: by(deploy), keys: scoped({ roles: ["command", "rollout"] }) },
    401,
    `key ${deploy.id} has the role command, rollout, not desired`,
  ],
  "a key for other nodes": [
    { message: by(deploy), keys: scoped({ nodes: ["cam-*", "pi-11"] }) },
    401,
    `key ${deploy.id} may not sign for node pi-1`,
  ],
  "a key for other groups": [
    {
      message: by(deploy, { target: { group: "kiosks" } }),
      keys: scoped({ groups: ["kiosk", "doors"] }),
      address: KIOSKS,
    },
    401,
    `key ${deploy.id} may not sign for group kiosks`,
  ],
  "a key of some groups on a node's topic": [
    { message: by(deploy), keys: scoped({ groups: ["kiosks"] }) },
    401,
    `key ${deploy.id} may not sign for node pi-1`,
  ],
  "a key of this node on a group's topic": [
    {
      message: by(deploy, { target: { group: "kiosks" } }),
      keys: scoped({ nodes: ["pi-1"] }),
      address: KIOSKS,
    },
    401,
    `key ${deploy.id} may not sign for group kiosks`,
  ],
  "an envelope without signatures": [
    { message: writeSignedEnvelope(anEnvelope("desired", written(), [])) },
    401,
    "the signed envelope cannot be read: signatures",
  ],
  "an envelope in an envelope": [
    { message: signed("desired", by(root), root) },
    400,
    "holds a signed envelope",
  ],
  "rubbish, well signed": [{ message: signed("desired", "{", root) }, 400, ""],
  "nothing, well signed": [{ message: signed("desired", "", root) }, 417, "an empty payload"],
  "a signed document without target": [
    { message: by(root, { target: undefined }) },
    403,
    `target: a ${NEXT}`,
  ],
  "one with a fleet only": [
    { message: by(root, { target: { fleet: "berlin" } }) },
    403,
    `target: a ${NEXT}`,
  ],
  "another node's document": [
    { message: by(root, { target: { node: "pi-2" } }) },
    403,
    'target.node: is for "pi-2"',
  ],
  "another fleet's document": [
    {
      message: by(root, { target: { node: "pi-1", fleet: "berlin" } }),
      context: { fleet: "paris" },
    },
    403,
    'target.fleet: is for "berlin"',
  ],
  "a group's document on the node's topic": [
    { message: by(root, { target: { group: "kiosks" } }) },
    403,
    "target.group",
  ],
  "a replayed older document": [
    { message: by(root, { epoch: "e1", generation: 6 }), stored: RUNNING },
    410,
    "generation 6 is older",
  ],
  "other content of the same generation": [
    { message: by(root, { epoch: "e1", resources: [aWrittenPod("other")] }), stored: RUNNING },
    409,
    "generation 7 was accepted with other content",
  ],
  "a document of before notBefore": [
    {
      message: by(deploy, { issuedAt: "2026-11-21T06:59:59Z" }),
      keys: keyring({
        notBefore: "2026-11-21T07:00:00Z",
        keys: [{ pub: deploy.text, roles: ["desired"] }],
      }),
    },
    410,
    "the document was issued at 2026-11-21T06:59:59.000Z",
  ],
  "a document without date while notBefore is set": [
    {
      message: by(deploy),
      keys: keyring({
        notBefore: "2026-11-21T07:00:00Z",
        keys: [{ pub: deploy.text, roles: ["desired"] }],
      }),
    },
    410,
    "the document has no issuedAt",
  ],
  "another epoch": [
    { message: by(root, { epoch: "e2", generation: 9 }), stored: RUNNING },
    409,
    "EpochConflict",
  ],
  "another epoch that names its predecessor, by a key of the bundle alone": [
    {
      message: by(deploy, { epoch: "e2", previousEpoch: "e1", generation: 9 }),
      keys: BUNDLE,
      stored: RUNNING,
    },
    409,
    "EpochConflict",
  ],
  "a bundle that names no key": [
    { message: by(root), keys: keyring({ keys: [] }) },
    401,
    "NoTrustedKey: no signature can be verified: the accepted TrustBundle of version 1 names no key",
  ],
};

describe("a signed document", () => {
  test.each(Object.entries(accepted))("counts: %s", (_sentence, given) => {
    const verdict = answer(given);
    expect(verdict).toMatchObject({
      type: "Accepted",
      document: { signed: true, pods: [{ signed: true }] },
      accepted: { signed: true },
    });
  });

  test.each(Object.entries(refused))("does not count: %s", (_sentence, [given, code, said]) => {
    const verdict = answer(given);
    expect(verdict).toMatchObject({ type: "Refused", code });
    if (verdict.type === "Refused") expect(verdict.message).toStartWith(said);
  });

  test("is kept as its inner payload, under that one's digest", () => {
    const payload = bytes(written());
    const digest = `sha256:${sha256(payload)}`;
    expect(answer({ message: by(root) })).toMatchObject({
      document: { digest },
      accepted: { digest, payload, signed: true },
    });
    expect(answer({ message: tampered() })).toMatchObject({
      digest: `sha256:${sha256(written({ generation: 8 }))}`,
    });
  });

  test("is warned of images with mutable tags", () => {
    const pods = [
      aWrittenPod("web", {
        containers: [
          { name: "a", image: `app@sha256:${"0".repeat(64)}` },
          { name: "b", image: "app:1" },
        ],
      }),
    ];
    expect(answer({ message: by(root, { resources: pods }) })).toMatchObject({
      notices: [
        { kind: "Pod", name: "web", code: "UnpinnedImage", path: "spec.containers[1].image" },
      ],
    });
    const context = { podRules: { ...CONTEXT.podRules, requireDigest: true } };
    expect(answer({ message: by(root, { resources: pods }), context })).toMatchObject({
      code: 403,
    });
  });

  test("may ask for more than a plain one", () => {
    const resources = [aWrittenPod("web", { hostNetwork: true })];
    expect(answer({ message: by(root, { resources }) })).toMatchObject({ type: "Accepted" });
    const keys = keyring(undefined, false);
    expect(answer({ message: written({ resources }), keys })).toMatchObject({ code: 403 });
  });
});

describe("the accepted document once more", () => {
  const stored = storedFrom(written(), { signed: true });

  test("changes nothing, though its key was revoked and its date is too old", () => {
    const keys = keyring({
      notBefore: "2026-11-21T07:00:00Z",
      keys: [{ pub: stranger.text, roles: ["desired"] }],
    });
    expect(answer({ message: by(deploy), keys, stored })).toEqual({ type: "Unchanged" });
  });

  test("is verified again when what was kept is lost", () => {
    const lost = { ...stored, lost: "no key" };
    expect(answer({ message: by(stranger), stored: lost })).toMatchObject({ code: 401 });
    expect(answer({ message: by(root), stored: lost })).toMatchObject({ type: "Accepted" });
  });

  test("counts as signed from then on if it ran unsigned", () => {
    const plain = storedFrom(written(), { observedGeneration: 7 });
    expect(answer({ message: by(root), stored: plain })).toMatchObject({
      type: "Accepted",
      accepted: { signed: true, observedGeneration: 7 },
    });
    expect(answer({ message: by(stranger), stored: plain })).toMatchObject({ code: 401 });
  });

  test("stays signed when it arrives unsigned where signatures are not required", () => {
    const keys = keyring(undefined, false);
    expect(answer({ message: written(), keys, stored })).toEqual({ type: "Unchanged" });
  });
});

describe("without a usable key", () => {
  const keysOf = (problems: readonly string[]): Keyring =>
    keyringOf({
      record: { required: true },
      found: { keys: [], problems },
      trustPath: "/trust.d",
      sha256,
    });

  test.each([
    ["a signed document", by(root)],
    ["a plain one", written()],
    ["the accepted one", by(root)],
    ["a broken envelope", '{"payloadType": 1, "payload": 2}'],
  ])("%s is refused, with path and remedy", (_sentence, message) => {
    const stored = storedFrom(written(), { signed: true });
    expect(answer({ message, keys: keysOf(["x.pub is no key"]), stored })).toMatchObject({
      code: 401,
      message:
        'NoTrustedKey: no signature can be verified: there is no usable root key in /trust.d (x.pub is no key); put one there as *.pub, or run "agent trust reset" on the node',
    });
  });

  test("a bundle that cannot be read does not bring the old roots back", () => {
    const record = { required: true, bundle: { version: 4, envelope: bytes("{}") } };
    const found = { keys: [root.pub], problems: [] };
    const keys = keyringOf({ record, found, trustPath: "/trust.d", sha256 });
    expect(answer({ message: by(root), keys })).toMatchObject({
      code: 401,
      message:
        'NoTrustedKey: no signature can be verified: the accepted TrustBundle of version 4 cannot be read; update the agent, or run "agent trust reset" on the node',
    });
  });
});

describe("whatever comes", () => {
  test("well signed rubbish is refused, and nothing throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(answer({ message: signed("desired", text, root) }).type).toBe("Refused");
      }),
      { numRuns: 50 },
    );
    for (const text of ["[".repeat(30_000), '{"a":'.repeat(5_000)])
      expect(answer({ message: signed("desired", text, root) })).toMatchObject({ code: 400 });
  });

  test("no byte of a signed message can be changed unnoticed", () => {
    const message = by(root);
    fc.assert(
      fc.property(fc.nat(message.length - 1), fc.nat(127), (at, code) => {
        const other = String.fromCharCode(code);
        const changed = message.slice(0, at) + other + message.slice(at + 1);
        const verdict = answer({ message: changed });
        // A letter may say the same as another: then what is inside is what was signed.
        if (verdict.type === "Accepted") expect(verdict.accepted.payload).toEqual(bytes(written()));
        else expect(verdict).toMatchObject({ type: "Refused", code: 401 });
      }),
      { numRuns: 300 },
    );
  });
});
