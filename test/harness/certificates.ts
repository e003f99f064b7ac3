// A certificate authority of the test's own, made with openssl: elliptic keys, because they are quick.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where PEM files are. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** openssl's subjectAltName; absent = none. */
  readonly altName?: string;
  /** Days from now; default 365. A negative number is in the past. */
  readonly days?: number;
}

export class CertificateAuthority {
  /** The CA's own certificate. */
  readonly cert: string;
  readonly #key: string;
  readonly #directory: string;

  constructor(directory: string, name = "ca", options: CertificateOptions = {}) {
    this.#directory = directory;
    this.cert = join(directory, `${name}.pem`);
    this.#key = join(directory, `${name}.key`);
    newKey(this.#key);
    const extensions = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n";
    const request = this.#request(name, this.#key);
    sign(request, this.cert, { extensions, days: options.days ?? 365, by: ["-key", this.#key] });
  }

  /** A key and a certificate with this common name, in files called `file`. */
  issue(
    commonName: string,
    file: string,
    { altName, days = 365 }: CertificateOptions = {},
  ): KeyPair {
    const cert = join(this.#directory, `${file}.pem`);
    const key = join(this.#directory, `${file}.key`);
    newKey(key);
    const extensions = altName === undefined ? "" : `subjectAltName=${altName}\n`;
    const by = ["-CA", this.cert, "-CAkey", this.#key];
    sign(this.#request(commonName, key), cert, { extensions, days, by });
    return { cert, key };
  }

  #request(commonName: string, key: string): string {
    const request = `${key}.csr`;
    openssl(["req", "-new", "-key", key, "-subj", `/CN=${commonName}`, "-out", request]);
    return request;
  }
}

function newKey(path: string): void {
  openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path]);
}

interface Signing {
  /** Lines of an extension file. */
  readonly extensions: string;
  readonly days: number;
  /** Who signs, in openssl's words. */
  readonly by: readonly string[];
}

function sign(request: string, cert: string, { extensions, days, by }: Signing): void {
  const file = `${request}.ext`;
  writeFileSync(file, extensions);
  const words = ["x509", "-req", "-in", request, "-out", cert, "-extfile", file, "-days"];
  openssl([...words, String(days), ...by]);
}

function openssl(words: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...words]);
  if (exitCode !== 0) throw new Error(`openssl ${words.join(" ")}: ${stderr.toString()}`);
}
