// Decides the node's name: a name or template of the configuration, or the default rule.

import { isTopicName } from "../../protocol/mqtt-topics.ts";
import { failed, ok, type Result } from "../../lib/result.ts";

/** Facts about the board; absent or empty = not available. */
export interface BoardFacts {
  readonly hostname: string;
  /** The board's serial number; stays when the card moves to another board. */
  readonly serial?: string;
  /** /etc/machine-id; moves with the card to another board. */
  readonly machineId?: string;
  /** Of the first wired interface, `aa:bb:cc:dd:ee:ff`. */
  readonly mac?: string;
}

/** What all copies of one prepared image share, and a suffix for a copy that has nothing of its own. */
export interface CopyFacts {
  readonly hostname: string;
  /** "" = none. */
  readonly machineId: string;
  readonly chance: string;
}

/** Default names of images, which all devices of a fleet would share. */
const FACTORY_NAMES: ReadonlySet<string> = new Set([
  "",
  "alpine",
  "archlinux",
  "armbian",
  "buildroot",
  "debian",
  "dietpi",
  "fedora",
  "linux",
  "localhost",
  "localhost.localdomain",
  "orangepi",
  "pi",
  "raspberry",
  "raspberrypi",
  "raspbian",
  "rock",
  "ubuntu",
]);
const MAX_LENGTH = 63;
const SUFFIX_LENGTH = 6;
const VARIABLE = /\$\{([^}]*)\}/g;

/**
 * The name of a node; `template` undefined = hostname, with a suffix if other devices have it too: a factory name, or that of
 * the image of which this is a copy.
 */
export function resolveNodeName(
  template: string | undefined,
  facts: BoardFacts,
  copy?: CopyFacts,
): Result<string> {
  if (template === undefined) return named(defaultName(facts, copy), "hostname");
  const known = new Map<string, string | undefined>([
    ["hostname", facts.hostname],
    ["serial", facts.serial],
    ["machineId", facts.machineId],
    ["mac", facts.mac],
  ]);
  for (const [, variable = ""] of template.matchAll(VARIABLE)) {
    if (!known.has(variable))
      return refused(
        `unknown variable \${${variable}}; use one of ${[...known.keys()].join(", ")}`,
      );
    if ((known.get(variable) ?? "") === "")
      return refused(`this machine has no ${variable}; use another variable or a plain name`);
  }
  return named(
    template.replace(VARIABLE, (_, variable: string) => known.get(variable) ?? ""),
    template,
  );
}

function defaultName(facts: BoardFacts, copy: CopyFacts | undefined): string {
  const name = facts.hostname.toLowerCase();
  const isShared = FACTORY_NAMES.has(name) || name === copy?.hostname.toLowerCase();
  if (!isShared) return name;
  const suffix = suffixOf(facts, copy).slice(-SUFFIX_LENGTH);
  return [name === "" ? "node" : name, suffix].filter((part) => part !== "").join("-");
}

function suffixOf({ serial = "", machineId = "" }: BoardFacts, copy: CopyFacts | undefined) {
  if (serial !== "") return serial;
  // The machine ID of the image is that of all its copies, unless it was removed there.
  return copy !== undefined && machineId === copy.machineId ? copy.chance : machineId;
}

/** Lower case, `-` for what a node's name must not contain, at most 63 characters. */
function named(raw: string, from: string): Result<string> {
  const name = raw
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, "-")
    .replace(/^[.-]+/, "")
    .slice(0, MAX_LENGTH)
    .replace(/[.-]+$/, "");
  return isTopicName(name) ? ok(name) : refused(`${JSON.stringify(from)} leaves no usable name`);
}

function refused(message: string): Result<string> {
  return failed([{ path: "nodeName", code: "Invalid", message }]);
}
