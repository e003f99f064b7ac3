// What the Debian package of one machine puts where.

import { gzipSync } from "node:zlib";

import { commandTree } from "../../src/cli/completion/command-tree.ts";
import { completionScript, type Shell } from "../../src/cli/completion/shell-scripts.ts";
import { PROGRAM_FLAGS } from "../../src/cli/flags.ts";
import { NEW_CONFIG } from "../../src/cli/install/edit-config.ts";
import { PACKAGE_MARK, packageMark } from "../../src/cli/install/package-mark.ts";
import { launcherText, placesOf, unitText } from "../../src/cli/install/service-files.ts";
import { manPage } from "../../src/cli/man/man-page.ts";
import { allVerbs } from "../docs/command-line.ts";

export const PACKAGE = "agent";
const SHARE = "/usr/share";
export const DOC = `${SHARE}/doc/${PACKAGE}`;

export type Entry =
  | { readonly type: "Directory"; readonly path: string; readonly mode: number }
  | {
      readonly type: "File";
      readonly path: string;
      readonly mode: number;
      readonly content: string | Uint8Array;
      /** dpkg keeps what a person has changed in it. */
      readonly isConffile?: boolean;
    };

export interface PackageParts {
  readonly version: string;
  readonly binary: Uint8Array;
  /** In Debian's format. */
  readonly changelog: string;
  /** The changes as this repository writes them. */
  readonly changes: string;
  readonly copyright: string;
  readonly overrides: string;
  readonly sbom: string;
  /** Manifests by their names. */
  readonly examples: ReadonlyMap<string, string>;
}

/** Sorted by path; parents of what is listed are directories of mode 755. */
export function packageTree(parts: PackageParts): readonly Entry[] {
  const places = placesOf("/usr");
  const completion = (shell: Shell): string =>
    completionScript(shell, commandTree(allVerbs(), PROGRAM_FLAGS));
  const entries: readonly Entry[] = [
    ...["manifests", "images", "trust.d"].map((name): Entry => ({
      type: "Directory",
      path: `${places.config}/${name}`,
      mode: 0o755,
    })),
    { ...file(`${places.config}/agent.yaml`, NEW_CONFIG), isConffile: true },
    { ...file(places.binary, parts.binary), mode: 0o755 },
    { ...file(places.launcher, launcherText(places)), mode: 0o755 },
    file(places.unit, unitText(places)),
    file(PACKAGE_MARK, packageMark(`${PACKAGE} ${parts.version}`)),
    file(`${SHARE}/man/man1/agent.1.gz`, zipped(manPage(allVerbs()))),
    file(`${SHARE}/bash-completion/completions/agent`, completion("bash")),
    file(`${SHARE}/zsh/vendor-completions/_agent`, completion("zsh")),
    file(`${SHARE}/fish/vendor_completions.d/agent.fish`, completion("fish")),
    file(`${SHARE}/lintian/overrides/${PACKAGE}`, parts.overrides),
    file(`${DOC}/changelog.gz`, zipped(parts.changelog)),
    file(`${DOC}/CHANGELOG.md.gz`, zipped(parts.changes)),
    file(`${DOC}/copyright`, parts.copyright),
    file(`${DOC}/sbom.spdx.json`, parts.sbom),
    ...[...parts.examples].map(([name, text]) => file(`${DOC}/examples/${name}`, text)),
  ];
  return entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function file(path: string, content: string | Uint8Array): Extract<Entry, { type: "File" }> {
  return { type: "File", path, mode: 0o644, content };
}

/** Without the time: the same text is the same bytes. */
function zipped(text: string): Uint8Array {
  return gzipSync(text, { level: 9 });
}
