// Whatever stands in a manifest: a list of errors or a whole pod, never a throw, never half a pod.
// AGENT_FUZZ_SEED repeats a run; AGENT_FUZZ_RUNS makes it longer (mutations of each kind).

import { describe, expect, test } from "bun:test";

import { canonicalJson } from "../../../src/lib/json.ts";
import type { DecodedObject } from "../../../src/api/decode/decode-context.ts";
import { decodeObject } from "../../../src/api/decode/decode-object.ts";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import { MAX_FINDINGS } from "../../../src/api/decode/field-errors.ts";
import { decodeText as textOfBytes, readDocuments } from "../../../src/api/yaml/yaml-documents.ts";
import { SHAPES } from "../../bench/decode-cases.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";
import { sha256 } from "./digest.ts";
import { decodeText, fixturesIn } from "./fixture-files.ts";
import { HOSTILE, PIECES, mutatedText, mutatedValue, nested } from "./hostile-values.ts";

const SEED = Number(process.env["AGENT_FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = Number(process.env["AGENT_FUZZ_RUNS"] ?? 250);
const MIB = 1024 * 1024;
/** Errors and warnings of one object, each with the word on how many more there are. */
const MOST = 2 * (MAX_FINDINGS + 1);

const CONTEXT = {
  source: "file",
  ref: "x.yaml",
  sourceRef: "x.yaml#0",
  nodeName: "pi-1",
  sha256,
} as const;
const FIXTURES = fixturesIn("valid");
const VALUES = FIXTURES.flatMap(({ text }) =>
  readDocuments(text).documents.map(({ value }) => value),
);

function decode(text: string): DecodedObject {
  return decodeText({ file: "x.yaml", text });
}

/** What holds for every text; `text` is shown where it does not. */
function judge(text: string): DecodedObject {
  let manifest: DecodedObject;
  try {
    manifest = decode(text);
  } catch (thrown) {
    throw new Error(`seed ${SEED}: threw for ${JSON.stringify(text)}`, { cause: thrown });
  }
  const wrong = [...manifest.errors, ...manifest.ignoredKinds, ...manifest.notices].find(
    (finding) => !isClean(finding, text),
  );
  if (wrong !== undefined)
    throw new Error(`seed ${SEED}: ${JSON.stringify(wrong)} for ${JSON.stringify(text)}`);
  for (const { desired, written } of [...manifest.pods, ...manifest.objects])
    if (!standsAlone(written))
      throw new Error(`seed ${SEED}: ${desired.sourceRef} is but half of ${JSON.stringify(text)}`);
  return manifest;
}

/** Fit for a log line, and its place is in the text. */
function isClean({ code, message, path, line, column }: Rejection, text: string): boolean {
  if (!/^[A-Z][A-Za-z]+$/.test(code) || message === "" || message.length > 1000) return false;
  if (path.length > 5000) return false;
  const lines = text.split("\n").length;
  return line !== undefined && line >= 1 && line <= lines && (column ?? 0) >= 1;
}

/** What was accepted is accepted alone too, and is the same then. */
function standsAlone(written: object): boolean {
  const { pods, objects, errors } = decodeObject(written, CONTEXT);
  const [again] = [...pods, ...objects];
  if (again === undefined || errors.length > 0) return false;
  return canonicalJson(again.written) === canonicalJson(written);
}

function count({ errors, ignoredKinds, notices }: DecodedObject): number {
  return errors.length + ignoredKinds.length + notices.length;
}

describe(`mutations, seed ${SEED}`, () => {
  test("of values, as JSON", () => {
    const dice = new Mulberry32(SEED);
    for (let run = 0; run < RUNS; run++) {
      const text = JSON.stringify(mutatedValue(dice.pick(VALUES), dice) ?? null);
      judge(text);
      // Checkpoints are never judged, and never trusted either.
      decodeObject(JSON.parse(text), { ...CONTEXT, lenient: true });
    }
  });

  test("of texts", () => {
    const dice = new Mulberry32(SEED + 1);
    for (let run = 0; run < RUNS; run++) judge(mutatedText(dice.pick(FIXTURES).text, dice));
  });

  test("a Secret's content is never reported", () => {
    const dice = new Mulberry32(SEED + 2);
    const mark = "hunter2";
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      type: "kubernetes.io/tls",
      data: { a: mark, "tls.crt": [mark], b: { c: mark } },
      stringData: { a: mark, b: 5, c: [mark, mark] },
    };
    for (let run = 0; run < RUNS / 4; run++) {
      const key = dice.pick(["data", "stringData", "type"] as const);
      const value = { ...secret, [key]: mutatedValue(secret[key], dice) };
      const { errors, notices } = judge(JSON.stringify(value));
      const said = [...errors, ...notices].map(({ message }) => message).join("\n");
      expect(said).not.toContain(mark);
    }
  });
});

describe("half-written files", () => {
  const whole = ["compact.json", "several.json", "yaml-anchors.yaml", "minimal.yaml"];
  const files = FIXTURES.filter(({ file }) => whole.includes(file));

  test.each(files.map((fixture) => [fixture.file, fixture] as const))(
    "%s, cut off at every character",
    (file, { text }) => {
      for (let length = 0; length < text.trimEnd().length; length++) {
        const manifest = judge(text.slice(0, length));
        expect(count(manifest) + manifest.pods.length + manifest.objects.length).toBeGreaterThan(0);
        // YAML may end anywhere and mean something; one JSON object is there or is not.
        if (file === "compact.json") expect(manifest.pods).toEqual([]);
      }
    },
  );
});

describe("hostile values", () => {
  test.each(["metadata", "spec", "containers", "image", "name", "env", "limits"])(
    "at %s",
    (key) => {
      for (const value of HOSTILE) {
        const container = { name: "a", image: "x:1", resources: {} };
        const pod = {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "web" },
          spec: { containers: [container] },
        };
        const at: Readonly<Record<string, object>> = {
          metadata: pod,
          spec: pod,
          containers: pod.spec,
          limits: container.resources,
        };
        Reflect.set(at[key] ?? container, key, value);
        const text = JSON.stringify(pod);
        const manifest = judge(text);
        expect(manifest.pods.length > 0 && manifest.errors.length > 0).toBe(false);
      }
    },
  );

  test("as the whole document", () => {
    for (const value of HOSTILE) expect(judge(JSON.stringify(value)).pods).toEqual([]);
    for (const piece of PIECES) expect(judge(piece).pods).toEqual([]);
  });
});

describe("as deep as data may be, and a little deeper", () => {
  const shapes: Readonly<Record<string, (inner: unknown) => unknown>> = {
    lists: (inner) => [inner],
    maps: (inner) => ({ a: inner }),
    "lists of two": (inner) => [1, inner],
  };
  test.each(Object.entries(shapes))("%s", (_name, around) => {
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } };
    for (let levels = 90; levels < 110; levels += 1) {
      const json = JSON.stringify({ ...object, type: nested(levels, around) });
      // As JSON, as YAML in brackets, and as YAML without them.
      for (const text of [json, json.replaceAll('"', ""), asBlocks(levels, around)])
        expect(count(judge(text))).toBeGreaterThan(0);
    }
  });

  function asBlocks(levels: number, around: (inner: unknown) => unknown): string {
    const document = { kind: "Secret", metadata: { name: "s" }, type: nested(levels, around) };
    return Bun.YAML.stringify(document, null, 1);
  }
});

describe("documents that are made to cost much", () => {
  const REPETITIONS = 2000;
  test.each(SHAPES.map((shape) => [shape.name, shape] as const))("%s", (_name, { text }) => {
    const manifest = decode(text(REPETITIONS));
    // Of each object its first error, and how many more there are.
    expect(count(manifest)).toBeLessThanOrEqual(MOST + 2 * REPETITIONS);
  });

  test("of a hundred unknown fields of thirty pods some are reported, and one for each pod", () => {
    const fields = Array.from({ length: 100 }, (_, index) => `    zz${index}QQQ: 1\n`).join("");
    const others = Array.from({ length: 29 }, (_, index) => {
      return `- { kind: Pod, metadata: { name: p${index} }, spec: *s }\n`;
    });
    const first = `- kind: Pod\n  metadata: { name: first }\n  spec: &s\n${fields}`;
    const { errors } = decode(`apiVersion: v1\nkind: List\nitems:\n${first}${others.join("")}`);
    expect(new Set(errors.map(({ name }) => name)).size).toBe(30);
    expect(errors.length).toBeLessThan(250);
  });

  test("60,000 bad items of a list are one error too many, or a hundred", () => {
    const items = Array.from({ length: 60_000 }, (_, index) => index);
    const pod = (args: readonly number[]): string =>
      JSON.stringify({ kind: "Pod", spec: { containers: [{ args }] }, metadata: {} });
    expect(decode(pod(items)).errors.map(({ message }) => message)).toEqual([
      "the file has 60,012 nodes (keys, values, list items), at most 50,000; the first that is too much is here: make it smaller or split it",
    ]);
    const { errors } = decode(pod(items.slice(0, 49_000)));
    expect(errors.length).toBe(MAX_FINDINGS + 1);
    expect(errors.at(-1)?.message).toMatch(/^and \d+ more errors$/);
  });

  test("1 MiB of anything", () => {
    const dice = new Mulberry32(SEED + 3);
    const bytes = Uint8Array.from({ length: MIB }, () => dice.below(256));
    expect(textOfBytes(bytes)).toMatchObject({ ok: false });
    const printable = Array.from({ length: MIB / 16 }, () => dice.below(2 ** 31).toString(36));
    const manifest = decode(printable.join(dice.pick([" ", "\n", ": ", "\n- "])));
    expect(manifest.pods).toEqual([]);
    expect(count(manifest)).toBeGreaterThan(0);
    expect(count(manifest)).toBeLessThanOrEqual(MOST);
  });
});
