// Performs: the page for a browser without a session: it takes the one-time token of its address, or explains how to get one.

import { createHash } from "node:crypto";
import type { Answer } from "../http/exchange.ts";
import document from "./login.html" with { type: "text" };

const PATHS = new Set(["/ui", "/ui/", "/ui/login"]);
/** The one script and the one style of the document, and nothing from elsewhere. */
const POLICY = [
  "default-src 'none'",
  `script-src ${hashOf("script")}`,
  `style-src ${hashOf("style")}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** undefined = no browser asks for the page. */
export function loginPage({
  method,
  url,
  header,
}: {
  readonly method: string;
  readonly url: URL;
  readonly header: (name: string) => string | undefined;
}): Answer | undefined {
  if ((method !== "GET" && method !== "HEAD") || !PATHS.has(url.pathname)) return undefined;
  return header("accept")?.includes("text/html") === true ? LOGIN_PAGE : undefined;
}

/** 401, because there is nothing that an unknown user may have; a browser shows it all the same. */
export const LOGIN_PAGE: Answer = {
  status: 401,
  contentType: "text/html; charset=utf-8",
  body: document,
  headers: {
    "www-authenticate": 'Bearer realm="agent"',
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  },
};

function hashOf(tag: "script" | "style"): string {
  const content = new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`).exec(document)?.[1] ?? "";
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
}
