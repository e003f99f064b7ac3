// Reads one HTTP/1 answer from the bytes of a connection: status, Location, and the first 10 KiB of the body.

import { ChunkedBody } from "./probe-chunks.ts";
import type { HttpAnswer } from "./probe-edge.ts";

export type Reading =
  | { readonly type: "More" }
  | { readonly type: "Answer"; readonly answer: HttpAnswer }
  | { readonly type: "Malformed"; readonly message: string };

/** Bytes. kubelet: maxRespBodyLength */
const MAX_BODY = 10 * 1024;
/** Bytes of all headers together, those of interim answers included. */
const MAX_HEAD = 256 * 1024;
const SHOWN = 64;
const MORE: Reading = { type: "More" };

interface Head {
  readonly status: number;
  readonly location: string;
  /** Bytes; undefined = until the connection ends. */
  readonly length: number | undefined;
  readonly chunked: boolean;
}

export class ResponseReader {
  /** latin1 throughout: one unit is one byte. */
  #text = "";
  /** Of the text, what is known not to hold the end of the head. */
  #searched = 0;
  #headBytes = 0;
  #head: Head | undefined;
  #chunks: ChunkedBody | undefined;
  #body = "";

  /** Whether the status is known: from then on a broken answer is a broken body. */
  get hasHead(): boolean {
    return this.#head !== undefined;
  }

  push(chunk: Buffer): Reading {
    const text = chunk.toString("latin1");
    return this.#head === undefined ? this.#pushHead(text) : this.#pushBody(this.#head, text);
  }

  /** The other end has said all it will say. */
  end(): Reading {
    const head = this.#head;
    if (head === undefined)
      return malformed(this.#text === "" && this.#headBytes === 0 ? "EOF" : "unexpected EOF");
    return head.length === undefined && !head.chunked
      ? this.#answer(head)
      : malformed("unexpected EOF");
  }

  #pushHead(text: string): Reading {
    this.#text += text;
    this.#headBytes += text.length;
    while (true) {
      const begin = "HTTP/".slice(0, this.#text.length);
      if (!this.#text.startsWith(begin)) return notHttp(this.#text);
      const end = this.#headEnd();
      if (end === undefined)
        return this.#headBytes > MAX_HEAD
          ? malformed(`server response headers exceeded ${MAX_HEAD} bytes; aborted`)
          : MORE;
      const head = readHead(this.#text.slice(0, end.at));
      if (typeof head === "string") return malformed(head);
      const rest = this.#text.slice(end.after);
      this.#searched = 0;
      this.#text = rest;
      // An interim answer, such as 100 Continue: the real one follows.
      if (head.status < 200 && head.status !== 101) continue;
      this.#text = "";
      this.#head = head;
      if (head.chunked) this.#chunks = new ChunkedBody((piece) => (this.#body += piece));
      return this.#pushBody(head, rest);
    }
  }

  #headEnd(): { readonly at: number; readonly after: number } | undefined {
    // The end may have begun with the last bytes of what was searched before.
    HEAD_END.lastIndex = Math.max(0, this.#searched - 3);
    const found = HEAD_END.exec(this.#text);
    this.#searched = this.#text.length;
    return found === null ? undefined : { at: found.index, after: found.index + found[0].length };
  }

  #pushBody(head: Head, text: string): Reading {
    if (this.#chunks !== undefined) {
      const state = this.#chunks.push(text);
      if (state === "Malformed") return malformed("malformed chunked encoding");
      return state === "Done" || this.#body.length >= MAX_BODY ? this.#answer(head) : MORE;
    }
    this.#body += text;
    const wanted = Math.min(head.length ?? MAX_BODY, MAX_BODY);
    if (this.#body.length < wanted) return MORE;
    this.#body = this.#body.slice(0, wanted);
    return this.#answer(head);
  }

  #answer({ status, location }: Head): Reading {
    const body = Buffer.from(this.#body.slice(0, MAX_BODY), "latin1").toString();
    return { type: "Answer", answer: { status, location, body } };
  }
}

const HEAD_END = /\r?\n\r?\n/g;

function malformed(message: string): Reading {
  return { type: "Malformed", message };
}

function notHttp(text: string): Reading {
  return malformed(`malformed HTTP response ${JSON.stringify(text.slice(0, SHOWN))}`);
}

/** A string = what is wrong with it. */
function readHead(text: string): Head | string {
  const [first = "", ...lines] = text.split(/\r?\n/);
  const status = /^HTTP\/1\.\d (\d{3})(?: .*)?$/.exec(first)?.[1];
  if (status === undefined)
    return `malformed HTTP response ${JSON.stringify(first.slice(0, SHOWN))}`;
  const code = Number(status);
  const valueOf = (name: string) => headerValue(lines, name);
  const chunked = /(?:^|,)\s*chunked\s*$/i.test(valueOf("transfer-encoding") ?? "");
  const length = chunked ? undefined : valueOf("content-length");
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    return `bad Content-Length ${JSON.stringify(length.slice(0, SHOWN))}`;
  const empty = code === 101 || code === 204 || code === 304;
  return {
    status: code,
    location: Buffer.from(valueOf("location") ?? "", "latin1").toString(),
    length: empty ? 0 : length === undefined ? undefined : Number(length),
    chunked: chunked && !empty,
  };
}

/** Of the first header of that name. */
function headerValue(lines: readonly string[], name: string): string | undefined {
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon === name.length && line.slice(0, colon).toLowerCase() === name)
      return line.slice(colon + 1).trim();
  }
  return undefined;
}
