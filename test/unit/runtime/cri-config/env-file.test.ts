import { describe, expect, test } from "bun:test";
import type { FileKeySelector } from "../../../../src/api/v1/key-and-field-refs.ts";
import { EnvFiles, parseEnvFile } from "../../../../src/runtime/cri-config/env-file.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const values = (text: string): readonly (readonly [string, string])[] => [
  ...parseEnvFile(bytes(text)).values,
];

describe("an env file has", () => {
  const cases: Record<string, readonly [string, readonly (readonly [string, string])[]]> = {
    "one variable on a line": [
      "A='1'\nB='2'\n",
      [
        ["A", "1"],
        ["B", "2"],
      ],
    ],
    "blank lines and comments": ["\n  \t\n# one\n  # two\nA='1'\n\n", [["A", "1"]]],
    "no end of its last line": ["A='1'", [["A", "1"]]],
    "white space before a name": [" \tA='1'", [["A", "1"]]],
    "white space and a comment after a value": [
      "A='1' \t\nB='2'  # two\n",
      [
        ["A", "1"],
        ["B", "2"],
      ],
    ],
    "lines that end as on Windows": [
      "A='1'\r\n\r\nB='2'\r\n",
      [
        ["A", "1"],
        ["B", "2"],
      ],
    ],
    "empty values": ["A=''", [["A", ""]]],
    "values in which nothing means anything": [
      `A='# $B $(C) \${D} \\n \\\\ "x" a=b;  '`,
      [["A", `# $B $(C) \${D} \\n \\\\ "x" a=b;  `]],
    ],
    "values of several lines": [
      "A='one\n\n # two \nthree'\nB='2'",
      [
        ["A", "one\n\n # two \nthree"],
        ["B", "2"],
      ],
    ],
    "the first of equal names": ["A='1'\nA='2'", [["A", "1"]]],
    "names that a shell would not take": ["log.level='debug'", [["log.level", "debug"]]],
    nothing: ["", []],
  };
  test.each(Object.entries(cases))("%s", (_, [text, expected]) => {
    expect(values(text)).toEqual([...expected]);
    expect(parseEnvFile(bytes(text)).error).toBeUndefined();
  });
});

describe("an env file is read up to", () => {
  const cases: Record<string, readonly [string, string]> = {
    "a line without =": ["A='1'\nB\n", "invalid environment variable format at line 2"],
    "a variable without a name": [
      "A='1'\n\n='2'\n",
      "invalid environment variable format at line 3",
    ],
    "white space before =": ["A='1'\nB ='2'", "whitespace before '=' is not allowed at line 2"],
    "white space after =": [
      "A='1'\nB= '2'",
      "the value must be enclosed in single quotes at line 2",
    ],
    "a value without quotes": [
      "A='1'\nB=2",
      "the value must be enclosed in single quotes at line 2",
    ],
    "a value in double quotes": [
      "A='1'\nB=\"2\"",
      "the value must be enclosed in single quotes at line 2",
    ],
    "a quote that does not end": ["A='1'\nB='2\n", "the closing single quote is missing at line 2"],
    "a second text": ["A='1'\nB='2''3'", "unexpected content after the closing quote at line 2"],
    "text after the quote": [
      "A='1'\nB='2'3",
      "unexpected content after the closing quote at line 2",
    ],
    "a # that the shell would take for text": [
      "A='1'\nB='2'#3",
      "unexpected content after the closing quote at line 2",
    ],
    "a mistake after several lines of a value": [
      "A='1\n2\n3'\nB\n",
      "invalid environment variable format at line 4",
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [text, error]) => {
    const file = parseEnvFile(bytes(text));
    expect(file.error).toBe(error);
    expect([...file.values.keys()]).toEqual(["A"]);
  });
});

describe("a container's env files", () => {
  const key = (more: Partial<FileKeySelector> = {}): FileKeySelector => ({
    volumeName: "scratch",
    path: "app.env",
    key: "A",
    optional: false,
    ...more,
  });
  const of = (text: string | undefined): EnvFiles =>
    new EnvFiles(() => (text === undefined ? undefined : bytes(text)));

  test("give the value of a key, also an empty one", () => {
    expect(of("A='1'").value(key())).toBe("1");
    expect(of("A=''").value(key())).toBe("");
  });

  test("give bytes that are no UTF-8 as they are", () => {
    const files = new EnvFiles(() => Buffer.from("A='\xff\xfe'\nB='gr\xc3\xbcn'", "latin1"));
    expect(files.value(key())).toEqual(new Uint8Array([0xff, 0xfe]));
    expect(files.value(key({ key: "B" }))).toBe("grün");
  });

  test("keep the container waiting for a file or a key, unless it is optional", () => {
    const where = 'env file "app.env" of volume "scratch"';
    expect(() => of(undefined).value(key())).toThrow(`couldn't find ${where}: it does not exist`);
    expect(() => of("B='1'").value(key())).toThrow(`couldn't find key A in ${where}`);
    expect(of(undefined).value(key({ optional: true }))).toBeUndefined();
    expect(of("B='1'").value(key({ optional: true }))).toBeUndefined();
  });

  test("are wrong from the first mistake on, and no value of them is shown", () => {
    const wrong = of("A='1'\nSECRET=hush\nB='2'");
    expect(wrong.value(key())).toBe("1");
    const message = `couldn't read env file "app.env" of volume "scratch": the value must be enclosed in single quotes at line 2`;
    for (const optional of [false, true])
      expect(() => wrong.value(key({ key: "B", optional }))).toThrow(message);
  });

  test("have values of at most 32 KiB", () => {
    expect(of(`A='${"x".repeat(32_768)}'`).value(key())).toHaveLength(32_768);
    expect(() => of(`A='${"x".repeat(32_769)}'`).value(key())).toThrow(
      `the value of key A in env file "app.env" of volume "scratch" is longer than 32768 bytes; make it shorter`,
    );
  });

  test("are read once each, and at most 1 MiB of them", () => {
    let reads = 0;
    const files = new EnvFiles(() => {
      reads += 1;
      return bytes(`A='1'\n${"#".repeat(65_530)}`);
    });
    for (let index = 0; index < 16; index += 1) {
      files.value(key({ path: `${index}` }));
      files.value(key({ path: `${index}`, key: "B", optional: true }));
    }
    expect(reads).toBe(16);
    expect(() => files.value(key({ path: "17" }))).toThrow("have more than 1048576 bytes");
  });
});
