import { describe, expect, test } from "bun:test";
import {
  damageCondition,
  damageIn,
  damageMessage,
  readLightReport,
} from "../../../../src/node/storage/light-report.ts";

const finding = (part: string, outcome = "Found", file = "/x") => ({
  part,
  outcome,
  file,
  what: "it is torn",
  remedy: "r",
});

describe("the report of a light check", () => {
  test("is read with unknown and wrong fields", () => {
    const text = JSON.stringify({ items: [{ ...finding("image"), pods: ["a"] }, { part: 7 }, 3] });
    expect(readLightReport(text)).toEqual([
      { part: "image", file: "/x", what: "it is torn", outcome: "Found" },
      { part: "", file: "", what: "", outcome: "" },
    ]);
  });

  test.each(["", "{", "[]", '{"items":1}'])("is none: %j", (text) => {
    expect(readLightReport(text)).toBeUndefined();
  });

  test("has no damage in refused manifests, in what could not be checked, and in what was repaired", () => {
    const all = [
      finding("manifest"),
      finding("image", "Unchecked"),
      finding("state", "Repaired"),
      finding("image"),
    ];
    expect(damageIn(all)).toEqual([finding("image")]);
  });

  test("is a condition that names the first three, and where to look", () => {
    expect(damageCondition([])).toEqual([]);
    const damage = ["/a", "/b", "/c", "/d", "/e"].map((file) => finding("image", "Found", file));
    const [condition] = damageCondition(damage);
    expect(condition).toMatchObject({ type: "StorageDamaged", status: "True" });
    expect(condition?.message).toBe(damageMessage(damage));
    expect(damageMessage(damage)).toBe(
      "image /a: it is torn; image /b: it is torn; image /c: it is torn; 2 more; agent fsck shows all with what helps",
    );
  });
});
