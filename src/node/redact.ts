// Performs: what pods say in their own words goes upstream without the values of Secrets and environments that the node
// knows.

import type { ContainerState, ContainerStatus, PodStatus } from "../api/v1/pod-status.ts";

const HIDDEN = "<hidden>";

/** `text` with every one of `secrets` hidden wherever it stands. */
export function hushed(text: string, secrets: ReadonlySet<string>): string {
  // The longest first: one may be the beginning of another.
  const all = [...secrets].toSorted((a, b) => b.length - a.length);
  return all.reduce((said, secret) => said.replaceAll(secret, HIDDEN), text);
}

/** The same status; only its messages are words of pods. */
export function hushedStatus(status: PodStatus, secrets: ReadonlySet<string>): PodStatus {
  if (secrets.size === 0) return status;
  const say = (text: string): string => hushed(text, secrets);
  return {
    ...status,
    ...messageOf(status.message, say),
    conditions: status.conditions.map((condition) => ({
      ...condition,
      ...messageOf(condition.message, say),
    })),
    initContainerStatuses: status.initContainerStatuses.map((one) => container(one, say)),
    containerStatuses: status.containerStatuses.map((one) => container(one, say)),
  };
}

/** A value that was replaced may still stand in the last words of a container that had read it. */
const REMEMBERED = 300;

export class SecretMemory {
  readonly #known = new Set<string>();

  /** Those of now, and the latest of before. */
  with(texts: ReadonlySet<string>): ReadonlySet<string> {
    for (const text of texts) {
      this.#known.delete(text);
      this.#known.add(text);
    }
    for (const oldest of this.#known) {
      if (this.#known.size <= Math.max(REMEMBERED, texts.size)) break;
      this.#known.delete(oldest);
    }
    return this.#known;
  }
}

type Say = (text: string) => string;

function container(status: ContainerStatus, say: Say): ContainerStatus {
  return { ...status, state: state(status.state, say), lastState: state(status.lastState, say) };
}

function state({ waiting, terminated, ...rest }: ContainerState, say: Say): ContainerState {
  return {
    ...rest,
    ...(waiting === undefined
      ? {}
      : { waiting: { ...waiting, ...messageOf(waiting.message, say) } }),
    ...(terminated === undefined
      ? {}
      : { terminated: { ...terminated, ...messageOf(terminated.message, say) } }),
  };
}

function messageOf(message: string | undefined, say: Say): { readonly message?: string } {
  return message === undefined ? {} : { message: say(message) };
}
