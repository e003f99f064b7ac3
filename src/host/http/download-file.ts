// Performs: downloads a large file, and goes on where an earlier try has ended. What arrives is not trusted: its size is
// bounded while it arrives, and the caller compares its digest.

import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { request as sendRequest, type IncomingMessage } from "node:http";
import { aborted } from "../../lib/clock.ts";
import { AgentError, errorCode } from "../../lib/errors.ts";
import { grouped } from "../../lib/short-text.ts";
import {
  badAnswer,
  cutShort,
  failure,
  followRedirects,
  MAX_HEAD,
  open,
  redirectOf,
  type Redirect,
} from "./download.ts";
import type { DownloadOptions } from "./download-edge.ts";
import { timedOut } from "../probe/probe-connection.ts";

export interface FileDownload {
  /** http: or https:, without user and password. */
  readonly url: string;
  /** Where the bytes are gathered; what is there already is not asked for again. */
  readonly path: string;
  readonly maxBytes: number;
  /** Called as bytes arrive, with all that there are. */
  readonly onBytes: (bytes: number) => void;
}

/** Rejects with AgentError as `Download` does; what has arrived stays. */
export type DownloadFile = (request: FileDownload, signal: AbortSignal) => Promise<void>;

/** Without one byte. */
const SILENT_MS = 60_000;
const COMPLETE = 416;
const PARTIAL = 206;

export function fileDownloads(options: DownloadOptions): DownloadFile {
  return (request, signal) =>
    followRedirects(request.url, (url) => get(options, { ...request, url }, signal));
}

/** undefined = all of the file is there. */
async function get(
  { clock, userAgent }: DownloadOptions,
  request: FileDownload,
  signal: AbortSignal,
): Promise<Redirect | undefined> {
  const url = new URL(request.url);
  const from = statSync(request.path, { throwIfNoEntry: false })?.size ?? 0;
  const socket = open(url, {});
  socket.on("error", () => undefined);
  const done = Promise.withResolvers<Redirect | undefined>();
  const late = (): void =>
    done.reject(timedOut(`the server has sent nothing for ${SILENT_MS / 1000} s`));
  let timer = clock.after(SILENT_MS, late);
  socket.on("data", () => {
    timer[Symbol.dispose]();
    timer = clock.after(SILENT_MS, late);
  });
  try {
    const sent = sendRequest({
      createConnection: () => socket,
      path: `${url.pathname}${url.search}`,
      headers: {
        Host: url.host,
        Connection: "close",
        "Accept-Encoding": "identity",
        "User-Agent": userAgent,
        ...(from === 0 ? {} : { Range: `bytes=${from}-` }),
      },
      maxHeaderSize: MAX_HEAD,
    });
    sent.on("error", (error) => done.reject(failure(error, url, socket)));
    sent.on("response", (response) => {
      take(response, { ...request, from }).then(done.resolve, done.reject);
    });
    sent.end();
    const stopped = aborted(signal).then(() => {
      throw new AgentError({ reason: "Aborted", message: "cancelled" });
    });
    return await Promise.race([done.promise, stopped]);
  } finally {
    timer[Symbol.dispose]();
    socket.destroy();
  }
}

async function take(
  response: IncomingMessage,
  request: FileDownload & { readonly from: number },
): Promise<Redirect | undefined> {
  const { statusCode: status = 0, headers } = response;
  const { from } = request;
  const redirect = redirectOf(response);
  if (redirect !== undefined) return redirect;
  // There is no byte after those that are there.
  if (status === COMPLETE && from > 0) return undefined;
  const range = headers["content-range"] ?? "";
  const goesOn = status === PARTIAL && range.startsWith(`bytes ${from}-`);
  if (status !== 200 && !goesOn) throw badAnswer(`the server answers with status ${status}`);
  if ((headers["content-encoding"] ?? "identity") !== "identity")
    throw badAnswer("the server answers in an encoding that was not asked for");
  await write(response, { ...request, from: goesOn ? from : 0 });
  if (!response.complete) throw cutShort();
  return undefined;
}

/** A server that knows no ranges begins anew. */
async function write(
  response: IncomingMessage,
  { path, maxBytes, from, onBytes }: FileDownload & { readonly from: number },
): Promise<void> {
  const file = openSync(path, from === 0 ? "w" : "a", 0o600);
  let size = from;
  try {
    for await (const piece of response) {
      if (!(piece instanceof Uint8Array)) continue;
      size += piece.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      for (let written = 0; written < piece.length;) written += writeSync(file, piece, written);
      onBytes(size);
    }
  } catch (error) {
    if (error instanceof AgentError) throw error;
    if (errorCode(error) !== "ENOSPC") throw cutShort(error);
    const message = `there is no space left for the new version in ${dirname(path)}`;
    throw new AgentError({ reason: "DiskFull", message, cause: error });
  } finally {
    closeSync(file);
  }
}

function tooLarge(maxBytes: number): AgentError {
  const message = `the server sends more than the ${grouped(maxBytes)} bytes that are expected`;
  return new AgentError({ reason: "TooLarge", message });
}
