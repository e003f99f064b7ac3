// Performs: a CRI client that imports the pause image when a sandbox lacks it. containerd 2.x does not report the name of
// its sandbox image beforehand, but the error of a sandbox that cannot be made has it.

import type { CriClient } from "../cri/cri-client.ts";
import { CriError } from "../cri/cri-error.ts";

const MISSING = /failed to get sandbox image "([^"]+)"/;

/** Imports the pause image under a name; rejects if that fails. */
export type ImportPause = (
  image: string,
  options: { readonly signal?: AbortSignal },
) => Promise<void>;

export function sandboxImageClient<Client extends Pick<CriClient, "runPodSandbox">>(
  cri: Client,
  importPause: ImportPause,
): Client {
  const runPodSandbox: CriClient["runPodSandbox"] = async (args, options) => {
    try {
      return await cri.runPodSandbox(args, options);
    } catch (thrown) {
      const image = missingSandboxImage(thrown);
      if (image === undefined) throw thrown;
      const signal = options?.signal;
      await importPause(image, signal === undefined ? {} : { signal });
      return cri.runPodSandbox(args, options);
    }
  };
  return { ...cri, runPodSandbox };
}

/** The registry's refusal, or that it cannot be reached, follows the name. */
export function missingSandboxImage(thrown: unknown): string | undefined {
  return thrown instanceof CriError ? MISSING.exec(thrown.details)?.[1] : undefined;
}
