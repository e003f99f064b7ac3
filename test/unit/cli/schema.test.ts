// The JSON Schemas of documents and of the configuration: they refuse nothing that reading accepts. Manifests: test/unit/api/schema.

import { describe, expect, test } from "bun:test";

import { SCHEMA_WORDS, jsonSchema } from "../../../src/cli/schema.ts";
import { decodeConfig } from "../../../src/config/config.ts";
import { readDocuments } from "../../../src/api/yaml/yaml-documents.ts";
import { isJsonObject } from "../../../src/lib/json.ts";
import { validatorOf } from "../../fakes/json-schema.ts";
import { aWrittenPod } from "../source/desired-arrival.ts";

const document = validatorOf(jsonSchema("desiredstate"));
const configuration = validatorOf(jsonSchema("configuration"));

function desired(changes: object): object {
  const base = { apiVersion: "agent/v1", kind: "DesiredState", generation: 1, resources: [] };
  return { ...base, ...changes };
}

describe("a DesiredState", () => {
  const accepted: Readonly<Record<string, object>> = {
    "with the fields that it needs": {},
    "with every field": {
      target: { node: "pi-1" },
      epoch: "a",
      previousEpoch: "b",
      issuedAt: "2026-11-21T08:00:00Z",
      expiresAt: "2026-12-21T08:00:00+01:00",
      requires: { agent: ">=1.2", arch: ["arm64"], features: ["x"], documents: { node: 1 } },
      policy: { minReadySeconds: 0, onFailure: "hold", requireUpstream: true, staged: false },
      allowEmpty: true,
      groups: [{ name: "berlin", priority: 5 }],
      labels: { site: "berlin" },
      resources: [aWrittenPod("web"), { apiVersion: "v1", kind: "List", items: [] }],
    },
    "with fields of a newer agent, of which it warns": { newer: 1, policy: { newer: 1 } },
    "with an object that lets unknown fields pass": {
      resources: [
        {
          ...aWrittenPod("web", { hostNetwrok: true }),
          metadata: { name: "web", annotations: { "agent/unknown-fields": "warn" } },
        },
      ],
    },
  };
  test.each(Object.entries(accepted))("%s is accepted", (_case, changes) => {
    expect(document(desired(changes))).toEqual([]);
  });

  const refused: Readonly<Record<string, object>> = {
    apiVersion: { apiVersion: "v1" },
    kind: { kind: "Pod" },
    generation: { generation: 0 },
    resources: { resources: undefined },
    "target.nodes": { target: { nodes: ["a"] } },
    "requires.kernel": { requires: { kernel: ">=6" } },
    "policy.onFailure": { policy: { onFailure: "panic" } },
    "agent.version": { agent: {} },
    "config.maxPods": { config: { maxPods: 3 } },
    "config.mqtt.keyFile": { config: { mqtt: { keyFile: "/etc/key.pem" } } },
    "groups[0].name": { groups: [{ name: "" }] },
    "resources[0].kind": { resources: [{ apiVersion: "v1", kind: "Podd" }] },
    "resources[0].spec.hostNetwrok": { resources: [aWrittenPod("web", { hostNetwrok: true })] },
  };
  test.each(Object.entries(refused))("is refused at %s", (place, changes) => {
    const written: unknown = JSON.parse(JSON.stringify(desired(changes)));
    expect(document(written)).toContain(place);
  });
});

describe("a configuration", () => {
  test("that the documentation shows is accepted", async () => {
    const pages = ["README.md", "docs/operations.md", "docs/fleet.md", "docs/volumes.md"];
    const texts = await Promise.all(pages.map((page) => Bun.file(page).text()));
    const blocks = texts.flatMap((text) => [...text.matchAll(/^```yaml\n([^]*?)^```/gm)]);
    const shown = blocks
      .flatMap(([, yaml = ""]) => readDocuments(yaml).documents.map(({ value }) => value))
      .filter((value) => isJsonObject(value) && value["kind"] === "AgentConfiguration");
    expect(shown.length).toBeGreaterThan(0);
    for (const value of shown) expect(configuration(value)).toEqual([]);
  });

  const refused: Readonly<Record<string, unknown>> = {
    kind: { kind: "KubeletConfiguration" },
    staticPodPath: { staticPodPath: "etc" },
    stateDir: { stateDir: "" },
    maxPods: { maxPods: 0 },
    containerRuntimeEndpoint: { containerRuntimeEndpoint: "/run/containerd.sock" },
    "nodeLabels.site": { nodeLabels: { site: "a b" } },
    "clusterDNS[0]": { clusterDNS: ["dns.google"] },
    podPidsLimit: { podPidsLimit: 0 },
    "systemReserved.disk": { systemReserved: { disk: "1Gi" } },
    "crashLoopBackOff.maxContainerRestartPeriod": {
      crashLoopBackOff: { maxContainerRestartPeriod: 90 },
    },
    "mqtt.url": { mqtt: { url: "http://broker.example" } },
    "mqtt.podPolicy.profile": { mqtt: { podPolicy: {} } },
    listen: { listen: "10255" },
    socketGroup: { socketGroup: "a b" },
    podCIDR: { podCIDR: "" },
    unknown: { unknown: 1 },
  };
  test.each(Object.entries(refused))("is refused at %s", (place, written) => {
    expect(decodeConfig(written).ok).toBe(false);
    expect(configuration(written)).toContain(place);
  });
});

test.each(SCHEMA_WORDS.map((word) => [word]))("the schema of %s describes its fields", (word) => {
  const schema = jsonSchema(word);
  expect(schema["$schema"]).toBe("http://json-schema.org/draft-07/schema#");
  expect(String(schema["title"]).length).toBeGreaterThan(2);
  expect(String(schema["description"]).length).toBeGreaterThan(10);
  expect(JSON.stringify(schema).match(/"description"/g)?.length).toBeGreaterThan(10);
});
