// Composes the document to publish from the files of an operator: its target and its version.

import type { FieldPath, Locate } from "../../api/decode/field-path.ts";
import type { YamlDocument } from "../../api/yaml/yaml-documents.ts";
import { failed, ok, type Result } from "../../lib/result.ts";
import { isSealed } from "./sealed-object.ts";
import { type JsonObject, isJsonObject, memberOf } from "../../lib/json.ts";

export type FleetTarget = { readonly node: string } | { readonly group: string };

/** One object with its file and its place there. */
export interface WrittenObject {
  readonly file: string;
  readonly value: unknown;
  readonly locate: Locate;
}

/** The content of all files of `-f`. */
export interface WrittenInput {
  /** A whole DesiredState, whose fields besides `resources` count too; undefined = plain objects. */
  readonly document: JsonObject | undefined;
  readonly objects: readonly WrittenObject[];
}

export interface WrittenFile {
  readonly file: string;
  readonly documents: readonly YamlDocument[];
}

export function gatherInput(files: readonly WrittenFile[]): Result<WrittenInput> {
  const all = files.flatMap(({ file, documents }) => documents.map((one) => ({ file, one })));
  const whole = all.filter(({ one }) => memberOf(one.value, "kind") === "DesiredState");
  const [first] = whole;
  if (first === undefined) {
    const objects = all.map(({ file, one }) => ({ file, value: one.value, locate: one.locate }));
    return ok({ document: undefined, objects });
  }
  if (all.length > 1 || !isJsonObject(first.one.value)) {
    const message = "a DesiredState must be the only document; put all objects into its resources";
    return failed([{ path: "", code: "Invalid", message: `${first.file}: ${message}` }]);
  }
  const { file, one } = first;
  const document = first.one.value;
  const resources: unknown = document["resources"];
  const list: readonly unknown[] = Array.isArray(resources) ? resources : [];
  const objects = list.map((value, index) => ({
    file,
    value,
    locate: (path: FieldPath) => one.locate(["resources", index, ...path]),
  }));
  return ok({ document, objects });
}

/** The target that a whole document names. */
export function targetOf(document: JsonObject | undefined): FleetTarget | undefined {
  const target = document?.["target"];
  const [node, group] = [memberOf(target, "node"), memberOf(target, "group")];
  if (typeof node === "string") return { node };
  return typeof group === "string" ? { group } : undefined;
}

export interface Composition {
  readonly input: WrittenInput;
  readonly target: FleetTarget;
  readonly epoch: string;
  readonly previousEpoch?: string;
  readonly generation: number;
  /** RFC 3339. */
  readonly issuedAt: string;
  readonly allowEmpty: boolean;
}

/** JSON with the version first, where a reader looks for it. */
export function composeDocument(composition: Composition): JsonObject {
  const { input, target, epoch, previousEpoch, generation, issuedAt, allowEmpty } = composition;
  const written = input.document ?? {};
  const { resources: _, epoch: __, target: wanted, allowEmpty: allowed, ...rest } = written;
  const values = input.objects.map(({ value }) => value);
  const before: unknown = written["sealed"];
  const kept: readonly unknown[] = Array.isArray(before) ? before : [];
  const sealed = [...kept, ...values.filter(isSealed)];
  const fleet = isJsonObject(wanted) ? { fleet: wanted["fleet"] } : {};
  return {
    ...rest,
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { ...fleet, ...target },
    ...(epoch === "" ? {} : { epoch }),
    ...(previousEpoch === undefined ? {} : { previousEpoch }),
    generation,
    issuedAt,
    ...(allowEmpty || allowed === true ? { allowEmpty: true } : {}),
    resources:
      written["resources"] === undefined || values.length > 0
        ? values.filter((value) => !isSealed(value))
        : written["resources"],
    ...(sealed.length === 0 ? {} : { sealed }),
  };
}

/** `node`, `group/<g>`: how reports name the source of the target's document. */
export function sourceOf(target: FleetTarget): string {
  return "node" in target ? "node" : `group/${target.group}`;
}

/** `node pi-1`, `group kiosks`. */
export function targetName(target: FleetTarget): string {
  return "node" in target ? `node ${target.node}` : `group ${target.group}`;
}
