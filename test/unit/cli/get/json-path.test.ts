import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { customCells, parseColumns } from "../../../../src/cli/get/custom-columns.ts";
import { CliError } from "../../../../src/cli/exit-codes.ts";
import { parseJsonPath, printJsonPath, type JsonPath } from "../../../../src/cli/get/json-path.ts";
import { orderBy } from "../../../../src/cli/get/sort-by.ts";

const LIST = {
  kind: "List",
  items: [
    {
      kind: "Pod",
      metadata: { name: "web", labels: { "app.kubernetes.io/name": "shop" } },
      status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }], restarts: 3 },
    },
    {
      kind: "Pod",
      metadata: { name: "db" },
      status: { phase: "Pending", podIPs: [], restarts: 0 },
    },
  ],
};

function printed(template: string): string {
  const path = parseJsonPath(template);
  return path.ok ? printJsonPath(path.value, LIST) : `error: ${path.errors[0]?.message}`;
}

function textOrMessage(path: JsonPath, value: unknown): string {
  try {
    return printJsonPath(path, value);
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
}

describe("a JSONPath template", () => {
  test.each([
    ["{.kind}", "List"],
    [".kind", "List"],
    ["{.items[*].metadata.name}", "web db"],
    ["{.items[0].metadata.name}", "web"],
    ["{.items[-1:].metadata.name}", "db"],
    ["{.items[-1].metadata.name}", "db"],
    ["{.items[0,1].metadata.name}", "web db"],
    ["{.items[0:1].metadata.name}", "web"],
    ["{..ip}", "10.0.0.1 fd00::1"],
    ["{.items[0].status['phase','restarts']}", "Running 3"],
    ['{.items[?(@.status.phase=="Running")].metadata.name}', "web"],
    ["{.items[?(@.status.restarts>1)].metadata.name}", "web"],
    ["{.items[?(@.metadata.labels)].metadata.name}", "web"],
    ["{.items[?(@.status.phase!='Running')].metadata.name}", "db"],
    ["{.items[0].metadata.labels.app\\.kubernetes\\.io/name}", "shop"],
    ["{.items[0].metadata.labels['app.kubernetes.io/name']}", "shop"],
    [
      '{range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}',
      "web\tRunning\ndb\tPending\n",
    ],
    ["pods: {.items[*].metadata.name}!", "pods: web db!"],
    ["{.items[0].status.podIPs}", '[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]'],
    ["{.nothing.at.all}", ""],
    ["{$.kind}", "List"],
    [
      "{.items[*]['kind','apiVersion']}{.items[*].status['phase','restarts']}",
      "Pod PodRunning Pending 3 0",
    ],
    ["{.items[0].status.podIPs[0]}", '{"ip":"10.0.0.1"}'],
    [
      "{.items[1].metadata}{.items[1].status}",
      '{"name":"db"}{"phase":"Pending","podIPs":[],"restarts":0}',
    ],
    ["{.items[5:5].kind}{.nothing[3]}", ""],
    ["{.items[?(@.status.podIPs[0])].metadata.name}", "web"],
  ])("%s is %j", (template, expected) => {
    expect(printed(template)).toBe(expected);
  });

  test.each([
    ["{.items[", "is not closed"],
    ["{range .items[*]}{.kind}", "{range} without {end}"],
    ["{end}", "{end} without {range}"],
    ["{.items[?(}", "cannot read"],
    ["{.a b}", "cannot read"],
  ])("%s is refused: %s", (template, message) => {
    expect(printed(template)).toContain(message);
  });

  test.each([
    ["{.items[2]}", "array index out of bounds: index 2, length 2"],
    ["{.items[-3].kind}", "array index out of bounds: index -1, length 2"],
    ["{.items[0:3].kind}", "array index out of bounds: index 2, length 2"],
    ["{.items[1:0].kind}", "starting index 1 is greater than ending index 0"],
    ["{.kind[0]}", "List is not array or slice"],
    [
      "{range .items[*]}{.status.podIPs[0].ip}{end}",
      "array index out of bounds: index 0, length 0",
    ],
  ])("%s fails: %s", (template, message) => {
    expect(() => printed(template)).toThrow(message);
  });

  test("of anything ends, whatever the object", () => {
    const pieces = [...Array.from("{}.[]*?()@'\"a1:,\\"), "range ", "end", "..", "=="];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...pieces), { maxLength: 30 }),
        fc.jsonValue(),
        (parts, value) => {
          const path = parseJsonPath(parts.join(""));
          if (path.ok) expect(textOrMessage(path.value, value)).toBeString();
        },
      ),
    );
  });
});

test("custom columns have a cell for each path", () => {
  const columns = parseColumns("NAME:.metadata.name,IPS:.status.podIPs[*].ip,X:.x");
  const rows = columns.ok ? LIST.items.map((item) => customCells(columns.value, item)) : [];
  expect(rows).toEqual([
    ["web", "10.0.0.1,fd00::1", "<none>"],
    ["db", "<none>", "<none>"],
  ]);
});

test.each([
  [".metadata.name", ["db", "web"]],
  ["{.status.restarts}", ["db", "web"]],
  [".metadata.labels", ["db", "web"]],
])("--sort-by %s", (path, names) => {
  const order = orderBy(path);
  const sorted = order.ok ? LIST.items.toSorted(order.value) : [];
  expect(sorted.map(({ metadata }) => metadata.name)).toEqual(names);
});
