import { describe, expect, test } from "bun:test";
import { conflictMessage, takeOver } from "../../../../src/server/kube/write/field-manager.ts";

const TIME = "2026-01-01T00:00:00Z";
const object = (image: string, more: object = {}) => ({
  metadata: { name: "web" },
  spec: {
    containers: [
      { name: "main", image },
      { name: "side", image: "b" },
    ],
  },
  ...more,
});

function taken(
  before: object | undefined,
  wanted: object,
  [name, operation, force = false]: readonly [string, "Apply" | "Update", boolean?],
) {
  const own = before as Record<string, unknown> | undefined;
  const next = wanted as Record<string, unknown>;
  return takeOver(own, next, { manager: { name, operation, time: TIME }, force });
}

function written(by: string, operation: "Apply" | "Update", image = "a") {
  const first = taken(undefined, object(image), [by, operation]);
  if (first.type !== "Changed") throw new Error(first.type);
  return first.object;
}

describe("an object", () => {
  const cases: Readonly<
    Record<string, readonly [object, readonly [string, "Apply" | "Update", boolean?], string]>
  > = {
    "stays as it is for its manager": [object("a"), ["me", "Apply"], "Same"],
    "is changed by its manager": [object("b"), ["me", "Apply"], "Changed"],
    "goes to another manager that applies the same": [object("a"), ["other", "Apply"], "Changed"],
    "is kept from another manager": [object("b"), ["other", "Apply"], "Conflict"],
    "is taken by force": [object("b"), ["other", "Apply", true], "Changed"],
    "is not taken over by an update that changes nothing": [
      object("a"),
      ["other", "Update"],
      "Same",
    ],
    "is taken over by an update": [object("b"), ["other", "Update"], "Changed"],
  };
  test.each(Object.entries(cases))("%s", (_case, [wanted, manager, type]) => {
    expect(taken(written("me", "Apply"), wanted, manager).type).toBe(type as "Same");
  });

  test("without a manager, as a person has written it, is anyone's", () => {
    expect(taken(object("a"), object("b"), ["me", "Apply"]).type).toBe("Changed");
  });

  test("of kubectl apply goes to kubectl apply --server-side", () => {
    const before = written("kubectl-client-side-apply", "Update");
    expect(taken(before, object("b"), ["kubectl", "Apply"]).type).toBe("Changed");
    expect(taken(before, object("b"), ["me", "Apply"]).type).toBe("Conflict");
  });

  test("names each field that is another one's", () => {
    const wanted = object("b", { data: { x: "1" } });
    const next = taken(written("other", "Apply"), wanted, ["me", "Apply"]);
    expect(next.type === "Conflict" ? conflictMessage(next.causes) : "").toBe(
      'Apply failed with 2 conflicts:\n- conflict with "other" using v1: .data\n- conflict with "other" using v1: .spec.containers[name="main"].image',
    );
  });
});
