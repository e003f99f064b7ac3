import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  decodeDocumentFile,
  documentFileStem,
  encodeDocumentFile,
  type StoredDocument,
} from "../../../../src/store/document/stored-document.ts";
import type { SourceName } from "../../../../src/api/pod/labels.ts";

const source: fc.Arbitrary<SourceName> = fc.oneof(
  fc.constantFrom<SourceName>("http", "mqtt:node"),
  fc.string().map((group): SourceName => `mqtt:group/${group}`),
);
const storedDocument: fc.Arbitrary<StoredDocument> = fc.record({
  serial: fc.nat(),
  document: fc.record({
    source,
    epoch: fc.string(),
    generation: fc.nat(),
    digest: fc.string(),
    payload: fc.uint8Array(),
    observedGeneration: fc.constant(0),
    acceptedAt: fc.nat(),
  }),
});

test("every document comes back from its file, byte for byte", () => {
  fc.assert(
    fc.property(storedDocument, (document) => {
      expect(decodeDocumentFile(encodeDocumentFile(document))).toEqual(document);
    }),
  );
});

test("a torn or changed file is never taken for a document", () => {
  fc.assert(
    fc.property(
      storedDocument,
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (document, at, change) => {
        const whole = encodeDocumentFile(document);
        const place = at % whole.length;
        expect(decodeDocumentFile(whole.slice(0, place))).toBeUndefined();
        const changed = whole.slice();
        changed[place] = (changed[place] ?? 0) ^ change;
        const decoded = decodeDocumentFile(changed);
        // The number of the format is the one thing that may change: a newer agent may increase it.
        if (decoded !== undefined) expect(decoded).toEqual(document);
      },
    ),
  );
});

test("two sources never share a file, and no name leaves the directory", () => {
  fc.assert(
    fc.property(source, source, (a, b) => {
      expect(documentFileStem(a) === documentFileStem(b)).toBe(a === b);
      expect(documentFileStem(a)).not.toContain("/");
    }),
  );
  expect(documentFileStem("mqtt:node")).toBe("mqtt-node");
  expect(documentFileStem("mqtt:group/kiosks")).toBe("mqtt-group-kiosks");
});
