// The plain fields of a protobuf message without its schema: enough for containerd's events, whose fields are few and old.

export interface WireFields {
  readonly strings: ReadonlyMap<number, string>;
  readonly numbers: ReadonlyMap<number, number>;
}

/** Field number → value, for length-delimited fields (as text) and varints; other fields are stepped over. */
export function stringFields(bytes: Uint8Array): WireFields {
  const strings = new Map<number, string>();
  const numbers = new Map<number, number>();
  const decoder = new TextDecoder();
  let place = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[place++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (place < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0:
        numbers.set(field, varint());
        break;
      case 1:
        place += 8;
        break;
      case 2: {
        const length = varint();
        strings.set(field, decoder.decode(bytes.subarray(place, place + length)));
        place += length;
        break;
      }
      case 5:
        place += 4;
        break;
      default:
        throw new Error(`a containerd event has a field of wire type ${tag % 8}`);
    }
  }
  return { strings, numbers };
}
