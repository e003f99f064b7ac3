import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { stringify } from "yaml";

import { DOCUMENT_LIMITS, FILE_LIMITS } from "../../../../src/api/yaml/text-limits.ts";
import { decodeText, readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";

function lines(...text: readonly string[]): string {
  return text.map((line) => `${line}\n`).join("");
}

/** Value of the one document. */
function valueOf(text: string): unknown {
  const { documents, errors } = readDocuments(text);
  expect(errors).toEqual([]);
  expect(documents).toHaveLength(1);
  return documents[0]?.value;
}

describe("scalars are read as Kubernetes reads them", () => {
  const golden: readonly (readonly [source: string, value: unknown])[] = [
    ["0644", 420],
    ["0400", 256],
    ["-010", -8],
    ["0o17", 15],
    ["089", 89],
    ["yes", true],
    ["on", true],
    ["y", true],
    ["Off", false],
    ["NO", false],
    ["yEs", "yEs"],
    ["True", true],
    ["80:80", "80:80"],
    ["1e3", 1000],
    [".5", 0.5],
    ["1.0", 1],
    ["+12", 12],
    ["-0", 0],
    ["0x1F", 31],
    ["1_000", 1000],
    ["-1_0.5_0", -10.5],
    ["0x_1F", 31],
    ["-0x1f", -31],
    ["0b11", 3],
    ["+0O17", 15],
    ["_1", "_1"],
    [".5_0", ".5_0"],
    ["1_000 m", "1_000 m"],
    [`"it\\'s \\"1\\\\'"`, `it's "1\\'`],
    ["~", null],
    ["Null", null],
    ["2026-11-21", "2026-11-21"],
    ["2026-11-21T08:00:00Z", "2026-11-21T08:00:00Z"],
    [".inf", Number.POSITIVE_INFINITY],
    ["'yes'", "yes"],
    ['"0644"', "0644"],
    ["!!str 0644", "0644"],
    ["!!int '7'", 7],
    ["|\n  12\n", "12\n"],
  ];
  test.each(golden.map(([source, value]) => [source, value] as const))("%s", (source, value) => {
    expect(valueOf(`a: ${source}`)).toEqual({ a: value });
  });

  test("an escaped apostrophe moves no position", () => {
    const [document] = readDocuments(`a: ["\\'\\'", {b: 1}]\nc: 2\n`).documents;
    expect(document?.value).toEqual({ a: ["''", { b: 1 }], c: 2 });
    expect(document?.locate(["a", 1, "b"])).toEqual({ line: 1, column: 14, text: "1" });
    expect(document?.locate(["c"])).toMatchObject({ line: 2, column: 1 });
  });

  test("keys are always text", () => {
    expect(valueOf("on: 1\n0644: 2\n~: 3")).toEqual({ on: 1, "0644": 2, "~": 3 });
  });
});

describe("documents", () => {
  test("empty documents count but are not returned", () => {
    const { documents, errors } = readDocuments("# top\n---\n---\na: 1\n...\n---\nb: 2\n");
    expect(errors).toEqual([]);
    expect(documents.map(({ index, value }) => [index, value])).toEqual([
      [1, { a: 1 }],
      [2, { b: 2 }],
    ]);
  });

  test("windows line ends and a byte order mark are no content", () => {
    const bytes = new TextEncoder().encode("\uFEFFa: 1\r\nb: x\r\n");
    const text = decodeText(bytes);
    expect(text).toMatchObject({ ok: true });
    expect(valueOf(text.ok ? text.value : "")).toEqual({ a: 1, b: "x" });
    expect(valueOf("\uFEFFa: x\r\n")).toEqual({ a: "x" });
  });

  test("merge keys provide entries that a map does not have itself", () => {
    const text =
      "b: &b { x: 1, y: 2 }\nc: &c { y: 3, z: 4 }\nd: { <<: [*b, *c], x: 5 }\ne: { '<<': 1 }\n";
    expect(valueOf(text)).toMatchObject({ d: { x: 5, y: 2, z: 4 }, e: { "<<": 1 } });
  });

  test("maps, lists, words, quotes, brackets and texts", () => {
    const text = lines(
      "# of a shop",
      "---",
      "kind: Pod   # a comment",
      "name: 'it''s'",
      "",
      "list:",
      "- a",
      "-   b: 1",
      '    c: "x # y"',
      "- - 0644",
      "  - ~",
      "- d: größer",
      "- d:",
      "    e: yes",
      "script: |",
      "  one",
      "",
      "    two # no comment",
      "text: |-",
      "   three",
      "",
      "image: registry:5000/a/b:1.2@sha256:0f  ",
      'args: [ -c, --all, "a, b", { k: v, n: [] }, http://x:1/?, ]',
    );
    expect(valueOf(text)).toEqual({
      kind: "Pod",
      name: "it's",
      list: ["a", { b: 1, c: "x # y" }, [420, null], { d: "größer" }, { d: { e: true } }],
      script: "one\n\n  two # no comment\n",
      text: "three",
      image: "registry:5000/a/b:1.2@sha256:0f",
      args: ["-c", "--all", "a, b", { k: "v", n: [] }, "http://x:1/?"],
    });
  });

  test("JSON is read, tabs and escapes included", () => {
    expect(valueOf('{\n\t"a": [1,\n\t\t"\\u00e9\\/"],\n\t"b": null }\n')).toEqual({
      a: [1, "é/"],
      b: null,
    });
    const text =
      '\uFEFF \r\n{"a": [1, -0, 2.5e-3, true, false, null, "x\\u00e9\\n\\ud83d\\ude00\\/"], "b":{},"c":[ ]}\n';
    expect(valueOf(text)).toEqual({
      a: [1, 0, 0.0025, true, false, null, "xé\n😀/"],
      b: {},
      c: [],
    });
  });

  test("a key named __proto__ is data", () => {
    const value = valueOf("__proto__: { polluted: true }");
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true}}');
  });

  test("any JSON value comes back as it went in", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const text = JSON.stringify(value);
        // A lone -0 is the one number that YAML's reader has no use for; control characters are refused as binary.
        fc.pre(!/\\u00[01]/.test(text) && !text.includes("-0"));
        const { documents } = readDocuments(text);
        expect(documents[0]?.value).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe("places", () => {
  test("an item of JSON is where it begins, however the JSON is formatted", () => {
    const json = fc.array(fc.jsonValue({ maxDepth: 3 }), { minLength: 1 });
    fc.assert(
      fc.property(json, fc.constantFrom(0, 1, 2, "\t"), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        fc.pre(!text.includes("-0"));
        const [document] = readDocuments(text).documents;
        expect(document?.value).toEqual(JSON.parse(text));
        for (const [index, item] of value.entries()) {
          const { line = 0, column = 0 } = document?.locate([index]) ?? {};
          const rest = text
            .split("\n")
            .slice(line - 1)
            .join("\n")
            .slice(column - 1);
          const [first = ""] = JSON.stringify(item, null, indent).split("\n");
          expect(rest.startsWith(first)).toBe(true);
        }
      }),
    );
  });

  test("the fields of each document of a file", () => {
    const { documents } = readDocuments("a: 1\n---\nb:\n  - c: yes\n");
    expect(documents.map(({ index }) => index)).toEqual([0, 1]);
    expect(documents[1]?.locate(["b", 0, "c"])).toEqual({ line: 4, column: 5, text: "yes" });
  });

  test("a merged field is where it was written", () => {
    const [document] = readDocuments("a: &a\n  b: 1\nc:\n  <<: *a\n").documents;
    expect(document?.locate(["c", "b"])).toEqual({ line: 2, column: 3, text: "1" });
  });

  test("a field is where its key is, an item where it begins", () => {
    const [document] = readDocuments("a:\n  b: [1, yes]\n").documents;
    expect(document?.locate(["a", "b"])).toEqual({ line: 2, column: 3 });
    expect(document?.locate(["a", "b", 1])).toEqual({ line: 2, column: 10, text: "yes" });
  });

  test("a field that is missing is looked for where its parent is", () => {
    const [document] = readDocuments("a:\n  b: x\n").documents;
    expect(document?.locate(["a", "c", 0])).toEqual({ line: 1, column: 1 });
    expect(document?.locate(["a", "b", "c"])).toEqual({ line: 2, column: 3 });
  });
});

describe("what is long and harmless is read", () => {
  const CONTENT = "a line of text\n".repeat(66_667).slice(0, 1_000_000);
  const POD = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", labels: { app: "web", tier: "front" } },
    spec: {
      restartPolicy: "Always",
      containers: [
        {
          name: "web",
          image: "registry.example:5000/web:1.2.3",
          command: ["/bin/web", "--port", "80"],
          env: Array.from({ length: 20 }, (_, index) => ({ name: `V${index}`, value: "x" })),
          ports: [{ containerPort: 80, hostPort: 80, protocol: "TCP" }],
          resources: { limits: { cpu: "100m", memory: "64Mi" }, requests: { cpu: "50m" } },
          volumeMounts: [{ name: "data", mountPath: "/data", readOnly: true }],
        },
      ],
      volumes: [{ name: "data", configMap: { name: "web" } }],
    },
  };
  const pods = (count: number): object => {
    const items = Array.from({ length: count }, () => POD);
    return { apiVersion: "v1", kind: "List", items };
  };
  const configMap = { apiVersion: "v1", kind: "ConfigMap", data: { text: CONTENT } };
  const cases: Readonly<Record<string, readonly [text: string, value: object]>> = {
    "110 pods in blocks": [stringify(pods(110), { aliasDuplicateObjects: false }), pods(110)],
    "110 pods in KYAML": [Bun.YAML.stringify(pods(110)), pods(110)],
    "110 pods as formatted JSON": [JSON.stringify(pods(110), null, 4), pods(110)],
    "a ConfigMap of 1,000,000 bytes as a text": [stringify(configMap), configMap],
    "a ConfigMap of 1,000,000 bytes as JSON": [JSON.stringify(configMap), configMap],
    "a ConfigMap of 1,000,000 bytes in one line": [
      JSON.stringify({ ...configMap, data: { text: "x".repeat(1_000_000) } }),
      { ...configMap, data: { text: "x".repeat(1_000_000) } },
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [text, value]) => {
    expect(text.length).toBeLessThan(FILE_LIMITS.bytes);
    expect(valueOf(text)).toEqual(value);
  });
});

describe("refusals", () => {
  const refused: Readonly<Record<string, readonly [text: string, error: string]>> = {
    "an empty file": ["", "1:1 Empty it holds no document"],
    "nothing but comments": ["# a\n---\n", "1:1 Empty it holds no document"],
    "a duplicate key": ["a: 1\nb: 2\na: 3", '3:1 Duplicate duplicate key "a"'],
    "a duplicate key in JSON": ['{"a": 1, "a": 2}', '1:10 Duplicate duplicate key "a"'],
    "a NUL character": ["a: 1\nb: \0", "2:4 Syntax the file holds binary data"],
    "an alias without its anchor": [
      "a: *b",
      "1:4 Syntax an alias (*) without its anchor (&) before it; put text in quotes",
    ],
    "an alias of what surrounds it": [
      "a: &a [*a]",
      "1:8 Syntax an alias (*) without its anchor (&) before it; put text in quotes",
    ],
    "a tag that does not fit": [
      "a: !!int x",
      "1:10 Syntax tag !!int that does not fit its value; put text in quotes",
    ],
    "a tag of a program": [
      "a: !ruby/object x",
      "1:17 Syntax a tag (!) that does not fit its value; put text in quotes",
    ],
    "a merge of text": ["<<: x", "1:1 Syntax a merge key << takes a map or a list of maps"],
    "a map as key": [
      "{a: 1}: 2",
      "1:1 Syntax a key must be a string; put text that begins with { or [ in quotes",
    ],
  };
  test.each(Object.entries(refused))("%s", (_sentence, [text, error]) => {
    const { documents, errors } = readDocuments(text);
    const said = errors.map(
      ({ line, column, code, message }) => `${line}:${column} ${code} ${message}`,
    );
    expect({ documents, said }).toEqual({ documents: [], said: [error] });
  });

  test("a break of syntax gives no document at all", () => {
    const { documents, errors } = readDocuments("a: 1\n---\nb: [1\n");
    expect(documents).toEqual([]);
    expect(errors[0]).toMatchObject({ code: "Syntax", path: "", line: 4 });
  });

  test.each([
    "password: |hunter2",
    "password:\n|  hunter2\n",
    "password: !!hunter2 x",
    "password: !hunter2!a x",
    "password: !a!hunter2",
    "password: !<hunter2> x",
    'password: "C:\\Uhunter2"',
    'password: "C:\\hunter2"',
    "password: >hunter2\n  x",
    "password: 'a'hunter2",
    "password: {a: b}hunter2",
    "%YAML hunter2\n---\na: 1",
    "] hunter2",
  ])("a break of syntax shows nothing of a password: %s", (text) => {
    const { errors } = readDocuments(text);
    expect(errors.length).toBeGreaterThan(0);
    expect(JSON.stringify(errors)).not.toContain("hunt");
  });

  const UTF_8 = "the file is not UTF-8 text from here; save it as UTF-8";
  test.each([
    ["a byte that begins no character", [0x61, 0xff, 0xfe], 1, 2],
    ["Latin 1, where a character is cut short", Buffer.from("a: b\nc: caf\u00e9x", "latin1"), 2, 7],
    ["a character that is not complete at the end", [0xc3, 0xa4, 0x0a, 0xe2, 0x82], 2, 1],
    ["a character that is too long", [0x0a, 0x0a, 0xc0, 0xaf], 3, 1],
  ])("bytes that are not UTF-8: %s", (_what, bytes, line, column) => {
    expect(decodeText(new Uint8Array(bytes))).toMatchObject({
      ok: false,
      errors: [{ code: "Syntax", line, column, message: UTF_8 }],
    });
  });

  test("text of UTF-16", () => {
    expect(decodeText(new Uint8Array([0xff, 0xfe, 0x61, 0]))).toMatchObject({
      ok: false,
      errors: [{ line: 1, column: 1, message: "the file is UTF-16 text; save it as UTF-8" }],
    });
  });

  const has = (number: string, what: string, most: string) =>
    `the file has ${number} ${what}, at most ${most}; the first that is too much is here: make it smaller or split it`;
  const nodes = (number: string, most = "50,000") =>
    has(number, "nodes (keys, values, list items)", most);
  const tokens = (number: string) => has(number, "words, signs and line ends", "400,000");
  const hostile: Readonly<Record<string, readonly [text: string, error: string]>> = {
    "brackets without end": ["[".repeat(1_000_000), "1:103 nested deeper than 100 levels"],
    "a staircase": ["- ".repeat(500_000), "1:204 nested deeper than 100 levels"],
    "keys without end": ["k: v\n".repeat(90_000), `25001:1 ${nodes("180,000")}`],
    "keys of a whole file": ["k: v\n".repeat(800_000), `25001:1 ${nodes("more than 200,000")}`],
    "numbers without end, in JSON": [`[\n${"1,\n".repeat(50_000)}1]`, `50001:1 ${nodes("50,002")}`],
    "words in quotes without end": [
      `[\n${`"a",\n'b',\n`.repeat(30_000)}]`,
      `50001:1 ${nodes("60,001")}`,
    ],
    "tags without end": [`[\n${"!a b,\n".repeat(60_000)}]`, `25001:4 ${nodes("120,001")}`],
    "items without values": ["-\n".repeat(60_000), `50001:1 ${nodes("60,000")}`],
    "aliases without end": [`- &a x\n${"- *a\n".repeat(60_000)}`, `25000:3 ${nodes("120,003")}`],
    "comments without end": ["#\n".repeat(200_000), `133334:2 ${tokens("600,000")}`],
    "a text of empty lines": [`a: |\n b\n${"\n".repeat(500_000)} c\n`, `2:1 ${tokens("500,012")}`],
    "500,000 folded lines": [`a: >\n${" b\n".repeat(500_000)}`, `2:1 ${tokens("500,010")}`],
    "documents without end": [
      "--- a\n".repeat(2000),
      `1001:1 ${has("2,000", "documents", "1,000")}`,
    ],
    "a tag that is written out everywhere": [
      `%TAG !e! ${"a".repeat(900_000)}\n---\n[${"!e!b c,".repeat(3000)}]`,
      "1:1 a directive of more than 1000 characters",
    ],
    "aliases of aliases": [
      `a: &a [${"x,".repeat(500)}]\nb: &b [${"*a,".repeat(500)}]\nc: [${"*b,".repeat(500)}]`,
      "2:305 its aliases (*) repeat more than 50,000 nodes (keys, values, list items)",
    ],
  };
  test.each(Object.entries(hostile))(
    "%s is refused with bounded work",
    (_sentence, [text, error]) => {
      const { documents, errors } = readDocuments(text);
      expect(documents).toEqual([]);
      const reported = errors.map(({ line, column, message }) => `${line}:${column} ${message}`);
      expect(reported).toEqual([error]);
    },
  );

  test.each([
    ["escapes that are none", `a: "${"\\q".repeat(500_000)}"\n`, "Invalid escape sequence"],
    ["brackets that close nothing", `a: ${"]".repeat(100_000)}`, "Unexpected flow-seq-end"],
    ["commas without values", `[${",".repeat(100_000)}]`, "Unexpected , in flow sequence"],
  ])("of %s only the first errors are reported", (_what, text, message) => {
    const { documents, errors } = readDocuments(text);
    expect(documents).toEqual([]);
    expect(errors).toHaveLength(5);
    for (const error of errors) expect(error.message).toStartWith(message);
  });

  test("a document of MQTT may have fewer nodes than a file", () => {
    const text = `[${"1,".repeat(10_000)}1]`;
    expect(readDocuments(text).errors).toEqual([]);
    expect(readDocuments(text, DOCUMENT_LIMITS).errors.map(({ message }) => message)).toEqual([
      nodes("10,002", "10,000"),
    ]);
  });

  test("no text makes it throw", () => {
    const piece = fc.constantFrom(
      "a",
      ": ",
      "- ",
      "\n",
      "  ",
      "[",
      "]",
      "{",
      "}",
      "&a ",
      "*a",
      "<<",
      "'",
      '"',
      "|",
      "!!",
      "---\n",
      "\t",
      "#",
      "%",
      "?",
      ",",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const { documents, errors } = readDocuments(pieces.join(""));
        expect(documents.length + errors.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});
