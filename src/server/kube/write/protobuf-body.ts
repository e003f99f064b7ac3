// Objects as kubectl sends them from its own flags (`kubectl create configmap`, `kubectl create secret`): Kubernetes'
// protobuf. Other objects come as JSON. k8s: runtime.Unknown, core/v1 and meta/v1 generated.proto; the numbers are theirs

import { failed, ok, type Result } from "../../../lib/result.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json.ts";

export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** Before each message: `k8s` and a zero byte. */
const MAGIC = [0x6b, 0x38, 0x73, 0];
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
const MAX_VARINT_BYTES = 10;

type Value = number | Uint8Array;
/** The name of a field by its number, how one value is read, and what all of them make; absent = the last counts. */
type Shape = Readonly<
  Record<
    number,
    readonly [
      name: string,
      read: (value: Value) => unknown,
      join?: (values: readonly unknown[]) => unknown,
    ]
  >
>;

class Malformed extends Error {}

/** The object as JSON has it. */
export function readProtobuf(bytes: Uint8Array): Result<JsonObject> {
  try {
    return readEnvelope(bytes);
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return refuse(`the body is no protobuf message: ${error.message}`);
  }
}

function refuse(message: string): Result<JsonObject> {
  return failed([{ path: "", code: "Invalid", message }]);
}

function readEnvelope(bytes: Uint8Array): Result<JsonObject> {
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) throw new Malformed("it has no prefix");
  const envelope = read(bytes.subarray(MAGIC.length), {
    1: [
      "type",
      (value) => read(bytesOf(value), { 1: ["apiVersion", textOf], 2: ["kind", textOf] }),
    ],
    2: ["raw", bytesOf],
  });
  const { type, raw } = envelope;
  const { kind = "", ...version } = isJsonObject(type) ? type : {};
  const shape = typeof kind === "string" && Object.hasOwn(SHAPES, kind) ? SHAPES[kind] : undefined;
  if (shape === undefined)
    return refuse(
      `an object of kind ${JSON.stringify(kind)} is not read as ${PROTOBUF}: send it as application/json`,
    );
  return ok({
    ...version,
    kind,
    ...read(raw instanceof Uint8Array ? raw : new Uint8Array(), shape),
  });
}

const METADATA: Shape = {
  1: ["name", textOf],
  2: ["generateName", textOf],
  3: ["namespace", textOf],
  5: ["uid", textOf],
  6: ["resourceVersion", textOf],
  11: mapOf("labels", textOf),
  12: mapOf("annotations", textOf),
};
const HEAD: Shape = { 1: ["metadata", (value) => read(bytesOf(value), METADATA)] };

const SHAPES: Readonly<Record<string, Shape>> = {
  ConfigMap: {
    ...HEAD,
    2: mapOf("data", textOf),
    3: mapOf("binaryData", base64Of),
    4: ["immutable", flagOf],
  },
  Secret: {
    ...HEAD,
    2: mapOf("data", base64Of),
    3: ["type", textOf],
    4: mapOf("stringData", textOf),
    5: ["immutable", flagOf],
  },
  DeleteOptions: {
    1: ["gracePeriodSeconds", numberOf],
    2: [
      "preconditions",
      (value) => read(bytesOf(value), { 1: ["uid", textOf], 2: ["resourceVersion", textOf] }),
    ],
    5: ["dryRun", textOf, (values) => values],
  },
};

/** The known fields of one message; unknown ones are left out. */
function read(bytes: Uint8Array, shape: Shape): JsonObject {
  const found = new Map<number, unknown[]>();
  for (const [number, value] of fieldsOf(bytes)) {
    const [, member] = shape[number] ?? [];
    if (member === undefined) continue;
    const values = found.get(number) ?? [];
    values.push(member(value));
    found.set(number, values);
  }
  const members = [...found].map(([number, values]) => {
    const [name = "", , join] = shape[number] ?? [];
    return [name, join === undefined ? values.at(-1) : join(values)] as const;
  });
  return Object.fromEntries(members);
}

function* fieldsOf(bytes: Uint8Array): Generator<readonly [number, Value], void> {
  let at = 0;
  const varint = (): number => {
    let [value, factor] = [0, 1];
    for (let count = 0; count < MAX_VARINT_BYTES; count += 1) {
      const byte = bytes[at];
      if (byte === undefined) break;
      at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    throw new Malformed("a number does not end");
  };
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new Malformed("a field does not end");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case VARINT:
        yield [number, varint()];
        break;
      case BYTES:
        yield [number, take(varint())];
        break;
      case FIXED_64:
        take(8);
        break;
      case FIXED_32:
        take(4);
        break;
      default:
        throw new Malformed("a field has an unknown form");
    }
  }
}

function bytesOf(value: Value): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new Malformed("a text is a number");
}

function textOf(value: Value): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(value));
  } catch {
    throw new Malformed("a text is not UTF-8");
  }
}

function base64Of(value: Value): string {
  return bytesOf(value).toBase64();
}

function numberOf(value: Value): number {
  if (typeof value === "number") return value;
  throw new Malformed("a number is a text");
}

function flagOf(value: Value): boolean {
  return numberOf(value) !== 0;
}

/** A field that is a map: each entry is a message of its own. */
function mapOf(name: string, valueOf: (value: Value) => unknown): Shape[number] {
  const entry: Shape = { 1: ["key", textOf], 2: ["value", valueOf] };
  return [name, (value) => read(bytesOf(value), entry), joinedEntries];
}

function joinedEntries(entries: readonly unknown[]): JsonObject {
  const pairs = entries.map((entry) => {
    const { key = "", value = "" } = isJsonObject(entry) ? entry : {};
    return [String(key), value] as const;
  });
  return Object.fromEntries(pairs);
}
