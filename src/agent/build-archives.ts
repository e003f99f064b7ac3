// Performs: builds what imports image archives; a pod that waits for an image is looked at again when it has come.

import { allContainers } from "../api/v1/pod.ts";
import { ImageArchives, type ImageArchivesOptions } from "../image/archive/image-archives.ts";
import { fullName, type NodeImage } from "../image/gc/image-keys.ts";
import type { ImageUsage } from "../image/gc/image-usage.ts";
import type { Pods } from "../podworkers/pods.ts";
import type { PodUID } from "../api/v1/pod.ts";

interface ArchivesOptions extends Omit<ImageArchivesOptions, "brought" | "onImported"> {
  readonly usage: Pick<ImageUsage, "brought">;
  readonly pods: Pods;
  readonly onPodChanged: (uid: PodUID) => void;
}

export function buildArchives({
  usage,
  pods,
  onPodChanged,
  ...own
}: ArchivesOptions): ImageArchives {
  const brought = (image: NodeImage, name: string): void => usage.brought(image, name, "Archive");
  const onImported = (names: readonly string[]): void => {
    for (const { uid, pod } of pods.workers.desiredPods())
      if (allContainers(pod.spec).some(({ image }) => names.includes(fullName(image))))
        onPodChanged(uid);
  };
  return new ImageArchives({ ...own, brought, onImported });
}
