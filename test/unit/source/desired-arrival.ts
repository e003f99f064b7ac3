// Base values of the tests on desired documents: a case names only what differs.

import type { AcceptedDocument, DocumentAddress } from "../../../src/protocol/desired-document.ts";
import {
  judgeDocument,
  type Arrival,
  type JudgeContext,
  type Verdict,
} from "../../../src/source/document/judge-document.ts";
import type { PodRules } from "../../../src/source/policy/pod-policy.ts";
import type { Keyring } from "../../../src/trust/keyring.ts";
import { sha256 } from "../api/digest.ts";

export const NOW = Date.UTC(2026, 10, 21, 8);

export const ADDRESS: DocumentAddress = {
  source: "mqtt:node",
  ref: "agent/v1/node/pi-1/desired",
  node: "pi-1",
};

/** Nobody has ever seen a key. */
export const NO_KEYRING: Keyring = {
  required: false,
  roots: [],
  bundleVersion: 0,
  unusable: "there is no usable root key in /etc/agent/trust.d; put one there as *.pub",
};

export const POD_RULES: PodRules = {
  requireDigest: false,
  guarded: ["/etc/agent/manifests", "/var/lib/agent", "/etc/agent/trust.d"],
  fullImageName: (image) => `registry.test/${image}`,
};

export const CONTEXT: JudgeContext = {
  facts: { agentVersion: "1.2.0", arch: "x64", features: new Set(["cgroup-memory"]) },
  now: NOW,
  clockTrusted: true,
  accepted: {},
  trust: { keyring: NO_KEYRING, verify: () => false },
  podRules: POD_RULES,
  sha256,
};

export function aWrittenPod(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "a", image: "local/busybox:1" }], ...spec },
  };
}

/** A document that is accepted, but for what a case changes; `undefined` removes a field. */
export function written(changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node: "pi-1" },
    generation: 7,
    resources: [aWrittenPod("web")],
    ...changes,
  });
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function storedFrom(text: string, more: Partial<AcceptedDocument> = {}): AcceptedDocument {
  const payload = bytes(text);
  return {
    source: "mqtt:node",
    epoch: "",
    generation: 7,
    digest: `sha256:${sha256(payload)}`,
    payload,
    observedGeneration: 0,
    acceptedAt: NOW,
    ...more,
  };
}

export function judge(payload: string | Uint8Array, changes: Partial<Arrival> = {}): Verdict {
  return judgeDocument({
    address: ADDRESS,
    payload: typeof payload === "string" ? bytes(payload) : payload,
    stored: undefined,
    current: [],
    context: CONTEXT,
    ...changes,
  });
}
