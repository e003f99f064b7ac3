// Words what became of a provisioning directory: for the log, for events, and as a condition of the node.

import type { NodeCondition } from "../api/v1/pod-status.ts";
import { shortText } from "../lib/short-text.ts";
import { below } from "./card-files.ts";
import type { IgnoredFile } from "./plan-take.ts";
import type { CardRefusal } from "./read-card.ts";
import type { LeftSecret } from "./take-over.ts";

export interface TakenFile {
  readonly name: string;
  readonly target: string;
}

export interface ProvisionReport {
  readonly directory: string;
  readonly taken: readonly TakenFile[];
  /** Paths of image archives that are imported from where they are. */
  readonly archives: readonly string[];
  readonly refused: readonly CardRefusal[];
  readonly ignored: readonly IgnoredFile[];
  /** Names that mean nothing to the agent. */
  readonly unknown: readonly string[];
  readonly left: readonly LeftSecret[];
  /** Why nothing, or not everything, could be taken over; a sentence with its remedy. */
  readonly failure: string | undefined;
}

export function nothingOf(directory: string): ProvisionReport {
  return {
    directory,
    taken: [],
    archives: [],
    refused: [],
    ignored: [],
    unknown: [],
    left: [],
    failure: undefined,
  };
}

/** Something that a person should know, with what helps. */
export interface Notice {
  readonly level: "info" | "warn" | "error";
  readonly reason: string;
  readonly message: string;
  readonly remedy?: string;
}

const AGAIN = "agent provision --again takes it over";
const MAX_MESSAGE = 1000;

export function noticesOf(report: ProvisionReport): readonly Notice[] {
  const { directory, taken, refused, ignored, unknown, left, failure } = report;
  const at = (name: string): string => (name === "." ? directory : below(directory, name));
  return [
    ...taken.map(({ name, target }): Notice => ({
      level: "info",
      reason: "Provisioned",
      message: `${at(name)} was taken over as ${target}`,
    })),
    ...refused.map(({ name, message, remedy }): Notice => ({
      level: "error",
      reason: "ProvisioningRefused",
      message: `${at(name)} ${message}`,
      remedy,
    })),
    ...left.map(({ name, why }): Notice => ({
      level: "warn",
      reason: "SecretLeft",
      message: `${at(name)} holds a secret and stays where everybody can read it who has the card: ${why}`,
      remedy: "make the file system writable and restart the agent, or remove the file yourself",
    })),
    ...ignored.map(({ name, why }): Notice => ({
      level: "warn",
      reason: "ProvisioningIgnored",
      message: `${at(name)} is ignored: it ${why}`,
      remedy: AGAIN,
    })),
    ...unknown.map((name): Notice => ({
      level: "warn",
      reason: "ProvisioningIgnored",
      message: `${at(name)} is ignored: the agent takes over nothing of that name`,
      remedy: NAMES,
    })),
    ...(failure === undefined
      ? []
      : [{ level: "error", reason: "ProvisioningFailed", message: failure } as const]),
  ];
}

/** What a person has to do something about. */
export function provisioningConditions(report: ProvisionReport): readonly NodeCondition[] {
  const problems = noticesOf(report).filter(({ reason }) => OPEN.includes(reason));
  const [first] = problems;
  if (first === undefined) return [];
  const text = problems
    .map(({ message, remedy }) => (remedy === undefined ? message : `${message}; ${remedy}`))
    .join(". ");
  return [
    {
      type: "ProvisioningIncomplete",
      status: "True",
      reason: first.reason,
      message: shortText(text, MAX_MESSAGE),
    },
  ];
}

const OPEN: readonly string[] = ["ProvisioningRefused", "SecretLeft", "ProvisioningFailed"];

/** What a provisioning directory may hold. */
export const NAMES =
  "what it may hold: agent.yaml, mqtt-password, registry-auth.json, tls/*.crt, *.pem and *.key, trust.d/*.pub, manifests/*.yaml, images/*.tar";
