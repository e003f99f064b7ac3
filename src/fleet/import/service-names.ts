// Names by which services look for each other beside those of the pods → Services, which are names on a node.

import { dnsLabelError } from "../../api/validation/validate-names.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { PlacedService } from "./place-services.ts";
import type { ImportedFile, Remark } from "./service.ts";

/** The label by which a Service finds its pod. */
export const POD_LABEL = "app";

export interface ServiceNames {
  readonly objects: readonly JsonObject[];
  /** Pods that have to carry their name as POD_LABEL. */
  readonly labelled: ReadonlySet<string>;
  readonly remarks: readonly Remark[];
}

export function servicesOf(
  placed: readonly PlacedService[],
  files: readonly ImportedFile[],
): ServiceNames {
  const pods = new Set(placed.map(({ pod }) => pod));
  const taken = new Map<string, string>();
  const remarks: Remark[] = [];
  for (const service of placed) {
    const { name: place, pod, aliases, otherNames } = service;
    const used = otherNames.filter((name) => isUsed(name, { service, placed, files }));
    for (const name of new Set([...aliases, ...used])) {
      if (name === pod) continue;
      const owner = pods.has(name) ? name : taken.get(name);
      if (dnsLabelError(name) !== undefined)
        remarks.push({ place, message: `${name} can be no name on a node: write ${pod} for it` });
      else if (owner === undefined) taken.set(name, pod);
      else if (owner !== pod)
        remarks.push({
          place,
          message: `the name ${name} is that of ${owner}: write ${pod} for it`,
        });
    }
  }
  return {
    objects: [...taken].map(([name, pod]) => nameOf(name, pod)),
    labelled: new Set(taken.values()),
    remarks,
  };
}

/** It is found as soon as it has an address, as a container is. */
function nameOf(name: string, pod: string): JsonObject {
  const selector = { [POD_LABEL]: pod };
  const spec = { clusterIP: "None", publishNotReadyAddresses: true, selector };
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec };
}

interface Use {
  readonly service: PlacedService;
  readonly placed: readonly PlacedService[];
  readonly files: readonly ImportedFile[];
}

/** True if it stands as a word of its own in what another service is given. */
function isUsed(name: string, { service, placed, files }: Use): boolean {
  const others = placed.filter((one) => one !== service);
  const texts = [
    ...others.flatMap(({ environment, command = [], args = [] }) => [
      ...Object.values(environment),
      ...command,
      ...args,
    ]),
    ...files.flatMap(({ data }) => Object.values(data)),
  ];
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const word = new RegExp(String.raw`(?<![\w.-])${escaped}(?![\w-]|\.\w)`);
  return texts.some((text) => word.test(text));
}
