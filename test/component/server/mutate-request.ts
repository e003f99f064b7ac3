// Requests that are nearly right, thrown by a seed: what a scanner, a broken client or an attacker sends.

import type { Mulberry32 } from "../../fakes/mulberry32.ts";

const METHODS = ["GET", "GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const PATHS = [
  "/",
  "/api",
  "/apis",
  "/version",
  "/healthz",
  "/pods",
  "/events",
  "/rejected",
  "/trust",
  "/node",
  "/images",
  "/images/pull?name=a",
  "/stats/summary",
  "/hold",
  "/pods/default/web/hold",
  "/pods/default/web?gracePeriodSeconds=1",
  "/kubeconfig",
  "/kubeconfig?user=a",
  "/openapi/v2",
  "/api/v1",
  "/api/v1/pods?limit=1",
  "/api/v1/pods?watch=true&timeoutSeconds=1&resourceVersion=0",
  "/api/v1/namespaces/default/pods/web",
  "/api/v1/namespaces/default/pods/web/log?tailLines=1",
  "/api/v1/namespaces/default/pods/web/exec?command=sh&stdin=true",
  "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Da",
  "/api/v1/namespaces/default/configmaps?labelSelector=a%20in%20(b,c)",
  "/api/v1/namespaces/default/persistentvolumeclaims/a?data=true",
  "/apis/metrics.k8s.io/v1beta1/nodes",
];
const HEADERS = [
  "Host: localhost",
  "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
  "Authorization: Bearer abc",
  "Authorization: Basic YTpi",
  "Content-Type: application/json",
  "Content-Length: 2",
  "Content-Length: 18446744073709551616",
  "Content-Length: -1",
  "Transfer-Encoding: chunked",
  "Connection: Upgrade\r\nUpgrade: SPDY/3.1",
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
  "Connection: close",
  "Expect: 100-continue",
  "Origin: https://evil.example",
  "Sec-Fetch-Site: cross-site",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nConnection: Upgrade\r\nUpgrade: websocket",
  "Range: bytes=0-18446744073709551615",
  "Cookie: a=b",
];
const BODIES = [
  "",
  "{}",
  "0\r\n\r\n",
  "5\r\nhello\r\n0\r\n\r\n",
  "ffffffffffffffff\r\nx",
  "{".repeat(500),
];
const PIECES = [
  "\0",
  "\r\n",
  "\n",
  "\r",
  "%",
  "%00",
  "%ff",
  "%2e%2e/",
  "..",
  "//",
  "?",
  "&",
  "#",
  " ",
  "\t",
  "é",
  "\u{1f600}",
  "=".repeat(50),
  "a".repeat(9000),
  "[",
  "]",
  "-1",
  "1e999",
  "__proto__",
];

export function mutatedRequest(dice: Mulberry32): Buffer {
  const headers = Array.from({ length: dice.below(5) }, () => dice.pick(HEADERS));
  const path = dice.chance(0.3) ? spoil(dice, dice.pick(PATHS)) : dice.pick(PATHS);
  const version = dice.weighted([
    ["HTTP/1.1", 20],
    ["HTTP/1.0", 2],
    ["HTTP/2.0", 1],
    ["", 1],
  ]);
  const lines = [`${dice.pick(METHODS)} ${path} ${version}`, "Host: localhost", ...headers];
  const whole = Buffer.from(`${lines.join("\r\n")}\r\n\r\n${dice.pick(BODIES)}`);
  return dice.weighted([
    [whole, 3],
    [flipped(dice, whole), 3],
    [whole.subarray(0, dice.below(whole.length + 1)), 1],
    [Buffer.from(spoil(dice, whole.toString("latin1")), "latin1"), 2],
    [Buffer.concat([whole, whole]), 1],
    [noise(dice), 1],
  ]);
}

const WELL_FORMED = HEADERS.filter(
  (line) =>
    !/^(?:Content-Length|Transfer-Encoding|Connection|Expect|Sec-WebSocket|Host)/.test(line),
);
const WRITTEN = [
  "/api/v1/namespaces/default/configmaps",
  "/api/v1/namespaces/default/configmaps/a?fieldManager=m",
  "/api/v1/namespaces/default/pods",
  "/api/v1/namespaces/default/pods/a?fieldManager=m&force=true",
  "/api/v1/namespaces/default/secrets/a?dryRun=All",
];
const TYPES = [
  "application/json",
  "application/json",
  "application/yaml",
  "application/apply-patch+yaml",
  "application/merge-patch+json",
];
const VALUES = ["a", "", "x".repeat(300), 0, -1, 1e300, true, null, [], {}, ["a"], { a: "b" }];

/** HTTP without a fault, whose path, query, headers or object is nearly right: it comes as far as the part that it is for. */
export function likelyRequest(dice: Mulberry32): Buffer {
  const headers = Array.from({ length: dice.below(4) }, () => dice.pick(WELL_FORMED));
  const isWriting = dice.chance(0.4);
  const method = isWriting ? dice.pick(["POST", "PUT", "PATCH", "DELETE"]) : dice.pick(METHODS);
  const path = dice.pick(isWriting ? WRITTEN : PATHS);
  const body = isWriting ? JSON.stringify(nearlyAnObject(dice)) : "";
  const lines = [
    `${method} ${dice.chance(0.4) ? encodeURI(spoil(dice, path)) : path} HTTP/1.1`,
    "Host: localhost",
    ...headers,
    ...(isWriting ? [`Content-Type: ${dice.pick(TYPES)}`] : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** Its pod cannot run: no image is pulled for it. */
function nearlyAnObject(dice: Mulberry32): object {
  const metadata = { name: dice.pick(["a", "b", "web"]), namespace: "default" };
  const container = { name: "a", image: "local/none:1", imagePullPolicy: "Never" };
  const object: Record<string, unknown> = dice.chance(0.5)
    ? { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "b" } }
    : { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [container] } };
  for (let count = dice.below(3); count > 0; count -= 1) {
    const below = Object.values(object).filter((one) => typeof one === "object" && one !== null);
    const inside = dice.pick([object, container, ...below]) as object;
    const keys = [...Object.keys(inside), "labels", "annotations", "volumes", "x", "__proto__"];
    const value: unknown = structuredClone(dice.pick(VALUES));
    Object.defineProperty(inside, dice.pick(keys), { value, enumerable: true, writable: true });
  }
  return object;
}

function spoil(dice: Mulberry32, text: string): string {
  const at = dice.below(text.length + 1);
  return `${text.slice(0, at)}${dice.pick(PIECES)}${text.slice(at + dice.below(4))}`;
}

function flipped(dice: Mulberry32, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = 1 + dice.below(4); count > 0; count -= 1)
    copy[dice.below(copy.length)] = dice.below(256);
  return copy;
}

function noise(dice: Mulberry32): Buffer {
  return Buffer.from(Array.from({ length: dice.below(200) }, () => dice.below(256)));
}
