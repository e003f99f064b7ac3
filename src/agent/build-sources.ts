// Performs: builds the sources of pods: manifests in files, and with a broker documents, which trust admits.

import type { AgentConfig } from "../config/config.ts";
import type { SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { Edges } from "../edges.ts";
import { normalizedName, parseImageReference } from "../image/image-reference.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import { MqttSource, type MqttSourceOptions } from "../source/document/mqtt-source.ts";
import { FileSource } from "../source/file/file-source.ts";
import { guardedDirectories } from "../source/policy/host-path-reach.ts";
import { Trust } from "../trust/trust.ts";

interface SourcesOptions extends Pick<MqttSourceOptions, "onFleet"> {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly version: string;
  readonly nodeName: string;
  readonly rollouts: Pick<Rollouts, "hasFailed">;
  /** Receives every snapshot, in order. */
  readonly emit: (snapshot: SourceSnapshot) => void;
  /** The answer to a document, or a condition, has changed. */
  readonly onState: () => void;
}

export interface Sources {
  readonly files: FileSource;
  readonly trust: Trust;
  /** undefined = no broker is configured. */
  readonly documents: MqttSource | undefined;
}

export function buildSources(options: SourcesOptions): Sources {
  const { edges, config, nodeName, emit } = options;
  const files = new FileSource({
    ...edges,
    directory: config.staticPodPath,
    lastGood: edges.store.lastGood,
    nodeName,
    clusterDNS: config.clusterDNS.length > 0,
    emit,
  });
  const trust = buildTrust(options);
  return { files, trust, documents: buildDocuments(options, trust) };
}

/** Also without a broker: the first root key that is ever seen requires signatures for good. */
function buildTrust({ edges, config, nodeName: node, onState }: SourcesOptions): Trust {
  const { clock, log, sha256, store, rootKeys, verifySignature: verify } = edges;
  const { trustPath, mqtt } = config;
  const requireSignature = mqtt?.requireSignature ?? false;
  const own = { clock, log, sha256, node, trustPath, requireSignature, rootKeys, verify };
  const trust = new Trust({ ...own, store: store.trust, onConditions: onState });
  trust.look();
  return trust;
}

function buildDocuments(options: SourcesOptions, trust: Trust): MqttSource | undefined {
  const { edges, config, nodeName, version, rollouts, emit, onState, onFleet } = options;
  const { mqtt } = config;
  if (mqtt === undefined) return undefined;
  const { fleet, topicRoot, podPolicy: policy, requireDigest, groups = [] } = mqtt;
  const clusterDNS = config.clusterDNS.length > 0;
  const { clock, log, store, sha256, machine, clockSynchronised } = edges;
  const documents = new MqttSource({
    documents: store.documents,
    clock,
    log,
    sha256,
    node: nodeName,
    topicRoot,
    groups,
    ...(fleet === undefined ? {} : { fleet }),
    facts: { agentVersion: version, arch: machine.architecture, features: new Set(), clusterDNS },
    trust,
    podRules: {
      ...(policy === undefined ? {} : { policy }),
      requireDigest,
      guarded: guardedDirectories(config),
      fullImageName,
    },
    clockTrusted: clockSynchronised,
    onIssued: (at) => {
      if (edges.clockFloor.raise(at)) onState();
    },
    hasFailed: (source, generation) => rollouts.hasFailed(source, generation),
    emit,
    onState,
    ...(onFleet === undefined ? {} : { onFleet }),
  });
  trust.onKeysChanged(() => documents.judgeAgain());
  return documents;
}

function fullImageName(image: string): string | undefined {
  try {
    return normalizedName(parseImageReference(image));
  } catch {
    // The pull reports why.
    return undefined;
  }
}
