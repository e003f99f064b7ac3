// Wires the sources of pods to the node's facts: manifests in files, and documents where there is a broker.

import type { AgentConfig } from "../api/config.ts";
import type { SourceSnapshot } from "../api/desired-pod.ts";
import { FileSource } from "../source/file-source.ts";
import { MqttSource } from "../source/mqtt-source.ts";
import type { Edges } from "./edges.ts";

export interface SourcesOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly version: string;
  readonly nodeName: string;
  readonly emit: (snapshot: SourceSnapshot) => void;
}

export function buildFileSource({ edges, config, nodeName, emit }: SourcesOptions): FileSource {
  const { files, clock, random, log, store, sha256 } = edges;
  return new FileSource({
    files,
    clock,
    random,
    log,
    directory: config.staticPodPath,
    lastGood: store.lastGood,
    nodeName,
    clusterDNS: config.clusterDNS.length > 0,
    sha256,
    emit,
  });
}

/** `onState`: there is another answer to a document. */
export function buildDocuments(
  options: SourcesOptions,
  onState: () => void,
): MqttSource | undefined {
  const { edges, config, nodeName, version, emit } = options;
  if (config.mqtt === undefined) return undefined;
  const { fleet, topicRoot } = config.mqtt;
  const clusterDNS = config.clusterDNS.length > 0;
  const { clock, log, store, sha256, machine, clockSynchronised } = edges;
  return new MqttSource({
    documents: store.documents,
    clock,
    log,
    sha256,
    node: nodeName,
    topicRoot,
    ...(fleet === undefined ? {} : { fleet }),
    facts: { agentVersion: version, arch: machine.architecture, features: new Set(), clusterDNS },
    clockTrusted: clockSynchronised,
    emit,
    onState,
  });
}
