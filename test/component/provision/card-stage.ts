// A node and its card as directories: what a first start finds, and what it leaves.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import type { AgentConfig } from "../../../src/config/config.ts";
import { eraseFile } from "../../../src/host/tree/erase-file.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import {
  provision,
  resumeProvisioning,
  type LookOptions,
} from "../../../src/provision/provision.ts";
import type { ProvisionReport } from "../../../src/provision/report.ts";
import { CertificateAuthority } from "../../harness/certificates.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { pemOfPublicKey } from "../../fakes/public-key-pem.ts";
import { writeTree } from "../host/temporary-directories.ts";

export const POD = (name: string, image = "local/app:1"): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "main", image }] },
  });

export type Tree = Readonly<Record<string, string>>;

export class CardStage {
  readonly root: string;
  readonly card: string;
  readonly node: string;

  constructor(root: string) {
    this.root = root;
    this.card = join(root, "card");
    this.node = join(root, "node");
    mkdirSync(this.card, { recursive: true });
    mkdirSync(this.node, { recursive: true });
  }

  get config(): AgentConfig {
    return {
      ...CONFIG_DEFAULTS,
      stateDir: join(this.node, "state"),
      staticPodPath: join(this.node, "manifests"),
      trustPath: join(this.node, "trust.d"),
      registryAuthFile: join(this.node, "registry-auth.json"),
    };
  }

  get configFile(): string {
    return join(this.node, "agent.yaml");
  }

  /** Fields that keep every place of the node inside of its directory. */
  configText(more = ""): string {
    const { stateDir, staticPodPath, trustPath, registryAuthFile } = this.config;
    const places = { stateDir, staticPodPath, trustPath, registryAuthFile };
    return `${Object.entries(places)
      .map(([field, path]) => `${field}: ${path}\n`)
      .join("")}${more}`;
  }

  options(more: Partial<LookOptions> = {}): LookOptions {
    return {
      files: realFiles(),
      config: this.config,
      configFile: this.configFile,
      directories: [this.card],
      again: false,
      isDry: false,
      lock: () => ({ [Symbol.dispose]: () => undefined }),
      erase: eraseFile,
      ...more,
    };
  }

  /** As a start of the agent does. */
  start(more: Partial<LookOptions> = {}): ProvisionReport | undefined {
    resumeProvisioning(this.options(more));
    return provision(this.options(more));
  }

  /** The card has these files and no others. */
  insert(tree: Tree): void {
    for (const name of readdirSync(this.card))
      rmSync(join(this.card, name), { recursive: true, force: true });
    writeTree(this.card, tree);
  }

  onCard(): Tree {
    return treeOf(this.card);
  }

  /** Without what the agent keeps for itself. */
  onNode(): Tree {
    const all = Object.entries(treeOf(this.node));
    return Object.fromEntries(all.filter(([path]) => !path.startsWith("state/")));
  }

  state(): readonly string[] {
    const path = join(this.node, "state");
    return existsSync(path) ? readdirSync(path) : [];
  }

  mode(path: string): string {
    return (statSync(join(this.node, path)).mode & 0o7777).toString(8);
  }

  reset(): void {
    rmSync(this.node, { recursive: true, force: true });
    mkdirSync(this.node);
  }
}

export function treeOf(root: string): Tree {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return Object.fromEntries(
    paths.map((path) => [path.slice(root.length + 1), readFileSync(path, "utf8")]),
  );
}

export interface Keys {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** Of another certificate. */
  readonly otherKey: string;
  readonly rootKey: string;
}

export function makeKeys(directory: string): Keys {
  const authority = new CertificateAuthority(directory);
  const read = (path: string): string => readFileSync(path, "utf8");
  const own = authority.issue("node", "node");
  const other = authority.issue("other", "other");
  return {
    ca: read(authority.cert),
    cert: read(own.cert),
    key: read(own.key),
    otherKey: read(other.key),
    rootKey: pemOfPublicKey(new Uint8Array(32).fill(9)),
  };
}
