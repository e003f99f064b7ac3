// The JSON Schemas of `agent schema` against the manifests of test/fixtures: they refuse nothing that reading accepts, and
// what reading refuses unless the reason stands in BEYOND_SCHEMA.

import { describe, expect, test } from "bun:test";

import {
  SCHEMA_KINDS,
  kindSchema,
  manifestSchema,
} from "../../../../src/api/schema/schema-kinds.ts";
import { readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";
import { isJsonObject } from "../../../../src/lib/json.ts";
import { validatorOf } from "../../../fakes/json-schema.ts";
import { decodeText, fixturesIn } from "../fixture-files.ts";

const refusedByManifest = validatorOf(manifestSchema());
const KINDS = new Map(SCHEMA_KINDS.map((kind) => [`${kind.kind}`, validatorOf(kindSchema(kind))]));

/** Where the documents of a text, and the items of its lists, are refused. */
function refusedPlaces(text: string): readonly string[] {
  const documents = readDocuments(text).documents.map(({ value }) => value);
  return documents.flatMap((value) => [value, ...itemsOf(value)]).flatMap(refusedByManifest);
}

function itemsOf(value: unknown): readonly unknown[] {
  const items = isJsonObject(value) ? value["items"] : undefined;
  return Array.isArray(items) ? items : [];
}

/** Fixtures of which JSON Schema can express no error, by the reason. */
const BEYOND_SCHEMA: Readonly<Record<string, readonly string[]>> = {
  "accepted, with a warning or for another node": [
    "dns-without-cluster.yaml",
    "resources-of-bytes-in-thousandths.yaml",
    "security-seccomp-annotation.yaml",
    "unknown-fields-warned.yaml",
  ],
  "no object: the text is not YAML, has no document, or breaks a limit": [
    "bomb.yaml",
    "duplicate-key.yaml",
    "empty.yaml",
    "syntax.yaml",
    "yaml-at-sign.yaml",
    "yaml-bad-indentation.yaml",
    "yaml-binary.yaml",
    "yaml-colon-in-text.yaml",
    "yaml-duplicate-in-flow.yaml",
    "yaml-map-as-key.yaml",
    "yaml-merge-conflict.yaml",
    "yaml-merge-of-text.yaml",
    "yaml-star-as-text.yaml",
    "yaml-tabs.yaml",
    "yaml-tags-of-the-core.yaml",
    "yaml-tags.yaml",
    "yaml-template.yaml",
    "yaml-too-deep.yaml",
    "yaml-too-many-documents.yaml",
    "yaml-unclosed-quote.yaml",
    "yaml-unknown-alias.yaml",
  ],
  "equal names or places in two items of a list": [
    "duplicates.yaml",
    "mounts-same-path.yaml",
    "ports-conflict-of-containers.yaml",
    "token-volume-before-others.yaml",
  ],
  "a name that another part of the object must have": ["mounts-of-no-volume.yaml"],
  "a relation of the values of several fields": [
    "hook-sleeps-too-long.yaml",
    "host-name-too-long.yaml",
    "list-of-lists.yaml",
    "node-affinity-fields.yaml",
    "ports-on-the-network-of-the-host.yaml",
    "secret-types-without-their-keys.yaml",
    "security-app-armor-both.yaml",
  ],
  "an amount against another, its unit or its largest value": [
    "resources-huge-pages.yaml",
    "resources-more-than-allowed.yaml",
    "resources-of-the-pod-after-defaults.yaml",
    "resources-request-over-limit.yaml",
    "resources-too-large.yaml",
  ],
  "a text in a language of its own": [
    "dependencies-too-many.yaml",
    "devices-annotation.yaml",
    "devices-too-many.yaml",
    "our-annotations.yaml",
    "resources-devices.yaml",
    "security-app-armor-annotation.yaml",
  ],
  "the length of texts together, or in bytes": [
    "dns-search-too-long.yaml",
    "volumes-item-name-too-long.yaml",
  ],
  "accepted with the amount 0, which asks for nothing": ["resources-extended.yaml"],
  "checked for its names only, as unknown fields are to pass": [
    "unknown-fields-warned-but-needed.yaml",
  ],
};

const BEYOND = Object.values(BEYOND_SCHEMA).flat();

describe("what reading accepts", () => {
  const all = [...fixturesIn("valid"), ...fixturesIn("invalid")];
  test.each(all.map((fixture) => [fixture.file, fixture] as const))("%s", (_file, fixture) => {
    // As it is stored: an unquoted `yes` that was meant as text is text.
    const { pods, objects } = decodeText(fixture);
    for (const { written } of [...pods, ...objects]) {
      expect(refusedByManifest(written)).toEqual([]);
      expect(KINDS.get(String(written["kind"]))?.(written)).toEqual([]);
    }
  });
});

test("objects of other kinds, which are skipped, are accepted, also in a list", () => {
  const metadata = { name: "web" };
  const others = [
    { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [] } },
    { apiVersion: "apps/v1", kind: "ReplicaSet", metadata },
    { apiVersion: "example.com/v1", kind: "Sensor", metadata },
  ];
  const lists = [{ apiVersion: "v1", kind: "List", items: others }];
  for (const object of [...others, ...lists]) expect(refusedByManifest(object)).toEqual([]);
});

describe("what reading refuses", () => {
  test.each(fixturesIn("invalid").map(({ file, text }) => [file, text] as const))(
    "%s",
    (file, text) => {
      const isRefused = refusedPlaces(text).length > 0;
      expect([file, isRefused]).toEqual([file, !BEYOND.includes(file)]);
    },
  );

  test("is listed once where no schema can express it, and exists", () => {
    const files = fixturesIn("invalid").map(({ file }) => file);
    expect(BEYOND.filter((file) => !files.includes(file))).toEqual([]);
    expect(new Set(BEYOND).size).toBe(BEYOND.length);
  });
});

const PLACES: Readonly<Record<string, string>> = {
  "env-names.yaml": "spec.containers[0].env[0].name",
  "env-value-from-two.yaml": "spec.containers[0].env[0].valueFrom",
  "env-from-both.yaml": "spec.containers[0].envFrom[0]",
  "mounts-sub-path.yaml": "spec.containers[0].volumeMounts[0].subPath",
  "ports-numbers.yaml": "spec.containers[0].ports[0].containerPort",
  "probe-with-two-handlers.yaml": "spec.containers[0].livenessProbe",
  "resources-misspelt.yaml": "spec.containers[0].resources.limits[mem]",
  "restart-rules.yaml": "spec.initContainers[1].restartPolicy",
  "security-seccomp.yaml": "spec.securityContext.seccompProfile.type",
  "security-ids.yaml": "spec.securityContext.runAsUser",
  "volumes-with-two-sources.yaml": "spec.volumes[0]",
  "config-map-keys.yaml": "data[a b]",
  "kind-misspelt.yaml": "kind",
};

test.each(Object.entries(PLACES))("%s is refused at %s", (file, place) => {
  const text = fixturesIn("invalid").find((fixture) => fixture.file === file)?.text ?? "";
  expect(refusedPlaces(text)).toContain(place);
});
