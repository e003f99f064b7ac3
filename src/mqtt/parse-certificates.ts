// Performs: reads from a PEM file when its certificates expire. Which of them need attention is decided in
// upstream/link/certificate-expiry.ts.

import { X509Certificate } from "node:crypto";
import { AgentError, messageOf } from "../lib/errors.ts";

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** When each certificate of the text expires, in ms since 1970 and in their order; AgentError `InvalidCertificate`. */
export function certificateExpiries(pem: string): readonly number[] {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0)
    throw new AgentError({ reason: "InvalidCertificate", message: "holds no certificate in PEM" });
  return blocks.map((block) => expiryOf(block));
}

function expiryOf(block: string): number {
  try {
    return Date.parse(new X509Certificate(block).validTo);
  } catch (error) {
    const message = `holds a certificate that cannot be read: ${messageOf(error)}`;
    throw new AgentError({ reason: "InvalidCertificate", message, cause: error });
  }
}
