import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  afterDeath,
  deathRecordText,
  documentHand,
  fileHand,
  handKey,
  inHandText,
  podHand,
  readDeathRecord,
  readInHand,
  removalHand,
  type Hand,
} from "../../../../src/store/start-guard/hand.ts";

const WEB = podHand({ uid: "u-1", namespace: "default", name: "web" });
const GONE = removalHand({ uid: "u-1", namespace: "default", name: "web" });

const anyHand: fc.Arbitrary<Hand> = fc.record({
  kind: fc.constantFrom("Document", "File", "Pod", "Removal"),
  id: fc.string({ unit: "binary" }),
  name: fc.string({ unit: "binary" }),
});

describe("the file of what is in hand", () => {
  test("reads what was written, whatever the names are", () => {
    fc.assert(
      fc.property(fc.array(anyHand), fc.string(), (hands, process) => {
        expect(readInHand(inHandText({ process, hands }))).toEqual({ process, hands });
      }),
    );
  });

  test("leaves out what an earlier and longer text has left behind the end", () => {
    const long = inHandText({ process: "a", hands: [WEB, GONE, fileHand("/m/web.yaml", "d")] });
    const short = inHandText({ process: "b", hands: [GONE] });
    const over = short + long.slice(short.length);
    expect(readInHand(over)).toEqual({ process: "b", hands: [GONE] });
  });

  test("leaves out lines that are cut, damaged or of a newer agent", () => {
    const text = inHandText({ process: "a", hands: [WEB] });
    expect(readInHand(`${text.slice(0, 60)}`).process).toBe("a");
    expect(
      readInHand('["Process","a"]\n["Pod","u-1"]\n\0\0\n["Later","x","y"]\n7\n').hands,
    ).toEqual([]);
    expect(readInHand("")).toEqual({ process: "", hands: [] });
  });
});

describe("deaths", () => {
  test("are counted once for each hand, and apart for another content", () => {
    const first = afterDeath(new Map(), [WEB, WEB, GONE]);
    const second = afterDeath(first, [WEB, documentHand("mqtt:node", "sha256:aa")]);
    expect(Object.fromEntries(second)).toEqual({
      "Document mqtt:node sha256:aa": 1,
      "Pod u-1": 2,
      "Removal u-1": 1,
    });
    expect(second.get(handKey(documentHand("mqtt:node", "sha256:bb")))).toBeUndefined();
  });

  test("of more than 500 hands those with the fewest, then the oldest, are forgotten", () => {
    const many = Array.from({ length: 600 }, (_, n) => fileHand(`/m/${n}.yaml`, "d"));
    const [oldest] = many;
    const twice = afterDeath(new Map(), many.slice(0, 1));
    const deaths = afterDeath(twice, many);
    expect(deaths.size).toBe(500);
    expect(deaths.get(oldest === undefined ? "" : handKey(oldest))).toBe(2);
    expect(deaths.has(handKey(fileHand("/m/1.yaml", "d")))).toBe(false);
    expect(deaths.get(handKey(fileHand("/m/599.yaml", "d")))).toBe(1);
  });

  test("are read as they were written; what is no such record counts as none", () => {
    const record = { counted: "ab", deaths: new Map([["Pod u-1", 2]]) };
    expect(readDeathRecord(deathRecordText(record))).toEqual(record);
    for (const text of [undefined, "", "[]", '{"deaths": 7}', "{"])
      expect(readDeathRecord(text)).toEqual({ counted: "", deaths: new Map() });
  });
});
