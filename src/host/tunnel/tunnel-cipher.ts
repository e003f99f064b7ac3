// Performs: encrypts the packets of a tunnel: a key for each direction, and a number for each packet.

import { derivedKey, openAes, sealAes } from "../crypto/aes-gcm.ts";
import { sharedSecret, x25519KeyPair, type X25519KeyPair } from "../crypto/x25519.ts";
import type { Random } from "../../lib/random.ts";
import { numberBytes, readNumber } from "../../protocol/tunnel/frames.ts";
import { handshakeMessage, type HandshakeFacts } from "../../protocol/tunnel/handshake.ts";

const NUMBER_BYTES = 6;
const LABEL = new TextEncoder().encode("agent/v1 tunnel");
export type TunnelSide = "operator" | "node";

/** A key that is used once. */
export function tunnelKey(random: Pick<Random, "hex">): X25519KeyPair {
  return x25519KeyPair(Uint8Array.fromHex(random.hex(32)));
}

export class TunnelCipher {
  readonly #sending: Uint8Array;
  readonly #receiving: Uint8Array;
  /** Of the next packet. */
  #number = 0;
  /** The highest that was opened, or -1: a copy of an older packet counts for nothing. */
  #opened = -1;

  private constructor(sending: Uint8Array, receiving: Uint8Array) {
    this.#sending = sending;
    this.#receiving = receiving;
  }

  /** undefined = the other side's key is none. */
  static agree(
    side: TunnelSide,
    own: X25519KeyPair,
    facts: HandshakeFacts,
  ): TunnelCipher | undefined {
    const other = side === "operator" ? facts.nodeKey : facts.operatorKey;
    const secret = sharedSecret(own.privateKey, other);
    if (secret === undefined) return undefined;
    const salt = handshakeMessage(facts);
    const toNode = derivedKey(secret, "agent/tunnel/v1/to-node", salt);
    const toOperator = derivedKey(secret, "agent/tunnel/v1/to-operator", salt);
    return side === "operator"
      ? new TunnelCipher(toNode, toOperator)
      : new TunnelCipher(toOperator, toNode);
  }

  /** The packet's number, ciphertext and tag. */
  seal(plain: Uint8Array): Uint8Array {
    const number = this.#number;
    this.#number += 1;
    const sealed = sealAes(plain, { key: this.#sending, number, label: LABEL });
    return new Uint8Array(Buffer.concat([numberBytes(number), sealed]));
  }

  /** undefined = it is not from the other side, or older than one that was opened. */
  open(packet: Uint8Array): Uint8Array | undefined {
    if (packet.length < NUMBER_BYTES) return undefined;
    const number = readNumber(packet, 0);
    if (number <= this.#opened) return undefined;
    const sealed = packet.subarray(NUMBER_BYTES);
    const plain = openAes(sealed, { key: this.#receiving, number, label: LABEL });
    if (plain !== undefined) this.#opened = number;
    return plain;
  }
}
