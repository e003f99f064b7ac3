// The head of an HTTP/1.1 request that asks for another protocol, and of its response.

export interface ResponseHead {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** As it came, with the empty line. */
  readonly bytes: Uint8Array;
  /** What has come after it. */
  readonly rest: Uint8Array;
}

/** A head with more bytes is refused. */
export const MAX_HEAD = 16 * 1024;

export type Headers = readonly (readonly [name: string, value: string])[];

/** `target`: path and query. Headers with a line break in them are the caller's mistake, and are left out. */
export function requestHead(method: string, target: string, headers: Headers): string {
  const lines = headers
    .filter(([name, value]) => !/[\r\n]/.test(name + value))
    .map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

/** undefined = it has not come as a whole; "Invalid" = it is no HTTP. */
export function readResponseHead(received: Uint8Array): ResponseHead | "Invalid" | undefined {
  const text = Buffer.from(received.buffer, received.byteOffset, received.byteLength);
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return received.length > MAX_HEAD ? "Invalid" : undefined;
  const [first = "", ...lines] = text.toString("latin1", 0, end).split("\r\n");
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first) ?? [];
  if (status === undefined) return "Invalid";
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return {
    status: Number(status),
    headers: new Map(headers),
    bytes: received.subarray(0, end + 4),
    rest: received.subarray(end + 4),
  };
}

const PHRASES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  429: "Too Many Requests",
  500: "Internal Server Error",
};

/** A whole response, after which the connection ends. */
export function closingResponse(status: number, contentType: string, body: string): string {
  const length = Buffer.byteLength(body);
  return [
    `HTTP/1.1 ${status} ${PHRASES[status] ?? "Error"}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${length}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}
