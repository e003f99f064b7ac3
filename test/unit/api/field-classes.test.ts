// Every field of the registry, written into an object that is decoded: what the registry says is what happens.

import { describe, expect, test } from "bun:test";
import type { Exception, Verdict } from "../../../src/api/decode/field-rules.ts";
import { allFields, type FieldAt } from "../../../src/api/schema/find-field.ts";
import { ALL_SCHEMA_KINDS, type AnySchemaKind } from "../../../src/api/schema/schema-kinds.ts";
import { versionOf } from "../../../src/api/workload/workload-kinds.ts";
import { decode } from "./written-pod.ts";

const RUNS = {
  selector: { matchLabels: { app: "a" } },
  template: {
    metadata: { labels: { app: "a" } },
    spec: { containers: [{ name: "a", image: "x:1" }] },
  },
};

const ENDS = { template: { spec: { ...RUNS.template.spec, restartPolicy: "Never" } } };

const SMALLEST: Readonly<Record<AnySchemaKind["kind"], object>> = {
  Pod: { spec: { containers: [{ name: "a", image: "x:1" }] } },
  ConfigMap: { data: {} },
  Secret: { data: {} },
  PersistentVolumeClaim: {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
  Deployment: { spec: RUNS },
  DaemonSet: { spec: RUNS },
  StatefulSet: { spec: RUNS },
  Job: { spec: ENDS },
  CronJob: { spec: { schedule: "@daily", jobTemplate: { spec: ENDS } } },
};

/** The smallest object of the kind with `value` at `path`, which is the first item of every list. */
function written(kind: AnySchemaKind["kind"], path: string, value: unknown): object {
  const whole = { apiVersion: versionOf(kind), kind, metadata: { name: "web" }, ...SMALLEST[kind] };
  return laid(whole, path.split("."), value);
}

function laid(onto: object, [step = "", ...rest]: readonly string[], value: unknown): object {
  const name = step.replace("[]", "");
  const there: unknown = new Map(Object.entries(onto)).get(name);
  const first: unknown = step.endsWith("[]") && Array.isArray(there) ? there[0] : there;
  const below = rest.length === 0 ? value : laid(isObject(first) ? first : {}, rest, value);
  return { ...onto, [name]: step.endsWith("[]") ? [below] : below };
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Something of the field's type that asks for something. */
function someValue({ field: { type } }: FieldAt): unknown {
  if (type === "string" || type === "Time") return "x";
  if (type === "integer") return 1;
  if (type === "boolean") return true;
  return type.startsWith("[]") ? [{ name: "x" }] : { name: "x" };
}

/** What is said about a field or what is below it. */
function said(kind: AnySchemaKind["kind"], path: string, value: unknown): readonly string[] {
  const place = path.replaceAll("[]", "[0]");
  const { errors, notices } = decode(written(kind, path, value));
  return [...errors, ...notices]
    .filter((one) => one.path === place || one.path.startsWith(`${place}.`))
    .map(({ code, message }) => `${code}: ${message}`);
}

function expected(verdict: Verdict): readonly string[] {
  switch (verdict.type) {
    case "Supported":
    case "Silent":
      return [];
    case "Ignored":
      return [`Ignored: ${verdict.message}`];
    case "Refused":
      return [`${verdict.code}: ${verdict.message}`];
  }
}

describe.each(ALL_SCHEMA_KINDS.map((kind) => [kind.kind, kind.level] as const))(
  "%s",
  (kind, level) => {
    // What holds for a container holds for an init container: they are one level.
    const fields = allFields(level).filter(({ path }) => !path.startsWith("spec.initContainers[]"));
    const isSupported = ({ field }: FieldAt): boolean => field.rule.verdict.type === "Supported";
    const rest = fields.filter((at) => !isSupported(at));
    const exceptions = fields.flatMap((at) =>
      at.field.rule.except.map((exception): [string, Exception] => [at.path, exception]),
    );
    const levels = ["", ...fields.flatMap(({ path, field }) => below(path, field))];

    test.each(rest.map((at) => [at.path, at] as const))(
      "%s is treated according to its class",
      (path, at) => {
        expect(said(kind, path, someValue(at))).toEqual([...expected(at.field.rule.verdict)]);
      },
    );

    test.each(rest.map(({ path }) => path))("%s: null is the same as not written", (path) => {
      expect(said(kind, path, null)).toEqual([]);
    });

    for (const [path, { values, verdict }] of exceptions)
      test.each(values.map((value) => [value]))(`${path} with %j`, (value) => {
        expect(said(kind, path, value)).toEqual([...expected(verdict)]);
      });

    test.each(levels)("nothing unknown passes in %s", (place) => {
      const path = place === "" ? "nosuchthing" : `${place}.nosuchthing`;
      expect(said(kind, path, 1)).toEqual(["UnknownField: unknown field"]);
    });

    test.each(fields.filter(isSupported).map(({ path }) => path))("%s is known", (path) => {
      expect(said(kind, path, null).filter((text) => text.startsWith("UnknownField"))).toEqual([]);
    });
  },
);

function below(path: string, { level, type }: FieldAt["field"]): readonly string[] {
  if (level === undefined) return [];
  return [type.startsWith("[]") ? `${path}[]` : path];
}
