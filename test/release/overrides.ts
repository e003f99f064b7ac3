// What lintian finds and is meant to be so, each with its reason.

export const OVERRIDES = `# The program is Bun with our source appended: strip would cut that off.
agent: unstripped-binary-or-object [usr/bin/agent]
# Bun links its libraries statically; sbom.spdx.json names them with their versions.
agent: embedded-library *
`;
