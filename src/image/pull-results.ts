// Remembers the result of the last pull of each image of each pod: here, failed for good, or failed for now.

import type { ImageProgress } from "../protocol/desired-document.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { allContainers, type PodUID } from "../api/v1/pod.ts";
import type { Failure } from "../api/pod/rollout.ts";
import { inTenths, PullBoard, type ImageBytes } from "./pull-progress.ts";
import { pullFailure } from "./pull-failure.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";

type Outcome =
  | { readonly type: "Here" }
  /** Waiting cannot mend it. */
  | { readonly type: "Fatal"; readonly why: Failure; readonly at: Monotonic }
  /** The registry or the runtime does not answer. */
  | { readonly type: "Silent" }
  | { readonly type: "Failed" };

const HERE: Outcome = { type: "Here" };
/** Decided without asking the registry. */
const FATAL_REASONS = ["InvalidImageName", "ErrImageNeverPull"];

/** Caps the pods that are remembered; far more than a node runs. */
const REMEMBERED = 500;

export class ImageLedger {
  readonly #now: () => Monotonic;
  /** How far the pulls are that run now. */
  readonly pulls: PullBoard;
  readonly #byPod = new Map<PodUID, Map<string, Outcome>>();

  /** `onStep`: a pull has come a tenth further, or has ended. */
  constructor(now: () => Monotonic, onStep: () => void = () => undefined) {
    this.#now = now;
    this.pulls = new PullBoard(onStep);
  }

  here(uid: PodUID, image: string): void {
    this.#of(uid).set(image, HERE);
  }

  /** A back-off between two pulls is no new result. */
  failed(uid: PodUID, image: string, thrown: unknown): void {
    if (reasonOf(thrown, "") === "ImagePullBackOff") return;
    this.#of(uid).set(image, outcomeOf(thrown, this.#now()));
  }

  /** Why an image of the pod will never come, and since when that is certain; undefined = all may come. */
  fatal(uid: PodUID): { readonly why: Failure; readonly at: Monotonic } | undefined {
    const found = [...(this.#byPod.get(uid)?.values() ?? [])].filter(
      (outcome) => outcome.type === "Fatal",
    );
    return found.toSorted((a, b) => b.at - a.at)[0];
  }

  /** False = the last pull of an image of the pod got no answer. */
  registryAnswers(uid: PodUID): boolean {
    return [...(this.#byPod.get(uid)?.values() ?? [])].every(({ type }) => type !== "Silent");
  }

  /** The last pull of one of its images failed. */
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

/** Counts the images of these pods, and the bytes of those that are pulled now; an image that a container of the pod was made of is here. */
export function imageProgress(
  wanted: readonly DesiredPod[],
  ledger: Pick<ImageLedger, "isHere" | "pulls">,
  observed: (uid: PodUID) => ObservedPod | undefined,
): ImageProgress {
  const pulled = new Map<string, ImageBytes>();
  const all = wanted.flatMap(({ uid, pod }) => {
    const names = new Set(allContainers(pod.spec).map(({ image }) => image));
    const used = new Set(observed(uid)?.containers.map(({ image }) => image));
    return [...names].map((image) => {
      const bytes = ledger.pulls.of(image);
      if (bytes !== undefined) pulled.set(image, inTenths(bytes));
      return used.has(image) || ledger.isHere(uid, image);
    });
  });
  const progress = { images: all.length, imagesDone: all.filter((isHere) => isHere).length };
  if (pulled.size === 0) return progress;
  const sum = (of: (bytes: ImageBytes) => number): number =>
    Math.round([...pulled.values()].reduce((total, bytes) => total + of(bytes), 0));
  return { ...progress, bytes: sum(({ total }) => total), bytesDone: sum(({ done }) => done) };
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
