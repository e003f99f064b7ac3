import { describe, expect, test } from "bun:test";

import type { JudgeContext } from "../../../../src/source/document/judge-document.ts";
import { decodeAccepted } from "../../../../src/source/document/decode-accepted.ts";
import type { SealKeys } from "../../../../src/source/document/sealed.ts";
import type { UnsealedContent } from "../../../../src/protocol/sealed-secret.ts";
import { aSigner, signed, type Signer } from "../../../fakes/a-signer.ts";
import { verifyEd25519 } from "../../../../src/host/crypto/ed25519.ts";
import { sha256 } from "../../api/digest.ts";
import {
  ADDRESS,
  aWrittenPod,
  bytes,
  CONTEXT,
  judge,
  storedFrom,
  written,
} from "../desired-arrival.ts";

const root: Signer = aSigner();
const TRUST: JudgeContext["trust"] = {
  keyring: { required: true, roots: [{ id: root.id, pub: root.pub }], bundleVersion: 0 },
  verify: verifyEd25519,
};
const SECRET = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "db" },
  stringData: { password: "correct horse" },
};

/** Opens everything to what `content` gives, and notes the labels. */
function keysThat(content: unknown, labels: string[] = []): SealKeys {
  const opened: UnsealedContent =
    typeof content === "string"
      ? { type: content === "OtherKeys" ? "OtherKeys" : "Damaged" }
      : { type: "Opened", plain: bytes(JSON.stringify(content)) };
  return {
    unseal: (_, label) => {
      labels.push(label);
      return opened;
    },
    signOpened: () => new Uint8Array(),
    view: () => ({ sealKey: "00112233aabbccdd" }),
  };
}

const SEALED = {
  apiVersion: "agent/v1",
  kind: "SealedSecret",
  metadata: { name: "db" },
  spec: { content: "YWJj", keys: [{ keyid: "0123456789abcdef", wrapped: "YWJj" }] },
};

interface Case {
  readonly keys?: SealKeys | undefined;
  readonly sealed?: readonly unknown[];
  readonly unsigned?: boolean;
  readonly fields?: object;
}

function answer({ keys, sealed = [SEALED], unsigned = false, fields = {} }: Case) {
  const text = written({ sealed, ...fields });
  const context = { ...CONTEXT, ...(unsigned ? {} : { trust: TRUST }), keys };
  return judge(unsigned ? text : signed("desired", text, root), { context });
}

describe("a document with sealed Secrets", () => {
  test("is accepted with what they hold, bound to document and name", () => {
    const labels: string[] = [];
    const verdict = answer({ keys: keysThat(SECRET, labels) });
    if (verdict.type !== "Accepted") throw new Error(JSON.stringify(verdict));
    expect(verdict.document.opened).toEqual(["default/db"]);
    expect(verdict.document.objects.map(({ object }) => object.metadata.name)).toEqual(["db"]);
    expect(labels).toEqual(["agent/v1 SealedSecret\nnode/pi-1\ndefault/db"]);
    expect(verdict.accepted.holdsSecrets).toBe(true);
    expect(new TextDecoder().decode(verdict.accepted.payload)).not.toContain("correct horse");
  });

  test("may hold nothing else", () => {
    expect(answer({ keys: keysThat(SECRET), fields: { resources: [] } }).type).toBe("Accepted");
  });

  test.each<[string, Case, number, RegExp]>([
    ["unsigned", { keys: keysThat(SECRET), unsigned: true }, 401, /^sealed: an unsigned document/],
    ["on a node without keys", {}, 412, /^sealed: this agent has no keys/],
    [
      "sealed to other nodes",
      { keys: keysThat("OtherKeys") },
      412,
      /^Secret default\/db: sealed\[0\]: is sealed to other keys than this node's 00112233aabbccdd; seal it again/,
    ],
    ["changed on the way", { keys: keysThat("Damaged") }, 400, /cannot be opened: it is damaged/],
    [
      "with another Secret inside",
      { keys: keysThat({ ...SECRET, metadata: { name: "other" } }) },
      400,
      /holds something else than the Secret that it names/,
    ],
    [
      "with another kind inside",
      { keys: keysThat(aWrittenPod("db")) },
      400,
      /holds something else than the Secret that it names/,
    ],
    [
      "with an invalid Secret inside",
      { keys: keysThat({ ...SECRET, data: { "a b": "YQ==" } }) },
      400,
      /Secret default\/db/,
    ],
    [
      "with the same Secret in the clear",
      { keys: keysThat(SECRET), fields: { resources: [SECRET] } },
      400,
      /Secret default\/db stands twice/,
    ],
    ["without content", { sealed: [{ ...SEALED, spec: {} }] }, 400, /sealed\[0\]\.spec\.content/],
    ["with too many", { sealed: Array.from({ length: 65 }, () => SEALED) }, 400, /at most 64/],
  ])("%s is refused", (_, one, code, message) => {
    const verdict = answer(one);
    expect(verdict).toMatchObject({ type: "Refused", code });
    expect(verdict.type === "Refused" && verdict.message).toMatch(message);
  });

  test("never shows in a refusal what it holds", () => {
    const verdict = answer({ keys: keysThat({ ...SECRET, immutable: "correct horse" }) });
    expect(verdict.type).toBe("Refused");
    expect(JSON.stringify(verdict)).not.toContain("correct horse");
  });
});

describe("the checkpoint of such a document", () => {
  const stored = storedFrom(written({ sealed: [SEALED] }), { signed: true });

  test("is opened again at a start", () => {
    const restored = decodeAccepted(stored, ADDRESS, { sha256, keys: keysThat(SECRET) });
    expect(restored.intact).toBe(true);
    expect(restored.document.opened).toEqual(["default/db"]);
  });

  test("that cannot be opened any more keeps its pods, and says so", () => {
    const restored = decodeAccepted(stored, ADDRESS, { sha256, keys: keysThat("OtherKeys") });
    expect(restored.intact).toBe(false);
    expect(restored.document.pods).toHaveLength(1);
    expect(restored.rejected).toMatchObject([{ kind: "Secret", name: "db", code: "OtherKeys" }]);
  });
});
