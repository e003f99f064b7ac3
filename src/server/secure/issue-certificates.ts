// Performs: keys and certificates, made by a library. It takes 20 MB of memory and is loaded only to make one.

import { createHash } from "node:crypto";
import type { Extension } from "@peculiar/x509";
import type { Random } from "../../lib/random.ts";
import type { Access, Authority, ServerCertificate } from "./pki-state.ts";
import { authorityLifetime, certificateLifetime } from "./plan-pki.ts";
import { isIP } from "./server-names.ts";

interface IssueOptions {
  readonly random: Random;
  /** Wall-clock ms, at least that of the build. */
  readonly now: number;
}

export interface UserCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly sha256: string;
  readonly notAfter: number;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
/** The clock of a device without a battery begins here: nothing may be "not valid yet". */
const NOT_BEFORE = new Date(0);
const GROUPS: Readonly<Record<Access, string>> = {
  Full: "system:masters",
  ReadOnly: "agent:read-only",
};

export async function issueAuthority(
  nodeName: string,
  { random, now }: IssueOptions,
): Promise<Authority> {
  const x509 = await library();
  const id = serialNumber(random);
  const keys = await newKeys();
  const { notAfter, renewAt } = authorityLifetime(now);
  const usages = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: id,
    name: [{ O: [`agent ${nodeName}`.slice(0, 64)] }, { CN: [`agent authority ${id}`] }],
    notBefore: NOT_BEFORE,
    notAfter: new Date(notAfter),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usages, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const key = await pemOfKey(keys.privateKey);
  return { id, certificate: pem(certificate.toString("pem")), key, notAfter, renewAt };
}

export async function issueServer(
  authority: Authority,
  names: readonly string[],
  options: IssueOptions,
): Promise<ServerCertificate> {
  const x509 = await library();
  const lifetime = certificateLifetime(options.now, authority);
  const alternative = names.map((value) => ({
    type: isIP(value) ? ("ip" as const) : ("dns" as const),
    value,
  }));
  const made = await issue(authority, {
    ...options,
    notAfter: lifetime.notAfter,
    subject: [{ CN: [(names.find((name) => !isIP(name)) ?? "agent").slice(0, 64)] }],
    usage: x509.ExtendedKeyUsage.serverAuth,
    extensions: [new x509.SubjectAlternativeNameExtension(alternative)],
  });
  const { certificate, key } = made;
  return { certificate, key, ...lifetime, issuer: authority.id, names: [...names] };
}

export async function issueUser(
  authority: Authority,
  { user, access }: { readonly user: string; readonly access: Access },
  options: IssueOptions,
): Promise<UserCertificate> {
  const x509 = await library();
  const { notAfter } = certificateLifetime(options.now, authority);
  const made = await issue(authority, {
    ...options,
    notAfter,
    subject: [{ O: [GROUPS[access]] }, { CN: [user] }],
    usage: x509.ExtendedKeyUsage.clientAuth,
    extensions: [],
  });
  return { ...made, notAfter };
}

interface Issue extends IssueOptions {
  readonly notAfter: number;
  readonly subject: { [name: string]: string[] }[];
  readonly usage: string;
  readonly extensions: Extension[];
}

async function issue(
  authority: Authority,
  wanted: Issue,
): Promise<Omit<UserCertificate, "notAfter">> {
  const x509 = await library();
  const issuer = new x509.X509Certificate(authority.certificate);
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(wanted.random),
    subject: wanted.subject,
    issuer: issuer.subjectName,
    notBefore: NOT_BEFORE,
    notAfter: new Date(wanted.notAfter),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await keyOfPem(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([wanted.usage]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...wanted.extensions,
    ],
  });
  return {
    certificate: pem(certificate.toString("pem")),
    key: await pemOfKey(keys.privateKey),
    sha256: createHash("sha256").update(new Uint8Array(certificate.rawData)).digest("hex"),
  };
}

/** The library needs the other one to be there before it is loaded. */
async function library() {
  await import("reflect-metadata");
  return import("@peculiar/x509");
}

/** A positive number that no other certificate has. */
function serialNumber(random: Random): string {
  return `4${random.hex(16).slice(1)}`;
}

function newKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function pemOfKey(key: CryptoKey): Promise<string> {
  const { PemConverter } = await library();
  return pem(PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY"));
}

async function keyOfPem(text: string): Promise<CryptoKey> {
  const { PemConverter } = await library();
  return crypto.subtle.importKey("pkcs8", PemConverter.decodeFirst(text), ALGORITHM, false, [
    "sign",
  ]);
}

function pem(text: string): string {
  return `${text.trimEnd()}\n`;
}
