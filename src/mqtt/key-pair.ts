// Performs: whether texts in PEM are certificates and private keys that a connection can use, and belong together.

import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { messageOf } from "../lib/errors.ts";
import { certificateExpiries } from "./parse-certificates.ts";

/** What is wrong with the text of a file with certificates; undefined = it holds one or more. */
export function certificateProblem(pem: string): string | undefined {
  try {
    certificateExpiries(pem);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** What is wrong with the text of a file with a private key. */
export function keyProblem(pem: string): string | undefined {
  if (/ENCRYPTED/.test(pem))
    return "holds a key with a pass phrase, which a node cannot enter: write the key without one";
  if (!pem.includes("PRIVATE KEY-----")) return "holds no private key in PEM";
  return keyOf(pem) === undefined ? "holds a private key that cannot be read" : undefined;
}

/** Whether the key belongs to the first certificate, which is the node's own; false if either cannot be read. */
export function isKeyOf(key: string, certificate: string): boolean {
  const own = keyOf(key);
  if (own === undefined) return false;
  try {
    return new X509Certificate(certificate).checkPrivateKey(own);
  } catch {
    // No certificate, or one of an algorithm that the library does not know.
    return false;
  }
}

function keyOf(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // The library's words name no file and no remedy.
    return undefined;
  }
}
