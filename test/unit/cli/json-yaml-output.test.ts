import { describe, expect, test } from "bun:test";

import { readDocuments, readModernDocuments } from "../../../src/api/yaml/yaml-documents.ts";
import { objectText } from "../../../src/cli/json-yaml-output.ts";

describe("an object as YAML", () => {
  test.each(["yes", "No", "on", "OFF", "y", "n", "0644", "1_000", "0b1", "1e3", "0x1F", "~", ""])(
    "reads as the same text: %j",
    async (text) => {
      const { documents, errors } = readDocuments(await objectText({ text: [text] }, "yaml"));
      expect(errors).toEqual([]);
      expect(documents[0]?.value).toEqual({ text: [text] });
    },
  );
});

describe("a file that others read by YAML 1.2", () => {
  test("has text where a manifest has truth values, and the same numbers", () => {
    const written = "a: [yes, No, on, off, y, n, true, False, 0x10, 1e3, null]\n";
    expect(readModernDocuments(written).documents[0]?.value).toEqual({
      a: ["yes", "No", "on", "off", "y", "n", true, false, 16, 1000, null],
    });
    expect(readDocuments(written).documents[0]?.value).toEqual({
      a: [true, false, true, false, true, false, true, false, 16, 1000, null],
    });
  });
});
