import { describe, expect, test } from "bun:test";

import {
  fleetMetrics,
  MAX_LABEL_LENGTH,
  MAX_LABEL_VALUES,
} from "../../../../src/fleet/exporter/fleet-metrics.ts";
import { mayAnswer } from "../../../../src/fleet/exporter/scrape-request.ts";
import { readerAddress } from "../../../../src/fleet/http/reader-request.ts";
import type { KnownNode } from "../../../../src/fleet/known-nodes.ts";
import { readReport, readState } from "../../../../src/fleet/node-report.ts";
import { expositionOf } from "../../../../src/server/metrics/exposition.ts";

const NOW = Date.UTC(2026, 10, 21, 8);
const bytes = (value: object): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function aNode(name: string, state: object = {}, report: object | null = {}): KnownNode {
  return {
    name,
    state: readState(
      bytes({ state: "online", incarnation: "i", session: 1, agent: "1.2.3", ...state }),
    ),
    report:
      report === null
        ? undefined
        : readReport(
            bytes({
              kind: "ReportedState",
              time: "2026-11-21T07:59:00Z",
              clockTrusted: true,
              status: { conditions: [{ type: "Ready", status: "True" }] },
              ...report,
            }),
          ),
  };
}

function text(
  nodes: readonly KnownNode[],
  more: { perNode?: boolean; isConnected?: boolean } = {},
): string {
  return expositionOf(
    fleetMetrics({ nodes, isConnected: true, now: NOW, perNode: false, ...more }),
  );
}

describe("the metrics of a fleet", () => {
  test("count nodes by what they report", () => {
    const ack = {
      source: "group/g",
      epoch: "",
      generation: 7,
      digest: "d",
      phase: "RolledBack",
      code: 424,
    };
    const said = text([
      aNode("a", {}, { desired: [ack], clockTrusted: false }),
      aNode("b", { state: "lost" }, { desired: [{ ...ack, phase: "Healthy", code: 200 }] }),
      aNode("c", {}, null),
    ]);
    for (const line of [
      'agent_fleet_nodes{state="online"} 2',
      'agent_fleet_nodes{state="lost"} 1',
      'agent_fleet_nodes_ready{status="True"} 2',
      'agent_fleet_nodes_ready{status="Unknown"} 1',
      'agent_fleet_agent_versions{version="1.2.3"} 3',
      'agent_fleet_documents{source="group/g",phase="RolledBack",code="424"} 1',
      'agent_fleet_documents{source="group/g",phase="Healthy",code="200"} 1',
      'agent_fleet_document_generations{source="group/g",generation="7"} 2',
      "agent_fleet_clock_untrusted 1",
      'agent_fleet_report_age_seconds_bucket{le="60"} 1',
      "agent_fleet_report_age_seconds_count 1",
    ])
      expect(said.split("\n")).toContain(line);
  });

  test("are silent about nodes while there is no broker", () => {
    const said = text([aNode("a")], { isConnected: false });
    expect(said).toContain("agent_fleet_broker_connected 0\n");
    expect(said).not.toContain("agent_fleet_nodes");
  });

  test("have series of their own for each node only if that is wanted", () => {
    expect(text([aNode("a")])).not.toContain("agent_fleet_node_online");
    expect(text([aNode("a")], { perNode: true })).toContain(
      'agent_fleet_node_online{node="a"} 1\n',
    );
  });

  test("bound what nodes choose, and count the rest", () => {
    const nodes = Array.from({ length: 300 }, (_, index) =>
      aNode(`n${index}`, { agent: `${index}${"x".repeat(500)}` }),
    );
    const lines = text(nodes)
      .split("\n")
      .filter((line) => line.startsWith("agent_fleet_agent_versions{"));
    expect(lines).toHaveLength(MAX_LABEL_VALUES + 1);
    expect(lines).toContain(
      `agent_fleet_agent_versions{version="other"} ${300 - MAX_LABEL_VALUES}`,
    );
    const longest = Math.max(...lines.map((line) => line.indexOf('"}') - line.indexOf('="') - 2));
    expect(longest).toBe(MAX_LABEL_LENGTH);
  });
});

describe("a scrape", () => {
  const asked = (headers: Readonly<Record<string, string>>, method = "GET") => ({
    method,
    headers: new Headers({ host: "127.0.0.1:9460", ...headers }),
  });
  const any = (): boolean => true;

  test.each([
    [undefined, asked({})],
    [undefined, asked({ host: "localhost:9460" })],
    [undefined, asked({ host: "[::1]:9460" })],
    [403, asked({ host: "evil.test:9460" })],
    [403, asked({ origin: "http://evil.test" })],
    [403, asked({ "sec-fetch-site": "cross-site" })],
    [405, asked({}, "POST")],
  ] as const)("is answered with %p", (status, request) => {
    expect(mayAnswer(request, any)?.status).toBe(status);
  });

  test("needs the token where there is one", () => {
    const isToken = (sent: string | undefined): boolean => sent === "secret";
    expect(mayAnswer(asked({}), isToken)?.status).toBe(401);
    expect(mayAnswer(asked({ authorization: "Bearer wrong" }), isToken)?.status).toBe(401);
    expect(mayAnswer(asked({ authorization: "Bearer secret" }), isToken)).toBeUndefined();
  });

  test("goes to an address", () => {
    expect(readerAddress("127.0.0.1:9460")).toEqual({
      host: "127.0.0.1",
      port: 9460,
      isLoopback: true,
    });
    expect(readerAddress("[::1]:9460").isLoopback).toBe(true);
    expect(readerAddress("0.0.0.0:9460").isLoopback).toBe(false);
    for (const wrong of ["9460", ":9460", "host:9460", "127.0.0.1:99999", "127.0.0.1"])
      expect(() => readerAddress(wrong)).toThrow("is no address to listen on");
  });
});
