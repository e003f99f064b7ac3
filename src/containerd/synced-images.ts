// Performs: a CRI client that has new images written to the disk before anything starts from them. containerd flushes the
// content of an image but not the files that it unpacks, at a pull or at the first container: for half a minute a power cut
// leaves them empty, containerd counts them as whole, and every container of the image fails for good.

import type { CriClient } from "../cri/cri-client.ts";

/** Resolves when everything that was written before the call is on the disk, or cannot be brought there. Never rejects. */
export type SyncImages = () => Promise<void>;

type Unpacking = Pick<CriClient, "pullImage" | "createContainer" | "runPodSandbox">;

/** Of all sandboxes. */
const PAUSE = "";

export function syncedImages<Client extends Unpacking>(cri: Client, sync: SyncImages): Client {
  /** Images from which something was unpacked and synced since the start; the runtime unpacks each once. */
  const synced = new Set<string>();
  const shared = sharedSync(sync);
  const syncOnce = async (image: string): Promise<void> => {
    if (synced.has(image)) return;
    await shared();
    synced.add(image);
  };
  const pullImage: CriClient["pullImage"] = async (args, options) => {
    const ref = await cri.pullImage(args, options);
    await shared();
    synced.add(ref);
    return ref;
  };
  const createContainer: CriClient["createContainer"] = async (args, options) => {
    const id = await cri.createContainer(args, options);
    await syncOnce(args.config.image?.image ?? "unnamed");
    return id;
  };
  const runPodSandbox: CriClient["runPodSandbox"] = async (args, options) => {
    const id = await cri.runPodSandbox(args, options);
    await syncOnce(PAUSE);
    return id;
  };
  return { ...cri, pullImage, createContainer, runPodSandbox };
}

/** Callers during a sync share the next one: the present one may have passed what they wrote. */
function sharedSync(sync: SyncImages): SyncImages {
  let present: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    present = sync().finally(() => (present = undefined));
    return present;
  };
  return () => {
    if (present === undefined) return begin();
    next ??= present.then(() => {
      next = undefined;
      return begin();
    });
    return next;
  };
}
