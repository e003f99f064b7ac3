// A node that has nothing for its pods but itself.

import { NO_OBJECTS } from "../../src/api/v1/object/local-object.ts";
import type { PodObjects } from "../../src/podworkers/refresh-config.ts";
import type { TerminationFiles } from "../../src/runtime/observe/termination-reader.ts";
import type { RuntimeHelper } from "../../src/runtime/runtime-helper.ts";

export const PLAIN_WORLD: RuntimeHelper = {
  nodeName: "node",
  clusterDomain: "",
  allocatable: { cpuMillis: 4000, memoryBytes: 4 * 1024 ** 3 },
  hostIPs: () => ["192.0.2.1"],
  nodeHosts: () => "127.0.0.1\tlocalhost\n",
  objects: () => NO_OBJECTS,
  configDigest: (text) => `v1:key:${text}`,
  mountsImages: () => false,
  refreshVolumes: () => [],
  prepareSubPath: (_pod, { volumePath, subPath }) => `${volumePath}/${subPath}`,
};

/** No container wrote a termination message or a log. */
export const NO_TERMINATION_FILES: TerminationFiles = {
  info: () => undefined,
  tail: () => new Uint8Array(),
};

/** Nothing ever changes. */
export const NO_POD_OBJECTS: PodObjects = {
  version: () => 0,
  refreshVolumes: () => [],
  digests: () => ({}),
};
