// Performs: the files of the page of the fleet, embedded as text: what its scripts export is for each other.

import commonStyle from "../../server/page/page.css" with { type: "text" };
import boot from "./page/fleet-page.js" with { type: "text" };
import document from "./page/fleet-page.html" with { type: "text" };
import style from "./page/fleet-page.css" with { type: "text" };
import elements from "./page/elements.js" with { type: "text" };
import link from "./page/link.js" with { type: "text" };
import nodeList from "./page/node-list.js" with { type: "text" };
import nodePage from "./page/node-page.js" with { type: "text" };
import rolloutPage from "./page/rollout-page.js" with { type: "text" };
import search from "./page/search.js" with { type: "text" };

const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** By path. */
export const PAGE_FILES: Readonly<
  Record<string, { readonly type: string; readonly body: string }>
> = {
  "/": { type: HTML, body: document },
  "/page.css": { type: CSS, body: commonStyle },
  "/fleet-page.css": { type: CSS, body: style },
  "/fleet-page.js": { type: SCRIPT, body: boot },
  "/elements.js": { type: SCRIPT, body: elements },
  "/link.js": { type: SCRIPT, body: link },
  "/node-list.js": { type: SCRIPT, body: nodeList },
  "/node-page.js": { type: SCRIPT, body: nodePage },
  "/rollout-page.js": { type: SCRIPT, body: rolloutPage },
  "/search.js": { type: SCRIPT, body: search },
};
