// Performs: what became of the images that each pod has asked for: here, not to be had, or not yet.

import type { ImageProgress } from "../protocol/desired-document.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { allContainers, type PodUID } from "../api/v1/pod.ts";
import type { Failure } from "../api/pod/rollout.ts";
import { pullFailure } from "./pull-failure.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";

type Outcome =
  | { readonly type: "Here" }
  /** No waiting helps. */
  | { readonly type: "Fatal"; readonly why: Failure; readonly at: Monotonic }
  /** Nobody answers who could say whether it is to be had. */
  | { readonly type: "Silent" }
  | { readonly type: "Failed" };

const HERE: Outcome = { type: "Here" };
/** Ours, or the pod's own: nobody else has to be asked. */
const FATAL_REASONS = ["InvalidImageName", "ErrImageNeverPull"];

/** Pods; far more than a node runs. */
const REMEMBERED = 500;

export class ImageLedger {
  readonly #now: () => Monotonic;
  readonly #byPod = new Map<PodUID, Map<string, Outcome>>();

  constructor(now: () => Monotonic) {
    this.#now = now;
  }

  here(uid: PodUID, image: string): void {
    this.#of(uid).set(image, HERE);
  }

  /** A pull that is only waited for says nothing new. */
  failed(uid: PodUID, image: string, thrown: unknown): void {
    if (reasonOf(thrown, "") === "ImagePullBackOff") return;
    this.#of(uid).set(image, outcomeOf(thrown, this.#now()));
  }

  /** Why an image of the pod will never come, and since when that is known; undefined = it may. */
  fatal(uid: PodUID): { readonly why: Failure; readonly at: Monotonic } | undefined {
    const found = [...(this.#byPod.get(uid)?.values() ?? [])].filter(
      (outcome) => outcome.type === "Fatal",
    );
    return found.toSorted((a, b) => b.at - a.at)[0];
  }

  /** False = the last that was asked for an image of the pod has said nothing. */
  registryAnswers(uid: PodUID): boolean {
    return [...(this.#byPod.get(uid)?.values() ?? [])].every(({ type }) => type !== "Silent");
  }

  /** One of its images was asked for and did not come. */
  areAway(uid: PodUID): boolean {
    return [...(this.#byPod.get(uid)?.values() ?? [])].some(({ type }) => type !== "Here");
  }

  isHere(uid: PodUID, image: string): boolean {
    return this.#byPod.get(uid)?.get(image) === HERE;
  }

  #of(uid: PodUID): Map<string, Outcome> {
    const known = this.#byPod.get(uid) ?? new Map<string, Outcome>();
    this.#byPod.set(uid, known);
    const [oldest] = this.#byPod.keys();
    if (this.#byPod.size > REMEMBERED && oldest !== undefined) this.#byPod.delete(oldest);
    return known;
  }
}

/** Of these pods by now; what has a container of an image has had the image. */
export function imageProgress(
  wanted: readonly DesiredPod[],
  ledger: Pick<ImageLedger, "isHere">,
  observed: (uid: PodUID) => ObservedPod | undefined,
): ImageProgress {
  const all = wanted.flatMap(({ uid, pod }) => {
    const names = new Set(allContainers(pod.spec).map(({ image }) => image));
    const used = new Set(observed(uid)?.containers.map(({ image }) => image));
    return [...names].map((image) => used.has(image) || ledger.isHere(uid, image));
  });
  return { images: all.length, imagesDone: all.filter((isHere) => isHere).length };
}

function outcomeOf(thrown: unknown, at: Monotonic): Outcome {
  const reason = reasonOf(thrown, "ErrImagePull");
  if (FATAL_REASONS.includes(reason))
    return { type: "Fatal", why: { reason, message: messageOf(thrown) }, at };
  if (!(thrown instanceof Error)) return { type: "Failed" };
  switch (pullFailure(thrown.cause)) {
    case "NotFound":
      return { type: "Fatal", why: { reason: "ImageNotFound", message: messageOf(thrown) }, at };
    case "Denied":
      return { type: "Fatal", why: { reason: "ImageDenied", message: messageOf(thrown) }, at };
    case "Unreachable":
    case "Runtime":
      return { type: "Silent" };
    case "Other":
      return { type: "Failed" };
  }
}
