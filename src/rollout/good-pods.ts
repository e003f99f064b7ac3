// Performs: the good revisions of one document's pods, ready to run: read from their sealed copies once.

import type { DecodeContext } from "../api/decode/decode-context.ts";
import type { SourceName } from "../api/pod/desired-pod.ts";
import type { GoodCopy, PodOfSource, Revision, RolloutState } from "../api/pod/rollout.ts";
import { readGoodCopy, type GoodPod } from "./good-revision.ts";

export interface GoodPodsOptions {
  readonly source: SourceName;
  readonly store: {
    copy(
      pod: PodOfSource,
    ): { readonly type: "Found"; readonly copy: GoodCopy } | { readonly type: "Lost" };
  };
  /** To read a copy with. */
  readonly context: Omit<DecodeContext, "lenient" | "locate" | "source" | "sourceRef">;
}

export class GoodPods {
  readonly #options: GoodPodsOptions;
  readonly #known = new Map<string, { readonly revision: Revision; readonly pod: GoodPod }>();

  constructor(options: GoodPodsOptions) {
    this.#options = options;
  }

  /** What `state.good` is made of; undefined = there is none, or it is lost. Always the same object of one revision. */
  of(name: string, { good }: RolloutState): GoodPod | undefined {
    if (good === undefined) return undefined;
    const known = this.#known.get(name);
    if (known?.revision === good.revision) return known.pod;
    const { source, store, context } = this.#options;
    const found = store.copy({ source, name });
    if (found.type === "Lost") return undefined;
    const sourceRef = `generation ${good.generation}`;
    const pod = readGoodCopy(found.copy, { ...context, source, sourceRef });
    if (pod !== undefined) this.#known.set(name, { revision: good.revision, pod });
    return pod;
  }

  forget(name: string): void {
    this.#known.delete(name);
  }
}
