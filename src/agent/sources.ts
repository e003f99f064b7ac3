// Performs: wires the sources of pods to the node's facts: manifests in files, and documents where there is a broker.

import type { AgentConfig } from "../config/config.ts";
import type { SourceName, SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import { normalizedName, parseImageReference } from "../image/image-reference.ts";
import { guardedDirectories } from "../source/policy/host-path-reach.ts";
import { staleConditions } from "../source/document/version.ts";
import { FileSource } from "../source/file/file-source.ts";
import { MqttSource } from "../source/document/mqtt-source.ts";
import { Trust } from "../trust/trust.ts";
import { behindConditions } from "../node/clock-floor.ts";
import type { Edges } from "../edges.ts";
import type { TrustDoor } from "../trust/trust-view.ts";

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

/** Kept also without a broker: the first key that is ever seen counts for good. `onChange`: other keys are in force. */
export function buildTrust(
  { edges, config, nodeName: node }: SourcesOptions,
  onConditions: () => void,
  onChange: () => void,
): Trust {
  const { clock, log, sha256, store, rootKeys, verifySignature: verify } = edges;
  const { trustPath, mqtt } = config;
  const requireSignature = mqtt?.requireSignature ?? false;
  const own = { clock, log, sha256, node, trustPath, requireSignature, rootKeys, verify };
  const trust = new Trust({ ...own, store: store.trust, onConditions, onChange });
  trust.look();
  return trust;
}

/** `reset`: a document that was refused for its version or its signature may count now. Throws what the checkpoint throws. */
export function trustDoor(trust: Trust, documents: MqttSource | undefined): TrustDoor {
  return {
    current: () => trust.current(),
    reset: () => {
      // In this order: a version that is forgotten while keys stay in force would let an older document in.
      trust.reset();
      documents?.forgetVersion();
      documents?.judgeAgain();
    },
  };
}

export interface DocumentsOptions extends SourcesOptions {
  readonly trust: Trust;
  /** There is another answer to a document, or another condition. */
  readonly onState: () => void;
  /** Whether this generation of a source was judged and has failed. */
  readonly hasFailed: (source: SourceName, generation: number) => boolean;
}

/** undefined = no broker is configured. */
export function buildDocuments(options: DocumentsOptions): MqttSource | undefined {
  const { edges, config, nodeName, version, emit, trust, onState, hasFailed } = options;
  const { mqtt } = config;
  if (mqtt === undefined) return undefined;
  const { fleet, topicRoot, podPolicy: policy, requireDigest, groups = [] } = mqtt;
  const clusterDNS = config.clusterDNS.length > 0;
  const { clock, log, store, sha256, machine, clockSynchronised } = edges;
  return new MqttSource({
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
    hasFailed,
    emit,
    onState,
  });
}

/** Documents that run although their time is over, as far as the clock can be believed; and a clock that cannot. */
export function timeConditions(
  {
    clock,
    clockSynchronised,
    clockFloor,
  }: Pick<Edges, "clock" | "clockSynchronised" | "clockFloor">,
  documents: MqttSource | undefined,
): readonly NodeCondition[] {
  const synchronised = clockSynchronised();
  const now = clock.now();
  return [
    ...staleConditions(documents?.states() ?? [], synchronised ? now : undefined),
    ...behindConditions({ synchronised, now, floor: clockFloor.at }),
  ];
}

function fullImageName(image: string): string | undefined {
  try {
    return normalizedName(parseImageReference(image));
  } catch {
    // It says itself why, when it is pulled.
    return undefined;
  }
}
