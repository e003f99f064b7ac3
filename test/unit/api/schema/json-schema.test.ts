// The JSON Schema of a pod against the manifests of test/fixtures: it refuses nothing that reading accepts, and much of what reading refuses.

import { expect, test } from "bun:test";

import { POD_SPEC } from "../../../../src/api/v1/pod-spec.ts";
import { readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";
import { isJsonObject } from "../../../../src/lib/json.ts";
import { refusedPlaces } from "../../../fakes/matches-schema.ts";
import { fixturesIn } from "../fixture-files.ts";

const SCHEMA = POD_SPEC.schema();

/** A schema cannot know of the annotation that permits unknown fields, nor that an unquoted `yes` was meant as text. */
const BEYOND_SCHEMA: readonly string[] = ["unknown-fields-beside-sources.yaml", "yaml-words.yaml"];

function specsOf(text: string): readonly unknown[] {
  return readDocuments(text).documents.flatMap(({ value }) => podSpecs(value));
}

function podSpecs(value: unknown): readonly unknown[] {
  if (!isJsonObject(value)) return [];
  const { kind, spec, items } = value;
  if (kind === "Pod") return [spec];
  return Array.isArray(items) ? items.flatMap(podSpecs) : [];
}

const valid = fixturesIn("valid").filter(({ file }) => !BEYOND_SCHEMA.includes(file));

test.each(valid.map(({ file, text }) => [file, text] as const))("accepts %s", (_file, text) => {
  expect(specsOf(text).flatMap((spec) => refusedPlaces(SCHEMA, spec))).toEqual([]);
});

const REFUSED: Readonly<Record<string, string>> = {
  "env-names.yaml": ".containers[0].env[0].name",
  "env-value-from-two.yaml": ".containers[0].env[0].valueFrom",
  "env-from-both.yaml": ".containers[0].envFrom[0]",
  "mounts-sub-path.yaml": ".containers[0].volumeMounts[0].subPath",
  "ports-numbers.yaml": ".containers[0].ports[0].containerPort",
  "probe-with-two-handlers.yaml": ".containers[0].livenessProbe",
  "resources-misspelt.yaml": ".containers[0].resources.limits",
  "restart-rules.yaml": ".initContainers[1].restartPolicy",
  "security-seccomp.yaml": ".securityContext.seccompProfile.type",
  "security-ids.yaml": ".securityContext.runAsUser",
  "volumes-with-two-sources.yaml": ".volumes[0]",
};

test.each(Object.entries(REFUSED))("refuses %s at %s", (file, place) => {
  const text = fixturesIn("invalid").find((fixture) => fixture.file === file)?.text ?? "";
  expect(specsOf(text).flatMap((spec) => refusedPlaces(SCHEMA, spec))).toContain(place);
});
