import { describe, expect, test } from "bun:test";
import {
  composeDocument,
  gatherInput,
  sourceOf,
  targetOf,
  type WrittenInput,
} from "../../../../src/fleet/document/compose-document.ts";
import { readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";

function gathered(...texts: readonly string[]): ReturnType<typeof gatherInput> {
  return gatherInput(
    texts.map((text, index) => ({
      file: `${index}.yaml`,
      documents: readDocuments(text).documents,
    })),
  );
}

function input(text: string): WrittenInput {
  const read = gathered(text);
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  return read.value;
}

const WHOLE = "kind: DesiredState\nresources:\n  - {kind: Pod}\n  - {kind: Secret}\n";

describe("gatherInput", () => {
  test("takes the objects of all files in their order", () => {
    const read = gathered("kind: Pod\n---\nkind: Secret\n", "kind: ConfigMap\n");
    expect(read).toMatchObject({
      ok: true,
      value: {
        objects: [
          { file: "0.yaml", value: { kind: "Pod" } },
          { file: "0.yaml", value: { kind: "Secret" } },
          { file: "1.yaml", value: { kind: "ConfigMap" } },
        ],
      },
    });
  });

  test("knows where the objects of a whole document stand", () => {
    const { objects, document } = input(WHOLE);
    expect(document).toMatchObject({ kind: "DesiredState" });
    expect(objects.map(({ locate }) => locate(["kind"])?.line)).toEqual([3, 4]);
  });

  test.each([[[WHOLE, "kind: Pod\n"]], [[WHOLE, WHOLE]], [[`${WHOLE}---\nkind: Pod\n`]]])(
    "refuses a whole document that does not stand alone",
    (texts) => {
      expect(gathered(...texts)).toMatchObject({ ok: false });
    },
  );
});

describe("composeDocument", () => {
  const base = {
    target: { node: "pi-1" },
    epoch: "",
    generation: 2,
    issuedAt: "2026-11-21T08:00:00Z",
    allowEmpty: false,
  } as const;

  test("sets target and version, whatever the document contains", () => {
    const text = `${WHOLE}generation: 99\ntarget: {node: pi-1, fleet: acme}\nepoch: old\npolicy: {atomic: false}\n`;
    expect(composeDocument({ ...base, input: input(text), epoch: "e1" })).toEqual({
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { fleet: "acme", node: "pi-1" },
      epoch: "e1",
      generation: 2,
      issuedAt: "2026-11-21T08:00:00Z",
      policy: { atomic: false },
      resources: [{ kind: "Pod" }, { kind: "Secret" }],
    });
  });

  test("sets the flag of an intended empty list only for an empty list", () => {
    const empty = input("kind: DesiredState\nresources: []\n");
    expect(composeDocument({ ...base, input: empty })).not.toHaveProperty("allowEmpty");
    expect(composeDocument({ ...base, input: empty, allowEmpty: true })).toMatchObject({
      allowEmpty: true,
      resources: [],
    });
  });

  test("leaves resources that are no list for the decoder to refuse", () => {
    const broken = input("kind: DesiredState\nresources: {a: b}\n");
    expect(composeDocument({ ...base, input: broken })).toMatchObject({ resources: { a: "b" } });
  });
});

test("targets and sources have one name each", () => {
  expect(targetOf({ target: { group: "kiosks" } })).toEqual({ group: "kiosks" });
  expect(targetOf({ target: { node: 7 } })).toBeUndefined();
  expect(sourceOf({ group: "kiosks" })).toBe("group/kiosks");
  expect(sourceOf({ node: "pi-1" })).toBe("node");
});
