// Performs: brings the binary of an update to the node, and lets nothing through that is not what was signed or named.

import type { Edges, SelfUpdateEdge } from "../edges.ts";
import type { FileDownload } from "../host/http/download-file.ts";
import { AgentError, messageOf, reasonOf } from "../lib/errors.ts";
import { grouped } from "../lib/short-text.ts";
import { MAX_BINARY_BYTES, type Platform } from "../protocol/agent-release.ts";
import type { Trust } from "../trust/trust.ts";
import { judgeRelease } from "./judge-release.ts";
import { isUrl, type UpdateOrder } from "./update-order.ts";

/** Of a signed release; it has less than 1 KiB. */
const MAX_SIGNATURE_BYTES = 64 * 1024;
const NOT_FOUND = 404;
const BINARY_MODE = 0o755;
const ENDED_EARLY: readonly string[] = ["ConnectionFailed", "Timeout"];
const GO_ON_MS = 2_000;

export interface FetchOptions {
  readonly edges: Pick<Edges, "files" | "download" | "sha256" | "clock" | "log">;
  readonly edge: Pick<SelfUpdateEdge, "versions" | "downloadFile">;
  readonly trust: Pick<Trust, "look" | "verify">;
  readonly node: string;
  readonly platform: Platform;
}

/** An order of which everything is known that the node can know before it has the binary. */
export interface KnownOrder extends UpdateOrder {
  /** A signature that counts covers digest and size. */
  readonly isSigned: boolean;
}

export interface Fetched {
  readonly path: string;
  readonly sha256: string;
}

/** Reads and judges the signature beside the binary. Throws AgentError `SignatureRefused`. */
export async function readRelease(
  order: UpdateOrder,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<KnownOrder> {
  // The document itself is signed, with the digest.
  if (order.origin === "Document") return { ...order, isSigned: true };
  const { trust, node, platform } = options;
  const signature = await readSignature(order.source, options, signal);
  const context = { keyring: trust.look(), verify: trust.verify, node, platform };
  const verdict = judgeRelease(signature, order, context);
  switch (verdict.type) {
    case "Refused":
      throw new AgentError({ reason: "SignatureRefused", message: verdict.message });
    case "Unsigned":
      return { ...order, isSigned: false };
    case "Signed": {
      const { version, sha256, size } = verdict.release;
      return { ...order, version, sha256, size, isSigned: true };
    }
  }
}

async function readSignature(
  source: string,
  { edges }: FetchOptions,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  if (!isUrl(source)) {
    const path = `${source}.sig`;
    if (edges.files.target(path) === undefined) return undefined;
    return edges.files.readFollowing(path, MAX_SIGNATURE_BYTES);
  }
  const url = new URL(source);
  url.pathname += ".sig";
  const request = { url: url.href, headers: {}, maxBytes: MAX_SIGNATURE_BYTES };
  const answer = await edges.download(request, signal);
  if (answer.type === "Text") return answer.bytes;
  if (answer.type === "Status" && answer.status === NOT_FOUND) return undefined;
  const status = answer.type === "Status" ? `status ${answer.status}` : "no text";
  throw new AgentError({
    reason: "BadAnswer",
    message: `the signature ${url.origin}${url.pathname} cannot be read: the server answers with ${status}`,
  });
}

/** What has arrived stays for the next try, unless it is not what was asked for. */
export async function fetchBinary(
  order: KnownOrder,
  { options, onBytes }: { readonly options: FetchOptions; readonly onBytes: (n: number) => void },
  signal: AbortSignal,
): Promise<Fetched> {
  const { source, size } = order;
  const { versions } = options.edge;
  const path = versions.incoming(order.sha256 ?? options.edges.sha256(source));
  const maxBytes = size ?? MAX_BINARY_BYTES;
  if (!isUrl(source)) await versions.copy(source, path, { maxBytes, signal });
  else await downloadAll({ url: source, path, maxBytes, onBytes }, options, signal);
  const found = await versions.digest(path, signal);
  const wrong = difference(order, found);
  if (wrong === undefined) {
    // For its self-test.
    options.edges.files.setMode(path, BINARY_MODE);
    return { path, sha256: found.sha256 };
  }
  try {
    options.edges.files.remove(path);
  } catch (error) {
    throw new AgentError({ reason: "DigestMismatch", message: `${wrong}; ${messageOf(error)}` });
  }
  throw new AgentError({ reason: "DigestMismatch", message: `${wrong}; it is not used` });
}

/** Goes on after each end of the connection, as long as bytes arrive. */
async function downloadAll(
  request: FileDownload,
  { edges, edge }: FetchOptions,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const before = edges.files.info(request.path)?.size ?? 0;
    try {
      return await edge.downloadFile(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      const after = edges.files.info(request.path)?.size ?? 0;
      if (!ENDED_EARLY.includes(reasonOf(error, "")) || after <= before) throw error;
      edges.log.info("the download goes on after the connection has ended", { bytes: after });
      await edges.clock.sleep(GO_ON_MS, signal);
    }
  }
}

function difference(
  { sha256, size }: UpdateOrder,
  found: { readonly sha256: string; readonly size: number },
): string | undefined {
  if (size !== undefined && size !== found.size)
    return `the binary has ${grouped(found.size)} bytes, not the ${grouped(size)} that were named`;
  if (sha256 !== undefined && sha256 !== found.sha256)
    return `the binary has the digest ${found.sha256}, not ${sha256}`;
  return undefined;
}
