// Which pods of this node have which names, and whose they are.

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { isStatic, type SourceName } from "../../api/pod/labels.ts";
import { isSelected, type DesiredService } from "../../api/v1/object/service.ts";
import { firstOfEach } from "../../lib/compare.ts";
import { podHostname } from "../cri-config/pod-hosts.ts";
import {
  isVisible,
  type NamedPod,
  type NamedService,
  type NameOwner,
  type NamesWorld,
} from "./pod-names.ts";

/** A pod of this node, as it is now. */
export interface AddressedPod {
  readonly desired: DesiredPod;
  /** Empty = it has none yet, or none any more. */
  readonly ips: readonly string[];
  readonly isReady: boolean;
  /** A pod that is being removed, or has ended, looks names up and has none. */
  readonly isNamed: boolean;
}

export interface NodeNames {
  readonly clusterDomain: string;
  readonly pods: readonly AddressedPod[];
  /** In order of precedence; absent = none. */
  readonly services?: readonly DesiredService[];
}

export function ownerOf(source: SourceName, signed: boolean | undefined): NameOwner {
  if (isStatic(source)) return "Static";
  return signed === true ? "SignedDocument" : "UnsignedDocument";
}

/** In an order that does not depend on when the pods came. */
export function namesWorld({ clusterDomain, pods, services = [] }: NodeNames): NamesWorld {
  const named = pods.filter(({ isNamed, ips }) => isNamed && ips.length > 0);
  return {
    clusterDomain,
    pods: named.map(({ desired, ips }) => namedPod(desired, ips, clusterDomain)),
    // One of a less trusted source takes no name from pods that do not see it.
    services: firstOfEach(
      services,
      (one) => `${ownerOf(one.source, one.signed)} ${one.namespace}/${one.name}`,
    ).firsts.flatMap((service) => namedService(service, named)),
  };
}

/** Its pods are those that every reader of its name may see: an unsigned pod is behind no Service of a file. */
function namedService(
  service: DesiredService,
  pods: readonly AddressedPod[],
): readonly NamedService[] {
  const { namespace, name, source, signed, publishesNotReady } = service;
  const owner = ownerOf(source, signed);
  const ips = pods.flatMap(({ desired, ips: ofPod, isReady }) => {
    const { metadata } = desired.pod;
    const isBehind =
      (isReady || publishesNotReady) &&
      metadata.namespace === namespace &&
      isSelected(metadata.labels, service) &&
      isVisible(ownerOf(desired.source, desired.signed), { owner });
    return isBehind ? ofPod : [];
  });
  return ips.length === 0 ? [] : [{ namespace, name, ips, owner }];
}

function namedPod(
  { pod, source, signed }: DesiredPod,
  ips: readonly string[],
  clusterDomain: string,
): NamedPod {
  const { namespace, name } = pod.metadata;
  const { hostname } = podHostname(pod, clusterDomain);
  const { subdomain = "" } = pod.spec;
  return { namespace, name, hostname, subdomain, ips, owner: ownerOf(source, signed) };
}
