import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { ResponseReader, type Reading } from "../../../src/host/probe-http-response.ts";

/** The last word of a reader that got these bytes cut at these places, and then the end. */
function read(bytes: Buffer, cuts: readonly number[]): Reading {
  const reader = new ResponseReader();
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  edges.sort((a, b) => a - b);
  for (const [index, edge] of edges.slice(1).entries()) {
    const reading = reader.push(bytes.subarray(edges[index], edge));
    if (reading.type !== "More") return reading;
  }
  return reader.end();
}

const chunked = (body: Buffer, sizes: readonly number[]): Buffer => {
  const parts: Buffer[] = [];
  let at = 0;
  for (const size of [...sizes, body.length]) {
    const piece = body.subarray(at, at + size);
    if (piece.length === 0) continue;
    at += piece.length;
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n"));
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
};

describe("reading an answer", () => {
  const body = fc.uint8Array({ maxLength: 12_000 }).map((bytes) => Buffer.from(bytes));
  const cuts = fc.array(fc.nat(13_000), { maxLength: 6 });
  const status = fc.integer({ min: 200, max: 599 }).filter((code) => code !== 204 && code !== 304);

  test("does not depend on how it was cut, whatever its body", () => {
    fc.assert(
      fc.property(
        fc.record({ body, cuts, status, sizes: fc.array(fc.integer({ min: 1, max: 3000 })) }),
        fc.constantFrom("length", "chunks", "end"),
        (given, by) => {
          const head = Buffer.from(
            `HTTP/1.1 ${given.status} X\r\nLocation: /next\r\n${
              {
                length: `Content-Length: ${given.body.length}\r\n`,
                chunks: "Transfer-Encoding: chunked\r\n",
                end: "",
              }[by]
            }\r\n`,
          );
          const sent = by === "chunks" ? chunked(given.body, given.sizes) : given.body;
          expect(read(Buffer.concat([head, sent]), given.cuts)).toEqual({
            type: "Answer",
            answer: {
              status: given.status,
              location: "/next",
              body: given.body.subarray(0, 10 * 1024).toString(),
            },
          });
        },
      ),
    );
  });

  test("ends whatever comes, and never with an answer that nobody gave", () => {
    const line = fc.constantFrom(
      "HTTP/1.1 200 OK",
      "HTTP/1.1 100 Continue",
      "Content-Length: 3",
      "Content-Length: 1e3",
      "Transfer-Encoding: chunked",
      "",
      "0",
      "3",
      "abc",
      "ffffffffffff",
      ": :",
      "\u0000",
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), cuts, (lines, where) => {
        const text = lines.join("\r\n");
        const reading = read(Buffer.from(text), where);
        expect(reading.type).not.toBe("More");
        if (reading.type === "Answer") expect(text).toContain("HTTP/1.1 200 OK");
      }),
      { numRuns: 2000 },
    );
  });

  test("knows garbage from its first bytes, before there is a line of it", () => {
    const reader = new ResponseReader();
    expect(reader.push(Buffer.from("HT")).type).toBe("More");
    expect(reader.push(Buffer.from("ML>")).type).toBe("Malformed");
  });
});
