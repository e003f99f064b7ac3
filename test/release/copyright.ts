// The package's copyright file: whose the parts of the binary are, and under which licences, with the texts that they ask for.

import type { Component } from "./bundled-packages.ts";
import { copyrights } from "./sbom.ts";

/** Debian has the text on every machine, and does not want it again. */
const COMMON: readonly (readonly [RegExp, string])[] = [
  [/Apache License\s+Version 2\.0/, "Apache-2.0"],
  [/GNU LESSER GENERAL PUBLIC LICENSE/, "LGPL-2.1"],
];

export function copyrightText(components: readonly Component[]): string {
  const byText = new Map<string, string[]>();
  for (const { name, version, text } of components)
    if (text !== undefined && commonOf(text) === undefined)
      byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
  return `agent runs Kubernetes pods on one machine, without an API server.

License: Apache-2.0

  Licensed under the Apache License, Version 2.0; on Debian systems its text
  is in /usr/share/common-licenses/Apache-2.0.

/usr/bin/agent contains the parts that follow; sbom.spdx.json beside this
file lists the same for programs. The licences of the parts of Bun and of
SQLite are what their makers say of them. On Debian systems the texts of
Apache-2.0 and LGPL-2.1 are in /usr/share/common-licenses.

Bun links WebKit and TinyCC statically, under the LGPL: their sources, and
how to link Bun again with changed ones, are at the addresses below; the
sources of agent are those of its repository.

${components.map(line).join("\n")}

${[...byText].map(([text, names]) => textOf(names, text)).join("\n\n")}
`;
}

function line(component: Component): string {
  const { name, version, license, home, text } = component;
  const holders = text !== undefined && commonOf(text) !== undefined ? copyrights(text) : [];
  return [
    `* ${name}${version === "NOASSERTION" ? "" : ` ${version}`}`,
    `  License: ${license}`,
    `  Source: ${home}`,
    ...holders.map((holder) => `  ${holder}`),
  ].join("\n");
}

function textOf(names: readonly string[], text: string): string {
  const rule = "-".repeat(72);
  return `${rule}\n${names.join(", ")}:\n\n${text.replaceAll("\r", "")}`;
}

function commonOf(text: string): string | undefined {
  return COMMON.find(([pattern]) => pattern.test(text))?.[1];
}
