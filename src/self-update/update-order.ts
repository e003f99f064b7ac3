// Updates of the agent itself: what may be asked for, whether the binary may be used, and when.

import { whyClosed, type WindowVerdict } from "../api/window/judge-windows.ts";
import type { MaintenanceWindow } from "../api/window/maintenance-window.ts";
import type { Failure } from "../host/versions/versions.ts";
import type { AgentUpdate, Platform } from "../protocol/agent-release.ts";
import type { DesiredDocument, DocumentState } from "../protocol/desired-document.ts";

/** One update that an operator or a document asks for. */
export interface UpdateOrder {
  readonly origin: "Operator" | "Document";
  /** An absolute path, or an http or https address. */
  readonly source: string;
  /** What the document says; absent = not known yet. */
  readonly version?: string;
  /** In hexadecimal digits. */
  readonly sha256?: string;
  readonly size?: number;
  /** A binary that has failed may be tried again. */
  readonly retry: boolean;
  readonly allowUnsigned: boolean;
}

export type OrderVerdict =
  | { readonly type: "Go" }
  | { readonly type: "Running"; readonly message: string }
  | { readonly type: "Failed"; readonly failure: Failure };

export interface NodeVersion {
  /** That runs. */
  readonly version: string;
  readonly failures: readonly Failure[];
}

/** Judged as soon as the version or the digest is known, so that nothing is downloaded in vain. */
export function judgeOrder(
  { version, sha256, retry }: Pick<UpdateOrder, "version" | "sha256" | "retry">,
  node: NodeVersion,
): OrderVerdict {
  if (version !== undefined && version === node.version)
    return { type: "Running", message: `version ${version} runs already` };
  const failure = node.failures.findLast((one) => one.sha256 === sha256);
  if (failure === undefined || retry) return { type: "Go" };
  return { type: "Failed", failure };
}

/** Of the documents in the order in which they count, the first that is signed and names a version. */
export function updateOfDocuments(
  states: readonly Pick<DocumentState, "document">[],
): AgentUpdate | undefined {
  return updatingDocument(states)?.agent;
}

/** The maintenance windows of that document; undefined = those of the node. */
export function windowsOfUpdate(
  states: readonly Pick<DocumentState, "document">[],
): readonly MaintenanceWindow[] | undefined {
  const policy = updatingDocument(states)?.policy;
  return policy?.urgent === true ? [] : policy?.maintenanceWindows;
}

function updatingDocument(
  states: readonly Pick<DocumentState, "document">[],
): DesiredDocument | undefined {
  const first = states.find(
    ({ document }) => document?.signed === true && document.agent !== undefined,
  );
  return first?.document;
}

/** undefined = there is no binary for the platform. */
export function orderOfDocument(
  { version, artifacts }: AgentUpdate,
  platform: Platform,
): UpdateOrder | undefined {
  const artifact = artifacts[platform];
  if (artifact === undefined) return undefined;
  const { url, sha256, size } = artifact;
  const rest = { retry: false, allowUnsigned: false } as const;
  return { origin: "Document", source: url, version, sha256, size, ...rest };
}

/** Download and switch are asked for separately: a window may allow one of them. */
export type UpdateStep = "Download" | "Switch";

interface Moment {
  /** The node stops its pods to go off. */
  readonly isShuttingDown: boolean;
  readonly origin: UpdateOrder["origin"];
  /** Of the maintenance windows for this step. */
  readonly window: WindowVerdict;
}

/** Why an update of the agent must wait; undefined = now. What an operator orders at the device waits for no window. */
export function mayUpdateNow(
  step: UpdateStep,
  { isShuttingDown, origin, window }: Moment,
): string | undefined {
  if (isShuttingDown) return `${step.toLowerCase()} waits: the node is shutting down`;
  if (origin === "Operator") return undefined;
  return whyClosed(window, step === "Download" ? "download" : "update");
}

/** Of a source: else it is a path. */
export function isUrl(source: string): boolean {
  return /^https?:\/\//.test(source);
}

/** For people; what follows `?` may be a password. */
export function shownSource(source: string): string {
  const url = URL.parse(source);
  return url === null || !url.protocol.startsWith("http") ? source : `${url.origin}${url.pathname}`;
}
