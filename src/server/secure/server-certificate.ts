// Performs: reads the server's own certificate of the configuration, and again when its files change.

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Files } from "../../host/files.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface OwnCertificate {
  readonly certificate: string;
  readonly key: string;
  /** Names and addresses in it, in small letters. */
  readonly names: readonly string[];
}

const MAX_BYTES = 256 * 1024;

export class OwnCertificateFiles {
  readonly #paths: CertificateFiles;
  readonly #files: Files;
  readonly #log: Logger;
  /** Of both files when they were read last. */
  #seen = "";
  #current: OwnCertificate | undefined;

  constructor(
    paths: CertificateFiles,
    { files, log }: { readonly files: Files; readonly log: Logger },
  ) {
    this.#paths = paths;
    this.#files = files;
    this.#log = log;
  }

  /** The last one that could be used; undefined = there was none. Never throws. */
  get current(): OwnCertificate | undefined {
    return this.#current;
  }

  /** Whether there is another one than before. Never throws. */
  refresh(): boolean {
    const { certFile, keyFile } = this.#paths;
    const seen = [certFile, keyFile].map((path) => this.#version(path)).join(" ");
    if (seen === this.#seen) return false;
    this.#seen = seen;
    try {
      this.#current = this.#read();
      return true;
    } catch (error) {
      const goesOn =
        this.#current === undefined
          ? "one of the agent's own is used"
          : "the one before is used on";
      this.#log.error(`tlsCertFile and tlsPrivateKeyFile cannot be used; ${goesOn}`, {
        certFile,
        keyFile,
        error: messageOf(error),
      });
      return false;
    }
  }

  #version(path: string): string {
    try {
      const info = this.#files.target(path);
      return info === undefined ? "-" : `${info.identity}:${info.mtimeMs}:${info.size}`;
    } catch {
      // Reading it reports the error.
      return "?";
    }
  }

  #read(): OwnCertificate {
    const { certFile, keyFile } = this.#paths;
    const [certificate, key] = [certFile, keyFile].map((path) =>
      new TextDecoder().decode(this.#files.readFollowing(path, MAX_BYTES)),
    );
    const own = new X509Certificate(certificate ?? "");
    if (!own.checkPrivateKey(createPrivateKey(key ?? "")))
      throw new Error(`the key in ${keyFile} is not that of the certificate in ${certFile}`);
    return { certificate: certificate ?? "", key: key ?? "", names: namesOf(own) };
  }
}

function namesOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  return [...subjectAltName.matchAll(/(?:DNS|IP Address):([^,\s"]+)/g)].map(([, name = ""]) =>
    (URL.parse(`https://${name.includes(":") ? `[${name}]` : name}`)?.hostname ?? name)
      .replace(/^\[|\]$/g, "")
      .toLowerCase(),
  );
}
