import { describe, expect, test } from "bun:test";
import { FleetView } from "../../../../src/fleet/ui/fleet-view.ts";
import {
  MAX_CELL,
  MAX_LIST,
  detailsOf,
  rowOf,
  type NodeRow,
} from "../../../../src/fleet/ui/node-row.ts";
import { readReport, readState } from "../../../../src/fleet/node-report.ts";

const bytes = (value: object): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function aRow(name: string, changed: Partial<NodeRow> = {}): NodeRow {
  return { ...rowOf({ name, state: undefined, report: undefined }), ...changed };
}

function aNode(report: object) {
  const state = readState(bytes({ state: "online", incarnation: "i", session: 1, agent: "1.2.3" }));
  return { name: "pi-1", state, report: readReport(bytes({ kind: "ReportedState", ...report })) };
}

describe("a row", () => {
  test("of a node that has reported nothing says so", () => {
    expect(aRow("pi-1")).toMatchObject({ state: "unknown", ready: "Unknown", isTrouble: false });
  });

  test("shows version, clock, pressure and the worst document", () => {
    const row = rowOf(
      aNode({
        clockTrusted: true,
        status: { conditions: [{ type: "MemoryPressure", status: "True" }] },
        desired: [
          { source: "node", phase: "Healthy", code: 200 },
          { source: "group/berlin", phase: "RolledBack", code: 424 },
        ],
      }),
    );
    expect(row).toMatchObject({
      state: "online",
      version: "1.2.3",
      isClockTrusted: true,
      troubles: ["MemoryPressure"],
      phase: "RolledBack",
      groups: ["berlin"],
      isTrouble: true,
    });
  });

  test("of a node whose update a maintenance window holds is no trouble", () => {
    const desired = [{ source: "node", phase: "Held", code: 423 }];
    expect(rowOf(aNode({ desired })).isTrouble).toBe(false);
  });

  test("and its details keep texts and lists of a device short", () => {
    const pods = Array.from({ length: MAX_LIST + 1 }, () => ({ name: "x".repeat(MAX_CELL + 1) }));
    const { podLines } = detailsOf(aNode({ pods }), []);
    expect(podLines.length).toBe(MAX_LIST);
    expect(podLines[0]?.name.length).toBe(MAX_CELL);
  });
});

describe("the view", () => {
  test("gives a reader what changed since it looked, and the newest of each node only", () => {
    const view = new FleetView();
    view.put(aRow("a"));
    view.put(aRow("b"));
    const first = view.since(0);
    expect(first).toMatchObject({ isWhole: true, removed: [] });
    expect(first?.rows.map(({ name }) => name)).toEqual(["a", "b"]);
    const version = first?.version ?? 0;
    expect(view.since(version)).toBeUndefined();
    for (const state of ["lost", "offline", "online"]) view.put(aRow("b", { state }));
    expect(view.since(version)).toMatchObject({
      isWhole: false,
      rows: [{ name: "b", state: "online" }],
    });
  });

  test("does not count what is the same", () => {
    const view = new FleetView();
    view.put(aRow("a"));
    const version = view.since(0)?.version ?? 0;
    view.put(aRow("a"));
    expect(view.since(version)).toBeUndefined();
  });

  test("tells of a node that is gone, and of one that came back", () => {
    const view = new FleetView();
    view.put(aRow("a"));
    const version = view.since(0)?.version ?? 0;
    view.remove("a");
    expect(view.since(version)).toMatchObject({ rows: [], removed: ["a"] });
    view.put(aRow("a"));
    expect(view.since(version)).toMatchObject({ rows: [{ name: "a" }], removed: [] });
  });

  test("gives everything anew to a reader that missed more removals than are remembered", () => {
    const view = new FleetView();
    view.put(aRow("stays"));
    const version = view.since(0)?.version ?? 0;
    for (let index = 0; index < 1001; index += 1) {
      view.put(aRow(`n${index}`));
      view.remove(`n${index}`);
    }
    expect(view.since(version)).toMatchObject({ isWhole: true, rows: [{ name: "stays" }] });
  });

  test("shows so many nodes and no more, and goes on with those", () => {
    const view = new FleetView();
    for (let index = 0; index <= 50_000; index += 1) view.put(aRow(`n${index}`));
    view.put(aRow("n7", { state: "lost" }));
    const rows = view.since(0)?.rows ?? [];
    expect(rows.length).toBe(50_000);
    expect(rows.find(({ name }) => name === "n7")?.state).toBe("lost");
  });
});
