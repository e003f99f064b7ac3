// Makes a release of the binaries that build.sh has built: Debian packages, what is in them, checksums.
// bun test/release/make-release.ts --directory DIR --version VERSION --tag TAG     with SOURCE_DATE_EPOCH

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { bundledPackages, bunParts, otherParts, type Component } from "./bundled-packages.ts";
import { changelogText } from "./control-files.ts";
import { copyrightText } from "./copyright.ts";
import { debianVersion } from "./debian-version.ts";
import { makePackage, type PackageOrder } from "./make-package.ts";
import { OVERRIDES } from "./overrides.ts";
import { packageTree } from "./package-tree.ts";
import { sbom } from "./sbom.ts";

const ROOT = resolve(import.meta.dir, "../..");
export const TARGETS = { "linux-x64": "amd64", "linux-arm64": "arm64" } as const;
export type Target = keyof typeof TARGETS;
/** Of the demo and the tests, which make it. */
const LOCAL_IMAGE = "local/busybox:1";
const PUBLIC_IMAGE = "docker.io/library/busybox:1.36";
/** Debian's own variables name somebody else. */
const MAINTAINER = "agent maintainers <maintainers@agent.invalid>";

export interface ReleaseFacts {
  readonly version: string;
  readonly tag?: string | undefined;
  /** Seconds since 1970, of the commit. */
  readonly time: number;
}

export interface Built {
  readonly target: Target;
  readonly binary: string;
  /** The directory of its source maps. */
  readonly maps: string;
}

/** The paths of the package and of its SBOM. */
export async function releaseOf(
  built: Built,
  facts: ReleaseFacts,
  { directory, compression }: Pick<PackageOrder, "directory" | "compression">,
): Promise<{ readonly package: string; readonly sbom: string }> {
  const { target } = built;
  const binary = readFileSync(built.binary);
  const components = componentsOf(built.maps);
  const version = debianVersion(facts);
  const document = `${JSON.stringify(sbom({ ...facts, target, binary, components }), undefined, 2)}\n`;
  const control = {
    version,
    architecture: TARGETS[target],
    maintainer: maintainer(),
    time: facts.time,
  };
  const entries = packageTree({
    version,
    binary,
    changelog: changelogText(control),
    changes: readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"),
    copyright: copyrightText(components),
    overrides: OVERRIDES,
    sbom: document,
    examples: examples(),
  });
  const path = await makePackage({ facts: control, entries, directory, compression });
  const sbomPath = join(directory, `agent-${target}.spdx.json`);
  writeFileSync(sbomPath, document);
  return { package: path, sbom: sbomPath };
}

export function componentsOf(maps: string): readonly Component[] {
  return [...bunParts(process.versions), ...otherParts(ROOT), ...bundledPackages(ROOT, maps)];
}

/** As `sha256sum -c` reads it. */
export function checksums(paths: readonly string[]): string {
  return paths
    .toSorted()
    .map((path) => {
      const sum = createHash("sha256").update(readFileSync(path)).digest("hex");
      return `${sum}  ${basename(path)}\n`;
    })
    .join("");
}

/** Those of the repository, with an image that every machine can pull. */
function examples(): ReadonlyMap<string, string> {
  const directory = join(ROOT, "manifests");
  const names = readdirSync(directory).filter((name) => name.endsWith(".yaml"));
  return new Map(
    names.map((name) => [
      name,
      readFileSync(join(directory, name), "utf8").replaceAll(LOCAL_IMAGE, PUBLIC_IMAGE),
    ]),
  );
}

function maintainer(): string {
  const { DEBFULLNAME: name = "", DEBEMAIL: address = "" } = process.env;
  return name === "" || address === "" ? MAINTAINER : `${name} <${address}>`;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      directory: { type: "string" },
      version: { type: "string" },
      tag: { type: "string" },
    },
  });
  const { directory = "", version = "", tag } = values;
  const time = Number(process.env["SOURCE_DATE_EPOCH"]);
  if (directory === "" || version === "" || !Number.isInteger(time))
    throw new Error("run ./build.sh release, which says version, directory and time");
  const facts = { version, tag: tag === "" ? undefined : tag, time };
  const made: string[] = [];
  for (const target of Object.keys(TARGETS) as Target[]) {
    const binary = join(directory, `agent-${target}`);
    const maps = join(directory, `maps-${target}`);
    const done = await releaseOf({ target, binary, maps }, facts, { directory, compression: "xz" });
    made.push(binary, done.package, done.sbom);
    // A supporter of this release needs them to read a stack; they are no part of it.
    console.log(`made ${done.package}`);
  }
  writeFileSync(join(directory, "SHA256SUMS"), checksums(made));
}
