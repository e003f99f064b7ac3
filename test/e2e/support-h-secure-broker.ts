// One broker as docs/operations.md has it: TLS, a certificate for each node, the access list of the page.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { Broker } from "../harness/broker.ts";
import type { BrokerClient } from "../harness/broker-client.ts";
import { CertificateAuthority } from "../harness/certificates.ts";
import { freePort } from "../harness/free-port.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";

export class SecureBroker {
  readonly broker: Broker;
  /** A second address of the same machine, to which a route can be lost without harm to anybody else. */
  readonly farAddress = `127.${[100, 0, 1].map((least) => least + Math.floor(Math.random() * 100)).join(".")}`;
  readonly #farPort = freePort();
  readonly #ca: CertificateAuthority;
  readonly #operator: { readonly cert: string; readonly key: string };

  private constructor(temp: TempDirectory) {
    const directory = temp.directory("certificates");
    this.#ca = new CertificateAuthority(directory);
    const altName = `IP:127.0.0.1,IP:${this.farAddress}`;
    const server = this.#ca.issue("broker", "broker", { altName });
    this.#operator = this.#ca.issue("operator", "operator");
    const acl = join(directory, "agent.acl");
    // The last line is for the test's own clients, who ask on topics of their own.
    writeFileSync(acl, `${block("/etc/mosquitto/agent.acl")}\npattern readwrite harness/#\n`);
    const lines = block("/etc/mosquitto/conf.d/agent.conf")
      .replace("/etc/mosquitto/certs/ca.pem", this.#ca.cert)
      .replace("/etc/mosquitto/certs/broker.pem", server.cert)
      .replace("/etc/mosquitto/certs/broker.key", server.key)
      .replace("/etc/mosquitto/agent.acl", acl)
      .split("\n")
      .filter((line) => !/^(#|listener |$)/.test(line));
    const ofListener = lines.filter((line) => LISTENER.test(line));
    if (!lines.includes("require_certificate true")) throw new Error("the page asks nobody");
    this.broker = new Broker(temp, {
      name: "secure-broker",
      // Mosquitto's access list belongs to all listeners; the rest of the page's lines to each.
      listener: lines,
      extra: [`listener ${this.#farPort} ${this.farAddress}`, ...ofListener],
    });
  }

  static async start(temp: TempDirectory): Promise<SecureBroker> {
    const secure = new SecureBroker(temp);
    await secure.broker.start();
    return secure;
  }

  get farUrl(): string {
    return `mqtts://${this.farAddress}:${this.#farPort}`;
  }

  /** With it in force nobody on this machine reaches the second address. */
  get route(): string {
    return `blackhole ${this.farAddress}/32 table local`;
  }

  /** The `mqtt` section of a node. */
  section(node: string): Readonly<Record<string, unknown>> {
    const { cert, key } = this.#ca.issue(node, node);
    return { caFile: this.#ca.cert, certFile: cert, keyFile: key };
  }

  async operator(): Promise<BrokerClient> {
    const read = (path: string): string => readFileSync(path, "utf8");
    const { cert, key } = this.#operator;
    return this.broker.client({ ca: read(this.#ca.cert), cert: read(cert), key: read(key) });
  }
}

const LISTENER =
  /^(cafile|certfile|keyfile|tls_version|require_certificate|use_identity_as_username) /;

/** The fenced block of the page that begins with `# name`. */
function block(name: string): string {
  const page = readFileSync(resolve(import.meta.dir, "../../docs/operations.md"), "utf8");
  const blocks = [...page.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);
  const found = blocks.find((text) => text.startsWith(`# ${name}`));
  if (found === undefined) throw new Error(`docs/operations.md has no block ${name}`);
  return found;
}
