import { describe, expect, test } from "bun:test";

import type { DesiredObject } from "../../../src/api/v1/object/local-object.ts";
import { decodeAccepted } from "../../../src/source/document/decode-accepted.ts";
import { sha256 } from "../api/digest.ts";
import { ADDRESS, CONTEXT, aWrittenPod, judge, storedFrom, written } from "./desired-arrival.ts";

const VALUE = "correct-horse-battery-staple";

function config(name: string, value: string, more: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: value }, ...more };
}

function secret(name: string, value: string, more: object = {}): object {
  const stringData = { a: value };
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData, ...more };
}

const claim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", namespace: "shop" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

function document(...resources: readonly object[]): string {
  return written({ resources });
}

/** What an accepted document declares. */
function declared(text: string): readonly DesiredObject[] {
  const verdict = judge(text);
  if (verdict.type !== "Accepted") throw new Error(JSON.stringify(verdict));
  return verdict.document.objects;
}

/** The message of a refusal, or what else came of it. */
function refusalOf(text: string, current: readonly DesiredObject[] = []): string {
  const verdict = judge(text, { current });
  return verdict.type === "Refused" ? `${verdict.code} ${verdict.message}` : verdict.type;
}

describe("objects of a document", () => {
  test("are accepted beside pods, of the document's source", () => {
    const objects = declared(
      document(aWrittenPod("web"), config("a", "1"), secret("a", "2"), claim),
    );
    expect(
      objects.map(({ object, source, sourceRef }) => {
        const { namespace, name } = object.metadata;
        return `${object.kind} ${namespace}/${name} ${source} ${sourceRef}`;
      }),
    ).toEqual([
      "ConfigMap default/a mqtt:node generation 7",
      "Secret default/a mqtt:node generation 7",
      "PersistentVolumeClaim shop/data mqtt:node generation 7",
    ]);
  });

  test("make a document that is not empty", () => {
    expect(declared(document(config("a", "1")))).toHaveLength(1);
  });

  test.each([
    ["a Secret", secret("a", "1"), true],
    ["a ConfigMap", config("a", "1"), undefined],
    ["a claim", claim, undefined],
  ])("decide whether the checkpoint is encrypted: %s", (_, resource, holdsSecrets) => {
    const verdict = judge(document(resource));
    expect(verdict.type === "Accepted" ? verdict.accepted.holdsSecrets : "refused").toBe(
      holdsSecrets,
    );
  });

  test("are the same again after a restart", () => {
    const text = document(aWrittenPod("web"), config("a", "1"), secret("a", "2"), claim);
    const { document: again, intact } = decodeAccepted(storedFrom(text), ADDRESS, { sha256 });
    expect([again.objects, intact]).toEqual([declared(text), true]);
  });

  test("that a newer agent would refuse are restored, what cannot be read is named without its content", () => {
    const text = document(
      config("a", "1", { fieldOfAnotherAgent: 1 }),
      config("agent-node", "1"),
      config("b", "1"),
      config("b", "2"),
      secret("", VALUE),
    );
    const restored = decodeAccepted(storedFrom(text), ADDRESS, { sha256 });
    expect(restored.document.objects.map(({ object }) => object.metadata.name)).toEqual([
      "a",
      "agent-node",
      "b",
      "b",
    ]);
    expect(restored.intact).toBe(false);
    expect(restored.rejected.length).toBeGreaterThan(0);
    expect(JSON.stringify(restored.rejected)).not.toContain(VALUE);
  });

  test("of a document that cannot be opened any more ask for nothing, and it is not the whole truth", () => {
    const stored = storedFrom("", { holdsSecrets: true, lost: "it was sealed with another key" });
    expect(decodeAccepted(stored, ADDRESS, { sha256 })).toMatchObject({
      document: { generation: 7, pods: [], objects: [] },
      intact: false,
      rejected: [
        {
          source: "mqtt:node",
          ref: ADDRESS.ref,
          code: "DocumentLost",
          message:
            "the accepted generation 7 cannot be opened: it was sealed with another key; publish it again",
        },
      ],
    });
  });
});

describe("a document is refused as a whole", () => {
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    "for one name twice": [
      document(config("a", "1"), config("a", "1"), secret("a", "1")),
      "400 ConfigMap default/a: metadata.name: ConfigMap default/a stands twice in the document; give one of them another name",
    ],
    "for the node's own name": [
      document(config("agent-node", "1")),
      "400 ConfigMap default/agent-node: metadata.name: the ConfigMap agent-node is the node's own, in every namespace; give yours another name",
    ],
    "for an object that is invalid": [
      document(config("a", "1"), { ...claim, spec: {} }),
      "400 PersistentVolumeClaim shop/data:",
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [text, message]) => {
    expect(refusalOf(text)).toStartWith(message);
  });

  test("and a Secret of the node's name is allowed", () => {
    expect(declared(document(secret("agent-node", "1")))).toHaveLength(1);
  });

  test("and does not contain a Secret's content", () => {
    const broken: readonly object[] = [
      secret("a", "", { stringData: { a: [VALUE] } }),
      secret("a", "", { stringData: VALUE }),
      secret("a", "", { data: { a: `${VALUE}!` } }),
      secret("a", VALUE, { type: "kubernetes.io/tls" }),
      secret("a", VALUE, { dataa: { a: VALUE } }),
      { ...secret("a", VALUE), kind: "Secrt" },
      { ...secret("a", VALUE), metadata: {} },
      { ...secret("a", VALUE), immutable: VALUE.length },
    ];
    for (const one of broken) {
      const verdict = judge(document(one));
      expect([JSON.stringify(one), verdict.type]).toEqual([JSON.stringify(one), "Refused"]);
      expect(JSON.stringify(verdict)).not.toContain(VALUE);
    }
  });
});

describe("what was immutable in the document of before", () => {
  const immutable = { immutable: true };
  const current = declared(document(config("a", "1", immutable), secret("s", VALUE, immutable)));
  const words = "Forbidden: field is immutable when `immutable` is set";

  test("keeps its content", () => {
    expect(refusalOf(document(config("a", "2", immutable)), current)).toBe(
      `400 ConfigMap default/a: data: ${words}`,
    );
    expect(refusalOf(document(config("a", "1")), current)).toBe(
      `400 ConfigMap default/a: immutable: ${words}`,
    );
    const refused = refusalOf(document(secret("s", `${VALUE}2`, immutable)), current);
    expect(refused).toBe(`400 Secret default/s: data: ${words}`);
  });

  test("may be repeated, labelled, left out, or stand in another namespace", () => {
    const labelled = { metadata: { name: "a", labels: { x: "y" } }, ...immutable };
    const elsewhere = { metadata: { name: "a", namespace: "shop" } };
    for (const text of [
      document(config("a", "1", labelled), secret("s", VALUE, immutable)),
      document(aWrittenPod("web")),
      document(config("a", "2", elsewhere)),
      document(secret("a", "2")),
    ])
      expect(refusalOf(text, current)).toBe("Accepted");
  });
});

describe("a Secret in a shared document", () => {
  const address = {
    ...ADDRESS,
    source: "mqtt:group/kiosks",
    ref: "agent/v1/group/kiosks",
  } as const;

  test("is accepted and listed", () => {
    const text = written({ target: { group: "kiosks" }, resources: [secret("s", VALUE)] });
    const verdict = judge(text, { address, context: CONTEXT });
    expect(verdict).toMatchObject({
      type: "Accepted",
      notices: [
        { source: address.source, kind: "Secret", name: "s", code: "SecretInSharedDocument" },
      ],
    });
    expect(JSON.stringify(verdict.type === "Accepted" && verdict.notices)).not.toContain(VALUE);
  });
});
