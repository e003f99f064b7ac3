// Writes fields of protobuf messages, as much as OpenAPI needs: texts, booleans and messages.

const encoder = new TextEncoder();
const LENGTH_DELIMITED = 2;

export type Bytes = readonly Uint8Array[];

/** The default of a field is not written. */
export function textField(number: number, text: unknown): Bytes {
  return typeof text === "string" && text !== "" ? bytesField(number, encoder.encode(text)) : [];
}

export function textFields(number: number, texts: unknown): Bytes {
  return Array.isArray(texts)
    ? (texts as readonly unknown[]).flatMap((text) => textField(number, text))
    : [];
}

export function booleanField(number: number, value: unknown): Bytes {
  return value === true ? [varint(number << 3), varint(1)] : [];
}

/** Written also if it has no fields. */
export function messageField(number: number, fields: Bytes): Bytes {
  const length = fields.reduce((sum, part) => sum + part.length, 0);
  return [varint((number << 3) | LENGTH_DELIMITED), varint(length), ...fields];
}

export function joined(fields: Bytes): Uint8Array {
  const whole = new Uint8Array(fields.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of fields) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function bytesField(number: number, bytes: Uint8Array): Bytes {
  return [varint((number << 3) | LENGTH_DELIMITED), varint(bytes.length), bytes];
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Uint8Array.of(...bytes, rest);
}
