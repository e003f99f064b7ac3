// What pods ask for together. Two specs of one name never run at once, so of each resource the larger amount of them counts.

import { larger, podRequests, type Amounts } from "../../api/resource/pod-requests-limits.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import { podName, type Pod } from "../../api/v1/pod.ts";

const NOTHING: Amounts = new Map();

/** What pods ask for, added up once for each spec: every judgement looks at every pod. */
export class Requests {
  readonly #known = new WeakMap<PodSpec, Amounts>();

  of({ spec }: Pod): Amounts {
    const known = this.#known.get(spec) ?? podRequests(spec);
    this.#known.set(spec, known);
    return known;
  }
}

/** Requests of the pods that run or were admitted before. Grows pod by pod. */
export class Room {
  readonly #total = new Map<string, bigint>();
  readonly #byName = new Map<string, Amounts>();
  readonly #requests: Requests;

  constructor(requests = new Requests()) {
    this.#requests = requests;
  }

  add(pod: Pod): void {
    const name = podName(pod);
    const earlier = this.#byName.get(name) ?? NOTHING;
    const amounts = larger(earlier, this.requestsOf(pod));
    this.#byName.set(name, amounts);
    for (const [resource, amount] of amounts) {
      const more = amount - (earlier.get(resource) ?? 0n);
      this.#total.set(resource, (this.#total.get(resource) ?? 0n) + more);
    }
  }

  requestsOf(pod: Pod): Amounts {
    return this.#requests.of(pod);
  }

  /** What pods of other names ask for: its own predecessor stops before the pod starts. */
  usedBeside(pod: Pod, resource: string): bigint {
    const own = this.#byName.get(podName(pod))?.get(resource) ?? 0n;
    return (this.#total.get(resource) ?? 0n) - own;
  }
}
