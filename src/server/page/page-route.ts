// Performs: the page of the node in a browser: three embedded files, which ask the API of the node for everything they show.

import style from "./page.css" with { type: "text" };
import document from "./page.html" with { type: "text" };
import script from "./page.js" with { type: "text" };
import type { Answer } from "../http/exchange.ts";
import { text, type Route } from "../answer.ts";
import { LOGIN_PAGE } from "./login-page.ts";

/** Nothing from elsewhere, no script in the text, in no frame of another page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
export const PAGE_HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

const PARTS: Readonly<Record<string, { readonly type: string; readonly body: string }>> = {
  "": { type: "text/html; charset=utf-8", body: document },
  "page.css": { type: "text/css; charset=utf-8", body: style },
  "page.js": { type: "text/javascript; charset=utf-8", body: script },
};

export const PAGE_ROUTE: Route = {
  listed: "/ui/",
  path: /^\/ui\/(|page\.css|page\.js)$/,
  methods: { GET: ({ parts: [name = ""] }) => part(name) },
  refusal: "/ui/ can only be read: use GET or HEAD",
};

/** As people write it. */
export const SHORT_ROUTE: Route = {
  path: /^\/ui$/,
  methods: { GET: () => ({ ...text(308, "/ui/"), headers: { location: "/ui/" } }) },
  refusal: "/ui can only be read: use GET or HEAD",
};

/** For a browser that has a session already, or needs none. */
export const LOGIN_ROUTE: Route = {
  path: /^\/ui\/login$/,
  methods: { GET: () => ({ ...LOGIN_PAGE, status: 200 }) },
  refusal: "/ui/login can only be read: use GET or HEAD",
};

function part(name: string): Answer {
  const { type = "text/plain", body = "" } = PARTS[name] ?? {};
  return { status: 200, contentType: type, body, headers: PAGE_HEADERS };
}
