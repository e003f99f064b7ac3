// The keys of a simulated fleet, what is signed with them, and the directory of root keys on the node's disk.

import { createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  keyIdOf,
  payloadTypeOf,
  preAuthEncoding,
  writeSignedEnvelope,
  type SignedKind,
} from "../../src/protocol/dsse.ts";
import { MQTT_DEFAULTS } from "../fakes/config-defaults.ts";
import { topicFor } from "../../src/protocol/mqtt-topics.ts";
import type { PublicKey, SigningRole, RootKeys } from "../../src/protocol/trust-bundle.ts";
import { pemOfPublicKey } from "../fakes/public-key-pem.ts";
import { realFiles } from "../../src/host/real-files.ts";
import { readRootKeys } from "../../src/host/root-keys.ts";
import { sha256 } from "./sim-manifest.ts";

/** `elsewhere` speaks to other nodes, `herald` may only sign commands, `stranger` is in no bundle. */
export const KEY_NAMES = [
  "root",
  "laterRoot",
  "desk",
  "laterDesk",
  "herald",
  "elsewhere",
  "stranger",
] as const;
export type KeyName = (typeof KEY_NAMES)[number];

export interface SimKey {
  readonly pub: PublicKey;
  readonly id: string;
  readonly secret: KeyObject;
}

/** PKCS #8 of Ed25519 (RFC 8410) up to the 32 bytes of the secret. */
const PKCS8_HEAD = Uint8Array.fromHex("302e020100300506032b657004220420");

/** The same in every run, so that a seed tells the same story each time. */
function keyOf(name: KeyName): SimKey {
  const der = Buffer.concat([PKCS8_HEAD, Buffer.from(sha256(`key of ${name}`), "hex")]);
  const secret = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const spki = createPublicKey(secret).export({ format: "der", type: "spki" });
  const pub = new Uint8Array(spki.subarray(-32));
  return { pub, id: keyIdOf(pub, sha256), secret };
}

const KEYS = new Map(KEY_NAMES.map((name) => [name, keyOf(name)]));

export function simKey(name: KeyName): SimKey {
  const key = KEYS.get(name);
  if (key === undefined) throw new Error(`no key ${name}`);
  return key;
}

/** The message as it goes over the wire. `tampered`: what was signed is another text of the same length. */
export function signedText(
  kind: SignedKind,
  message: object,
  { by, tampered = false }: { readonly by: readonly KeyName[]; readonly tampered?: boolean },
): string {
  const payloadType = payloadTypeOf(kind);
  const payload = new TextEncoder().encode(JSON.stringify(message));
  const other = payload.map((byte, index) => (index === payload.length - 1 ? byte ^ 1 : byte));
  const signed = preAuthEncoding(payloadType, tampered ? other : payload);
  const signatures = by.map((name) => {
    const { id, secret } = simKey(name);
    return { keyid: id, sig: new Uint8Array(sign(null, signed, secret)) };
  });
  return writeSignedEnvelope({ payloadType, payload, signatures });
}

export const TRUST_TOPIC = topicFor({ type: "Trust", root: MQTT_DEFAULTS.topicRoot });

export interface BundleKey {
  readonly key: KeyName;
  readonly roles: readonly SigningRole[];
  readonly nodes?: readonly string[];
}

export interface BundleContent {
  readonly version: number;
  readonly root: readonly KeyName[];
  readonly keys: readonly BundleKey[];
  /** RFC 3339. */
  readonly notBefore?: string;
}

export function bundleText(
  { version, root, keys, notBefore }: BundleContent,
  by: readonly KeyName[],
): string {
  const written = {
    version,
    ...(notBefore === undefined ? {} : { notBefore }),
    root: root.map((name) => simKey(name).pub.toBase64()),
    keys: keys.map(({ key, roles, nodes }) => ({
      pub: simKey(key).pub.toBase64(),
      roles,
      ...(nodes === undefined ? {} : { nodes }),
    })),
  };
  return signedText("trust", written, { by });
}

/** What may be amiss with the directory: nothing in it, a file in its place, or looked for somewhere else. */
export type TrustTrouble = "emptied" | "unreadable" | "mistyped";

export class TrustDirectory {
  readonly #path: string;
  #names: readonly KeyName[] = [];

  constructor(root: string) {
    this.#path = join(root, "trust.d");
  }

  /** As a process finds it now. */
  readonly read = (): RootKeys =>
    this.#names.length === 0 ? { keys: [], problems: [] } : readRootKeys(realFiles(), this.#path);

  lay(names: readonly KeyName[]): void {
    this.#names = names;
    rmSync(this.#path, { recursive: true, force: true });
    mkdirSync(this.#path, { mode: 0o755 });
    for (const name of names)
      writeFileSync(join(this.#path, `${name}.pub`), pemOfPublicKey(simKey(name).pub), {
        mode: 0o644,
      });
  }

  trouble(how: TrustTrouble): void {
    if (this.#names.length === 0) return;
    const away = `${this.#path}.away`;
    rmSync(away, { recursive: true, force: true });
    switch (how) {
      case "emptied":
        rmSync(this.#path, { recursive: true, force: true });
        return mkdirSync(this.#path, { mode: 0o755 });
      case "unreadable":
        rmSync(this.#path, { recursive: true, force: true });
        return writeFileSync(this.#path, "a file where a directory should be");
      case "mistyped":
        if (existsSync(this.#path)) renameSync(this.#path, away);
    }
  }

  /** As it was laid. */
  mend(): void {
    if (this.#names.length > 0) this.lay(this.#names);
  }
}
