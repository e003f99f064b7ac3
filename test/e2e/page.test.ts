// The page of the node in a real browser: pods appear, a crash shows at once, logs stream, a refusal is explained, restart works.
// Over TLS it opens with the address of `agent ui`, once.

import { afterAll, expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { startUnixProxy, type UnixProxy } from "../harness/unix-proxy.ts";
import { Stage } from "./support-a-stage.ts";

/** Set it to keep pictures of each view, in light and dark. */
const PICTURES = process.env["PAGE_PICTURES"];
const WAIT = { timeout: 30_000 };

const port = freePort();
const secure = `https://127.0.0.1:${port}`;
const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;
let proxy: UnixProxy | undefined;
let browser: Browser | undefined;
let page: Page;

afterAll(async () => {
  await browser?.close();
  await proxy?.[Symbol.asyncDispose]();
  stage.close();
});

function manifest(name: string, script: string): object {
  const command = ["sh", "-c", script];
  const containers = [{ name: "main", image: "local/busybox:1", command }];
  const spec = { terminationGracePeriodSeconds: 0, hostNetwork: true, containers };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

async function take(name: string, of = page): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await of.emulateMedia({ colorScheme });
    await of.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`) });
  }
}

e2e("the page opens, asks nothing from elsewhere, and shows what is there", async () => {
  agent = stage.agent({ config: { listen: `127.0.0.1:${port}` } });
  agent.writeManifest(
    "web.yaml",
    manifest("web", "i=0; while true; do echo tick $i; i=$((i+1)); sleep 0.2; done"),
  );
  await agent.startReady();
  proxy = await startUnixProxy(agent.paths.socket);
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
  page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  const origins = new Set<string>();
  page.on("request", (request) => origins.add(new URL(request.url()).origin));
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  const origin = `http://127.0.0.1:${proxy.port}`;
  await page.goto(`${origin}/ui/`);
  await page
    .locator("a.row", { hasText: "web" })
    .locator(".good", { hasText: "Running" })
    .waitFor(WAIT);
  expect([...origins]).toEqual([origin]);
  expect(errors).toEqual([]);
});

e2e("a pod that is added appears, and its crash shows", async () => {
  agent.writeManifest("crash.yaml", manifest("crash", "sleep 3; exit 3"));
  const row = page.locator("a.row", { hasText: "crash" });
  await row.waitFor(WAIT);
  await row.locator(".bad").waitFor(WAIT);
  await take("pods");
});

e2e("a refused manifest is explained with its place", async () => {
  agent.writeManifest("bad.yaml", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "bad" },
    spec: { containers: [{ name: "main", image: "local/busybox:1", livenesProbe: {} }] },
  });
  const refused = page.locator("#refused");
  await refused.getByText("did you mean livenessProbe?").waitFor(WAIT);
  expect(await refused.textContent()).toContain("bad.yaml");
  await take("refused");
});

e2e("events are listed, the newest first", async () => {
  await page.getByRole("link", { name: "Events" }).click();
  await page.getByText("livenesProbe").first().waitFor(WAIT);
  await take("events");
  await page.getByRole("link", { name: "Pods" }).click();
});

e2e("the log of a pod streams as it is written", async () => {
  await page.locator("a.row", { hasText: "web" }).click();
  const log = page.locator("pre.log");
  await log
    .getByText(/tick \d+/)
    .first()
    .waitFor(WAIT);
  const last = async (): Promise<number> =>
    Number(/(\d+)\s*$/.exec((await log.textContent()) ?? "")?.[1] ?? Number.NaN);
  const seen = await last();
  await eventually("the log goes on", async () => (await last()) > seen, WAIT);
  await take("pod");
});

e2e("restart asks first, restarts the containers, and says so", async () => {
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("Restart: done.").waitFor(WAIT);
  await page.getByText("restarted 1 times").waitFor(WAIT);
});

e2e("hold is refused with the agent's sentence for a pod of a file", async () => {
  await page.getByRole("button", { name: "Hold" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.locator("#said", { hasText: /file/ }).waitFor(WAIT);
});

/** A browser of its own, which takes the certificate that no authority of its has signed. */
async function newContext(): Promise<BrowserContext> {
  if (browser === undefined) throw new Error("there is no browser");
  return browser.newContext({ ignoreHTTPSErrors: true });
}

/** As when another tab is chosen. */
async function setHidden(tab: Page, isHidden: boolean): Promise<void> {
  await tab.evaluate(
    `Object.defineProperty(document, "hidden", { get: () => ${isHidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`,
  );
}

async function addressOf(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await agent.cli("ui", ...args);
  expect(code).toBe(0);
  expect(stderr).toContain("works once, within 120 s");
  return stdout.trim();
}

e2e("the address of agent ui opens the page over TLS, for one browser", async () => {
  const context = await newContext();
  const address = await addressOf();
  expect(address).toStartWith(`${secure}/ui/login#token=`);
  const opened = await context.newPage();
  const asked: string[] = [];
  opened.on("request", (request) => asked.push(`${request.url()} ${request.headers()["referer"]}`));
  await opened.goto(address);
  const row = opened.locator("a.row", { hasText: "web" }).locator(".good", { hasText: "Running" });
  await row.waitFor(WAIT);
  expect(opened.url()).toBe(`${secure}/ui/`);
  const token = address.split("#token=")[1] ?? "?";
  // The token stands in no request line, no Referer, no script of a page can read the cookie, and going back finds neither.
  expect(asked.filter((line) => line.includes(token))).toEqual([]);
  expect(await opened.evaluate("document.cookie")).toBe("");
  const cookies = await context.cookies();
  expect(cookies).toMatchObject([
    { name: `__Host-agent-${port}`, httpOnly: true, secure: true, sameSite: "Strict", path: "/" },
  ]);

  await opened.reload();
  await row.waitFor(WAIT);
  await opened.locator("a.row", { hasText: "web" }).click();
  const restarts = opened.getByText(/restarted \d+ times/);
  const count = async (): Promise<number> =>
    Number(/restarted (\d+)/.exec((await restarts.textContent(WAIT)) ?? "")?.[1]);
  const before = await count();
  await opened.getByRole("button", { name: "Restart" }).click();
  await opened.getByRole("button", { name: "Yes" }).click();
  await opened.getByText("Restart: done.").waitFor(WAIT);
  await eventually("the containers are new", async () => (await count()) > before, WAIT);

  // A hidden tab leaves the few connections of the browser to others.
  await setHidden(opened, true);
  const next = await context.newPage();
  await next.goto(`${secure}/ui/#/pod/default/web`);
  await next
    .locator("pre.log")
    .getByText(/tick \d+/)
    .first()
    .waitFor(WAIT);
  await next.getByRole("button", { name: "Hold" }).click();
  await next.getByRole("button", { name: "Yes" }).click();
  await next.locator("#said", { hasText: /file/ }).waitFor(WAIT);
  await next.close();
  await setHidden(opened, false);
  const log = opened.locator("pre.log");
  const shown = await log.textContent();
  await eventually(
    "the log of the tab goes on",
    async () => (await log.textContent()) !== shown,
    WAIT,
  );

  const other = await newContext();
  const late = await other.newPage();
  await late.goto(address);
  await late.getByText("Refused: this address was used already").waitFor(WAIT);
  await late.getByText("sudo agent ui", { exact: true }).waitFor(WAIT);
  await take("used-address", late);
  expect(await other.cookies()).toEqual([]);
  await late.goto(`${secure}/ui/`);
  await late.getByText("This browser has no session").waitFor(WAIT);

  // A page of another scheme, which is another site: neither is the cookie sent, nor would it suffice.
  const foreign = await context.newPage();
  await foreign.goto(`http://127.0.0.1:${proxy?.port}/healthz`);
  const answered = foreign.waitForResponse(`${secure}/hold`);
  await foreign.evaluate(
    `fetch("${secure}/hold", { method: "POST", mode: "no-cors", credentials: "include" }).catch(() => 0)`,
  );
  expect((await answered).status()).toBe(401);

  expect((await agent.cli("kubeconfig", "--list")).stdout).toMatch(/^admin +Full +Session /m);
  expect((await agent.cli("kubeconfig", "--revoke", "admin")).code).toBe(0);
  await opened.getByText("This browser has no session").waitFor(WAIT);
  await context.close();
  await other.close();
});

e2e("a read-only session sees and changes nothing, and ends with Log out", async () => {
  const context = await newContext();
  const opened = await context.newPage();
  await opened.goto(await addressOf("--read-only"));
  await opened.locator("a.row", { hasText: "web" }).click();
  await opened.getByRole("button", { name: "Restart" }).click();
  await opened.getByRole("button", { name: "Yes" }).click();
  await opened.locator("#said", { hasText: /viewer.* is read-only/ }).waitFor(WAIT);
  const secrets = await opened.evaluate(
    `fetch("/api/v1/secrets", { headers: { "agent-session-key": localStorage["agent-session-key"] } }).then((a) => a.status)`,
  );
  expect(secrets).toBe(403);
  await opened.getByRole("button", { name: "Log out" }).click();
  await opened.getByText("This browser has no session").waitFor(WAIT);
  expect(await context.cookies()).toEqual([]);
  await opened.goto(`${secure}/ui/`);
  await opened.getByText("This browser has no session").waitFor(WAIT);
  await context.close();
});

e2e("it fits a phone, and comes back after a restart of the agent", async () => {
  await page.setViewportSize({ width: 380, height: 800 });
  await page.goto(`http://127.0.0.1:${proxy?.port}/ui/#/node`);
  await page.getByText("Conditions").waitFor(WAIT);
  const wide = await page.evaluate("document.documentElement.scrollWidth");
  expect(wide).toBeLessThanOrEqual(380);
  await take("node-phone");
  await agent.kill("SIGTERM");
  await page.locator("#link", { hasText: "does not answer" }).waitFor(WAIT);
  await agent.startReady();
  const isBack = async (): Promise<boolean> => (await page.locator("#link").textContent()) === "";
  await eventually("the page has the agent again", isBack, WAIT);
});
