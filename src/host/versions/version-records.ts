// The small files that the launcher and the agent share: how they are read and written. The launcher reads them with a shell.

import type { Failure, Trial } from "./versions.ts";

const KEPT_FAILURES = 20;
const NAME = /^[0-9A-Za-z][0-9A-Za-z.+~_-]{0,90}$/;

/** The directory of a version: the version, and the beginning of its digest. */
export function versionName(version: string, sha256: string): string {
  const plain = version.replaceAll(/[^0-9A-Za-z.+~_-]/g, "-").slice(0, 64);
  return `${plain === "" ? "agent" : plain.replace(/^[^0-9A-Za-z]/, "v")}-${sha256.slice(0, 12)}`;
}

export function isVersionName(name: string): boolean {
  return NAME.test(name);
}

export function writeTrial({ name, sha256, version, from, hadBroker }: Trial): string {
  const broker = hadBroker ? "yes" : "no";
  return `name=${name}\nsha256=${sha256}\nversion=${version}\nfrom=${from}\nbroker=${broker}\n`;
}

/** undefined = it cannot be read; the launcher then removes it. */
export function readTrial(text: string): Trial | undefined {
  const fields = new Map(
    text
      .split("\n")
      .filter((line) => line.includes("="))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const name = fields.get("name") ?? "";
  if (!isVersionName(name)) return undefined;
  return {
    name,
    sha256: fields.get("sha256") ?? "",
    version: fields.get("version") ?? "",
    from: fields.get("from") ?? "",
    hadBroker: fields.get("broker") === "yes",
  };
}

/** One line for each; what cannot be read is left out. */
export function readFailures(text: string): readonly Failure[] {
  return text.split("\n").flatMap((line) => {
    const [, sha256 = "", name = "", reason = ""] = /^(\S+) (\S+) (.+)$/.exec(line) ?? [];
    return sha256 === "" ? [] : [{ sha256, name, reason }];
  });
}

export function writeFailures(failures: readonly Failure[]): string {
  return failures
    .slice(-KEPT_FAILURES)
    .map(({ sha256, name, reason }) => `${sha256} ${name} ${reason.replaceAll(/\s+/g, " ")}\n`)
    .join("");
}
