// What is in a binary, as SPDX 2.3 in JSON. https://spdx.github.io/spdx-spec/v2.3/

import { createHash } from "node:crypto";

import type { Component } from "./bundled-packages.ts";

export interface SbomFacts {
  readonly version: string;
  /** `linux-arm64` */
  readonly target: string;
  /** Seconds since 1970. */
  readonly time: number;
  readonly binary: Uint8Array;
  readonly components: readonly Component[];
}

export interface SpdxPackage {
  readonly SPDXID: string;
  readonly name: string;
  readonly versionInfo?: string;
  readonly downloadLocation: string;
  readonly filesAnalyzed: false;
  readonly licenseConcluded: string;
  readonly licenseDeclared: string;
  readonly copyrightText: string;
  readonly primaryPackagePurpose?: string;
  readonly homepage?: string;
  readonly checksums?: readonly { readonly algorithm: string; readonly checksumValue: string }[];
  readonly externalRefs?: readonly {
    readonly referenceCategory: string;
    readonly referenceType: string;
    readonly referenceLocator: string;
  }[];
}

export interface SpdxDocument {
  readonly spdxVersion: "SPDX-2.3";
  readonly dataLicense: "CC0-1.0";
  readonly SPDXID: "SPDXRef-DOCUMENT";
  readonly name: string;
  readonly documentNamespace: string;
  readonly creationInfo: { readonly created: string; readonly creators: readonly string[] };
  readonly packages: readonly SpdxPackage[];
  readonly relationships: readonly {
    readonly spdxElementId: string;
    readonly relationshipType: string;
    readonly relatedSpdxElement: string;
  }[];
}

const UNKNOWN = "NOASSERTION";
const ROOT = "SPDXRef-Package-agent";

export function sbom({ version, target, time, binary, components }: SbomFacts): SpdxDocument {
  const sha256 = createHash("sha256").update(binary).digest("hex");
  const name = `agent-${version}-${target}`;
  const packages = components.map(packageOf);
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name,
    // One for each binary, and the same for the same one.
    documentNamespace: `https://spdx.org/spdxdocs/${encodeURIComponent(name)}-${sha256}`,
    creationInfo: {
      created: new Date(time * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
      creators: ["Tool: agent-build.sh-release"],
    },
    packages: [
      {
        SPDXID: ROOT,
        name: "agent",
        versionInfo: version,
        primaryPackagePurpose: "APPLICATION",
        downloadLocation: UNKNOWN,
        filesAnalyzed: false,
        licenseConcluded: UNKNOWN,
        licenseDeclared: "Apache-2.0",
        copyrightText: UNKNOWN,
        checksums: [{ algorithm: "SHA256", checksumValue: sha256 }],
      },
      ...packages,
    ],
    relationships: [
      relation("SPDXRef-DOCUMENT", "DESCRIBES", ROOT),
      ...packages.map(({ SPDXID }) => relation(ROOT, "CONTAINS", SPDXID)),
    ],
  };
}

function relation(spdxElementId: string, relationshipType: string, relatedSpdxElement: string) {
  return { spdxElementId, relationshipType, relatedSpdxElement };
}

function packageOf({ name, version, license, home, purl, text }: Component): SpdxPackage {
  const holders = copyrights(text ?? "");
  return {
    SPDXID: `SPDXRef-Package-${`${name}-${version}`.replaceAll(/[^A-Za-z0-9.-]+/g, "-")}`,
    name,
    ...(version === UNKNOWN ? {} : { versionInfo: version }),
    downloadLocation: UNKNOWN,
    filesAnalyzed: false,
    licenseConcluded: UNKNOWN,
    licenseDeclared: license,
    copyrightText: holders.length === 0 ? UNKNOWN : holders.join("\n"),
    ...(home.startsWith("http") ? { homepage: home } : {}),
    ...(purl === undefined
      ? {}
      : {
          externalRefs: [
            {
              referenceCategory: "PACKAGE-MANAGER",
              referenceType: "purl",
              referenceLocator: purl,
            },
          ],
        }),
  };
}

/** The lines of a licence that name who has the copyright. */
export function copyrights(text: string): readonly string[] {
  const lines = text.split("\n").map((line) => line.replace(/^[\s#*]+/, "").trim());
  const found = lines.filter(
    (line) => /^copyright\b.*(\d{4}|\(c\)|©)/i.test(line) && !line.includes("[yyyy]"),
  );
  return [...new Set(found)];
}
