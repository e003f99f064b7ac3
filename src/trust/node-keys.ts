// Performs: the node's own keys, derived from one file beside the database: Secrets are sealed to one, the other signs what
// the node reports. After a rotation the keys before still open what was sealed to them.

import type { NodeKeysEdge } from "../edges.ts";
import { derivedKey, openAes } from "../host/crypto/aes-gcm.ts";
import { ed25519Key, type Ed25519Key } from "../host/crypto/ed25519.ts";
import { openHpke } from "../host/crypto/hpke.ts";
import { x25519KeyPair, type X25519KeyPair } from "../host/crypto/x25519.ts";
import type { PlainFiles } from "../lib/files/plain-files.ts";
import type { Random } from "../lib/random.ts";
import { sha256 } from "../lib/system-sha256.ts";
import {
  fingerprint,
  keysMessage,
  openedMessage,
  sealKeyId,
  type NodeKeysView,
  type OpenedFacts,
  type PublishedKeys,
} from "../protocol/node-keys.ts";
import {
  CONTENT_KEY_BYTES,
  type SealedSecret,
  type UnsealedContent,
} from "../protocol/sealed-secret.ts";
import { loadSecretKey, lookAtSecretKey, NODE_KEY, type SecretKey } from "../store/secret-key.ts";

/** The key before the last rotation. */
const PREVIOUS_NODE_KEY = "node.key.previous";
const MODE = 0o600;
const SEED_BYTES = 32;

export interface NodeKeysOptions {
  readonly stateDir: string;
  readonly files: PlainFiles;
  readonly random: Random;
  readonly node: string;
}

interface KeyPairs {
  readonly sign: Ed25519Key;
  readonly seal: X25519KeyPair;
  /** Of the key that Secrets are sealed to. */
  readonly id: string;
}

export class NodeKeys implements NodeKeysEdge {
  readonly #options: NodeKeysOptions;
  #file: SecretKey;
  #present: KeyPairs;
  #previous: KeyPairs | undefined;
  #published: PublishedKeys | undefined;

  /** Never throws: a node whose key cannot be read or written has one until it ends, and says what is wrong. */
  constructor(options: NodeKeysOptions) {
    this.#options = options;
    this.#file = loadSecretKey(options, NODE_KEY);
    this.#present = pairsOf(this.#file.bytes);
    this.#previous = previousPairs(options);
  }

  /** Why the key of before is not used, or this one is not kept; the caller logs it as an error. */
  get trouble(): string | undefined {
    return this.#file.trouble;
  }

  get warning(): string | undefined {
    return this.#file.warning;
  }

  readonly published = (): PublishedKeys => (this.#published ??= this.#publish());

  readonly view = (): NodeKeysView => {
    const [present, previous] = [this.#present, this.#previous];
    return {
      fingerprint: fingerprint(present.sign.publicKey, sha256),
      sealKey: present.id,
      ...(previous === undefined ? {} : { previousSealKey: previous.id }),
    };
  };

  readonly sign = (message: Uint8Array): Uint8Array => this.#present.sign.sign(message);

  readonly signOpened = (facts: Omit<OpenedFacts, "node">): Uint8Array =>
    this.sign(openedMessage({ ...facts, node: this.#options.node }));

  readonly unseal = ({ spec }: SealedSecret, label: string): UnsealedContent => {
    const info = new TextEncoder().encode(label);
    const own = [this.#present, ...(this.#previous === undefined ? [] : [this.#previous])];
    for (const { keyid, wrapped } of spec.keys) {
      const pairs = own.find((one) => one.id === keyid);
      if (pairs === undefined) continue;
      const key = openHpke(pairs.seal, wrapped, info);
      if (key?.length !== CONTENT_KEY_BYTES) return { type: "Damaged" };
      const plain = openAes(spec.content, { key, number: 0, label: info });
      return plain === undefined ? { type: "Damaged" } : { type: "Opened", plain };
    }
    return { type: "OtherKeys" };
  };

  /** What was sealed to the present ones is still opened, until the next rotation. */
  readonly rotate = (): void => {
    const { stateDir, files, random } = this.#options;
    this.#file.keep();
    const seed = Uint8Array.fromHex(random.hex(SEED_BYTES));
    // In this order: a cut in between leaves the present key twice.
    files.writeAtomic(`${stateDir}/${PREVIOUS_NODE_KEY}`, this.#file.bytes, MODE);
    files.writeAtomic(this.#file.path, seed, MODE);
    this.#previous = this.#present;
    this.#file = loadSecretKey(this.#options, NODE_KEY);
    this.#present = pairsOf(this.#file.bytes);
    this.#published = undefined;
  };

  #publish(): PublishedKeys {
    const { node } = this.#options;
    const keys = { sign: this.#present.sign.publicKey, seal: this.#present.seal.publicKey };
    const message = keysMessage(node, keys);
    const before = this.#previous?.sign;
    return {
      ...keys,
      sig: this.sign(message),
      ...(before === undefined
        ? {}
        : { previous: { sign: before.publicKey, sig: before.sign(message) } }),
    };
  }
}

function pairsOf(seed: Uint8Array): KeyPairs {
  const seal = x25519KeyPair(derivedKey(seed, "agent/node-seal/v1"));
  return {
    sign: ed25519Key(derivedKey(seed, "agent/node-sign/v1")),
    seal,
    id: sealKeyId(seal.publicKey, sha256),
  };
}

/** undefined = there is none, or it cannot be used: then what was sealed to it is reported as sealed to other keys. */
function previousPairs({ stateDir, files }: NodeKeysOptions): KeyPairs | undefined {
  try {
    const read = lookAtSecretKey(stateDir, files, PREVIOUS_NODE_KEY);
    return read === undefined || "damage" in read ? undefined : pairsOf(read.bytes);
  } catch {
    return undefined;
  }
}
