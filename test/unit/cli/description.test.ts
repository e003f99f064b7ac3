import { describe, expect, test } from "bun:test";
import { aligned, Description } from "../../../src/cli/describe/description.ts";

describe("aligned cells", () => {
  test("a column is as wide as its widest cell, in lines that follow each other", () => {
    expect(aligned(["a\tb", "long\tc", "no cell", "x\ty"])).toBe(
      "a     b\nlong  c\nno cell\nx  y\n",
    );
  });

  test("columns further right are aligned within their own run of lines", () => {
    expect(aligned(["a\tb\tc", "a\tlonger\tc", "a\tb", "a\tbbbb\tc"])).toBe(
      "a  b       c\na  longer  c\na  b\na  bbbb  c\n",
    );
  });

  test("an empty cell takes its room", () => {
    expect(aligned(["Labels:\ta=b", "\tc=d"])).toBe("Labels:  a=b\n         c=d\n");
    expect(aligned(["a\t\tb"])).toBe("a    b\n");
  });

  test("the last cell is never padded, and no line is no text", () => {
    expect(aligned(["a\t", "bb\tx"])).toBe("a   \nbb  x\n");
    expect(aligned([])).toBe("");
  });
});

describe("a description", () => {
  test("indents by levels, and escapes what pods wrote, tabs too", () => {
    const out = new Description();
    out.line(0, "Name:", "web");
    out.line(1, "State:", "a\tb\u001b[31m");
    expect(out.toString()).toBe("Name:     web\n  State:  a\\u0009b\\u001b[31m\n");
  });

  test("what is plain is not aligned with what is beside it", () => {
    const out = new Description();
    out.line(0, "a", "b");
    out.plain("one\n  two\tthree");
    out.line(0, "longer", "b");
    expect(out.toString()).toBe("a  b\none\n  two\\u0009three\nlonger  b\n");
  });
});
