import { describe, expect, test } from "bun:test";
import { mqttOf, NO_FLEET_FILE, readFleetFile } from "../../../src/fleet/fleet-file.ts";

describe("readFleetFile", () => {
  test("counts the members of groups as nodes", () => {
    expect(readFleetFile({ nodes: ["b", "a"], groups: { kiosks: ["c", "a"] } })).toMatchObject({
      ok: true,
      value: { nodes: ["a", "b", "c"], groups: { kiosks: ["c", "a"] } },
    });
  });

  test("names no nodes where the file names none", () => {
    expect(readFleetFile({ mqtt: { url: "mqtt://x" } })).toMatchObject({
      ok: true,
      value: { nodes: undefined },
    });
  });

  test.each([
    ["a list", [], ""],
    ["a field that is unknown", { node: [] }, "node"],
    ["a name that no node has", { nodes: ["+"] }, "nodes[0]"],
    ["nodes that are no list", { nodes: "a" }, "nodes"],
    ["a group that is no list", { groups: { a: "b" } }, "groups.a"],
    ["a group that no topic has", { groups: { "a/b": [] } }, "groups[a/b]"],
    ["a broker that is a text", { mqtt: "mqtt://x" }, "mqtt"],
  ])("refuses %s", (_, value, path) => {
    expect(readFleetFile(value)).toMatchObject({ ok: false, errors: [{ path }] });
  });
});

describe("mqttOf", () => {
  test("lets flags win, by the rules of a node", () => {
    const file = { ...NO_FLEET_FILE, mqtt: { url: "mqtt://a", username: "x" } };
    expect(mqttOf(file, { url: "mqtt://b" })).toMatchObject({
      ok: true,
      value: { url: "mqtt://b", username: "x", topicRoot: "agent/v1", protocolVersion: 5 },
    });
    expect(mqttOf(file, { url: "http://b" })).toMatchObject({ ok: false });
    expect(mqttOf(file, { caFile: "/ca" })).toMatchObject({ ok: false });
  });

  test("asks for a broker", () => {
    expect(mqttOf(NO_FLEET_FILE, {})).toMatchObject({ ok: false });
  });
});
