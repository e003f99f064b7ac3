// Performs: builds the sources of pods: manifests in files and from a URL, and with a broker documents, which trust
// admits.

import type { SourceSnapshot } from "../api/pod/desired-pod.ts";
import { withoutUndefined } from "../lib/json.ts";
import type { GroupMember } from "../protocol/groups.ts";
import { normalizedName, parseImageReference } from "../image/image-reference.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import { localLabels } from "../source/admission/node-affinity.ts";
import { MqttSource, type MqttSourceOptions } from "../source/document/mqtt-source.ts";
import type { HttpSource } from "../source/http/http-source.ts";
import { FileSource } from "../source/file/file-source.ts";
import type { NodeViewOptions } from "../node/node-view-options.ts";
import { buildManifestUrl, lastGoodOfFiles } from "./build-manifest-url.ts";
import { askDirectory } from "./volume-helper.ts";
import { REMOTE_SETTINGS_FEATURE } from "../source/document/judge-settings.ts";
import { SEALED_SECRETS_FEATURE } from "../source/document/sealed.ts";
import { AGENT_UPDATE_FEATURE } from "../source/document/agent-update.ts";
import { Trust } from "../trust/trust.ts";
import type { StartGuard, WorkGuard } from "../store/start-guard/start-guard.ts";
import { guardedDirectories } from "../source/policy/host-paths-and-devices.ts";

interface SourcesOptions
  extends
    Pick<NodeViewOptions, "edges" | "config" | "version" | "nodeName">,
    Pick<MqttSourceOptions, "onFleet"> {
  readonly rollouts: Pick<Rollouts, "hasFailed">;
  /** `mqtt.groups` in force. */
  readonly groups: readonly GroupMember[];
  readonly guard: WorkGuard & Pick<StartGuard, "judged">;
  /** Receives every snapshot, in order. */
  readonly emit: (snapshot: SourceSnapshot) => void;
  /** The answer to a document, or a condition, has changed. */
  readonly onState: () => void;
}

export interface Sources {
  readonly files: FileSource;
  /** undefined = no URL is configured, and none was. */
  readonly url: HttpSource | undefined;
  readonly trust: Trust;
  /** undefined = no broker is configured. */
  readonly documents: MqttSource | undefined;
}

export function buildSources(options: SourcesOptions): Sources {
  const { edges, config, nodeName, emit, guard } = options;
  const files = new FileSource({
    ...edges,
    guard,
    directory: config.staticPodPath,
    lastGood: lastGoodOfFiles(edges.store),
    askDirectory: askDirectory(edges),
    nodeName,
    clusterDNS: config.clusterDNS.length > 0,
    emit,
  });
  const trust = buildTrust(options);
  const url = buildManifestUrl(options);
  return { files, url, trust, documents: buildDocuments(options, trust) };
}

/** Also without a broker: the first root key that is ever seen requires signatures for good. */
function buildTrust({ edges, config, nodeName: node, onState }: SourcesOptions): Trust {
  const trust = new Trust({
    ...edges,
    node,
    trustPath: config.trustPath,
    requireSignature: config.mqtt?.requireSignature ?? false,
    verify: edges.verifySignature,
    store: edges.store.trust,
    onConditions: onState,
  });
  trust.look();
  return trust;
}

function buildDocuments(options: SourcesOptions, trust: Trust): MqttSource | undefined {
  const { edges, config, nodeName, version, rollouts, emit, onState, onFleet, guard } = options;
  const { mqtt, clusterDNS } = config;
  if (mqtt === undefined) return undefined;
  const { fleet, podPolicy: policy, requireDigest } = mqtt;
  const documents = new MqttSource({
    ...edges,
    ...withoutUndefined({ fleet, onFleet }),
    groups: options.groups,
    documents: edges.store.documents,
    meta: edges.store.meta,
    ownLabels: localLabels(
      { nodeName, architecture: edges.machine.architecture },
      config.nodeLabels,
    ),
    guard,
    onJudged: () => guard.judged(),
    node: nodeName,
    topicRoot: mqtt.topicRoot,
    facts: {
      agentVersion: version,
      arch: edges.machine.architecture,
      features: new Set([
        ...(edges.nodeKeys === undefined ? [] : [SEALED_SECRETS_FEATURE]),
        ...(edges.selfUpdate === undefined ? [] : [AGENT_UPDATE_FEATURE]),
        ...(edges.device === undefined ? [] : [REMOTE_SETTINGS_FEATURE]),
      ]),
      ...withoutUndefined({ settingsError: edges.device?.settingsError }),
      clusterDNS: clusterDNS.length > 0,
    },
    trust,
    keys: edges.nodeKeys,
    podRules: {
      ...withoutUndefined({ policy }),
      requireDigest,
      guarded: guardedDirectories(config),
      fullImageName,
    },
    clockTrusted: edges.clockSynchronised,
    onIssued: (at) => {
      if (edges.clockFloor.raise(at)) onState();
    },
    hasFailed: (source, generation) => rollouts.hasFailed(source, generation),
    emit,
    onState,
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
