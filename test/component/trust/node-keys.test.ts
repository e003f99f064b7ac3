import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { sealSecret } from "../../../src/fleet/seal/seal-secret.ts";
import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { areWhole, isRotated, openedMessage } from "../../../src/protocol/node-keys.ts";
import {
  SEALED_SECRET,
  sealLabel,
  type SealedSecret,
} from "../../../src/protocol/sealed-secret.ts";
import { readLeniently } from "../../../src/api/schema/read-value.ts";
import { NodeKeys } from "../../../src/trust/node-keys.ts";
import { files } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const SECRET = { apiVersion: "v1", kind: "Secret", metadata: { name: "db" }, data: {} };
const LABEL = sealLabel("node/pi-1", { name: "db", namespace: "default" });

function open(stateDir: string, node = "pi-1"): NodeKeys {
  return new NodeKeys({ stateDir, files, random: systemRandom, node });
}

/** Through JSON, as it travels. */
function sealedTo(...recipients: readonly NodeKeys[]): SealedSecret {
  const written = sealSecret(SECRET, {
    target: { node: "pi-1" },
    recipients: recipients.map((keys) => keys.published().seal),
    random: systemRandom,
  });
  const read = readLeniently(SEALED_SECRET, JSON.parse(JSON.stringify(written)));
  if (read === undefined) throw new Error("it cannot be read back");
  return read;
}

describe("the keys of a node", () => {
  test("stay over a restart, in a file that only root reads", () => {
    const stateDir = newDirectory();
    const first = open(stateDir);
    expect(open(stateDir).published()).toEqual(first.published());
    expect(statSync(join(stateDir, "node.key")).mode & 0o777).toBe(0o600);
    expect(open(newDirectory()).view().fingerprint).not.toBe(first.view().fingerprint);
  });

  test("are published with a proof for this name", () => {
    const keys = open(newDirectory()).published();
    expect(areWhole("pi-1", keys, verifyEd25519)).toBe(true);
    expect(areWhole("pi-2", keys, verifyEd25519)).toBe(false);
    const other = open(newDirectory()).published();
    expect(areWhole("pi-1", { ...keys, seal: other.seal }, verifyEd25519)).toBe(false);
  });

  test("open what was sealed to them, and nothing else", () => {
    const [keys, other] = [open(newDirectory()), open(newDirectory(), "pi-2")];
    const sealed = sealedTo(other, keys);
    const opened = keys.unseal(sealed, LABEL);
    expect(opened.type === "Opened" && JSON.parse(new TextDecoder().decode(opened.plain))).toEqual(
      SECRET,
    );
    expect(open(newDirectory()).unseal(sealed, LABEL)).toEqual({ type: "OtherKeys" });
    expect(keys.unseal(sealed, sealLabel("node/pi-2", sealed.metadata))).toEqual({
      type: "Damaged",
    });
    const content = sealed.spec.content.map((byte, index) => (index === 3 ? byte ^ 1 : byte));
    const changed = { ...sealed, spec: { ...sealed.spec, content } };
    expect(keys.unseal(changed, LABEL)).toEqual({ type: "Damaged" });
  });

  test("after a rotation open what was sealed to the ones before, until the next", () => {
    const stateDir = newDirectory();
    const keys = open(stateDir);
    const before = keys.published();
    const sealed = sealedTo(keys);
    keys.rotate();
    const after = keys.published();
    expect(after.sign).not.toEqual(before.sign);
    expect(after.seal).not.toEqual(before.seal);
    const known = { node: "pi-1", known: before.sign };
    expect(isRotated(known, after, verifyEd25519)).toBe(true);
    expect(isRotated({ ...known, node: "pi-2" }, after, verifyEd25519)).toBe(false);
    expect(keys.unseal(sealed, LABEL).type).toBe("Opened");
    expect(open(stateDir).unseal(sealed, LABEL).type).toBe("Opened");
    expect(open(stateDir).published()).toEqual(after);
    keys.rotate();
    expect(keys.unseal(sealed, LABEL)).toEqual({ type: "OtherKeys" });
    expect(isRotated(known, keys.published(), verifyEd25519)).toBe(false);
  });

  test("of another board vouch for nothing", () => {
    const [mine, other] = [open(newDirectory()), open(newDirectory())];
    const before = mine.published();
    other.rotate();
    const { previous } = other.published();
    const forged = { ...other.published(), previous: { sign: before.sign, sig: previous!.sig } };
    expect(isRotated({ node: "pi-1", known: before.sign }, forged, verifyEd25519)).toBe(false);
  });

  test("that are damaged are set aside, and replaced", () => {
    const stateDir = newDirectory();
    const before = open(stateDir).view();
    writeFileSync(join(stateDir, "node.key"), new Uint8Array(32));
    const after = open(stateDir);
    expect(after.trouble).toContain("node.key contains only zeros; it was moved to");
    expect(after.view().fingerprint).not.toBe(before.fingerprint);
    expect(existsSync(join(stateDir, "node.key.damaged"))).toBe(true);
  });

  test("that cannot be written are still good until the end, and nothing is lost by a rotation that fails", () => {
    const stateDir = newDirectory();
    const broken = {
      ...files,
      writeAtomic: () => {
        throw new Error("no space left on device");
      },
    };
    const keys = new NodeKeys({ stateDir, files: broken, random: systemRandom, node: "pi-1" });
    expect(keys.trouble).toContain("no key can be written");
    const before = keys.view();
    expect(() => keys.rotate()).toThrow("no space left on device");
    expect(keys.view()).toEqual(before);
  });

  test("sign what was opened, for one document", () => {
    const keys = open(newDirectory());
    const facts = {
      source: "node",
      epoch: "",
      generation: 2,
      digest: "sha256:1",
      secrets: ["a/b"],
    };
    const sig = keys.signOpened(facts);
    const { sign } = keys.published();
    expect(verifyEd25519(sign, openedMessage({ node: "pi-1", ...facts }), sig)).toBe(true);
    const other = { node: "pi-1", ...facts, generation: 3 };
    expect(verifyEd25519(sign, openedMessage(other), sig)).toBe(false);
  });

  test("leave no private key in what they publish", () => {
    const stateDir = newDirectory();
    const keys = open(stateDir);
    const seed = readFileSync(join(stateDir, "node.key"));
    const shown = JSON.stringify({ ...keys.published(), ...keys.view() });
    expect(shown).not.toContain(seed.toString("hex"));
  });
});
