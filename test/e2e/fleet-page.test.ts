// The page of the fleet in a real browser: nodes appear, are found, are opened, and ten thousand of them scroll.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { chromium, type Browser, type Page } from "playwright-core";

import { agentBinary } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { BrokerClient } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";

/** Set it to keep pictures of the list and of a node, in light and dark, and on a phone. */
const PICTURES = process.env["PAGE_PICTURES"];
const WAIT = { timeout: 60_000 };
const MANY = 10_000;
const temp = makeTempDirectory();
let broker: Broker;
let client: BrokerClient;
let ui: Bun.Subprocess<"ignore", "pipe", "pipe">;
let browser: Browser;
let page: Page;
let origin = "";

beforeAll(async () => {
  broker = await startBroker(temp);
  client = await BrokerClient.connect(broker.url);
  await state("pi-1", "online");
  await state("pi-2", "lost");
  await report("pi-1", "Healthy", 200);
  await report("pi-2", "RolledBack", 424);
  ui = Bun.spawn([agentBinary(), "fleet", "ui", "--url", broker.url], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: temp.path,
  });
  const reader = ui.stdout.getReader();
  let address = "";
  while (!address.includes("\n")) {
    const { value } = await reader.read();
    if (value === undefined) throw new Error(await new Response(ui.stderr).text());
    address += new TextDecoder().decode(value);
  }
  origin = new URL(address.trim()).origin;
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
  page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
  await page.goto(address.trim());
}, 180_000);

afterAll(async () => {
  await browser?.close();
  ui?.kill();
  await ui?.exited;
  await client?.[Symbol.asyncDispose]();
  await broker?.stop();
  temp[Symbol.dispose]();
});

function state(node: string, word: string): Promise<void> {
  const message = { state: word, incarnation: "i1", session: 1, agent: "1.2.3", protocol: 1 };
  return client.publish(`agent/v1/node/${node}/state`, message, { retain: true });
}

function report(node: string, phase: string, code: number): Promise<void> {
  const name = "<img src=x onerror=document.title='owned'>";
  const message = {
    kind: "ReportedState",
    time: "2026-11-21T07:59:00Z",
    clockTrusted: true,
    desired: [{ source: "group/berlin", generation: 4, phase, code, message: name }],
    pods: [{ namespace: "default", name, phase: "Running", ready: "1/1" }],
  };
  return client.publish(`agent/v1/node/${node}/reported`, message, { retain: true });
}

async function take(name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(PICTURES, `fleet-${name}-${colorScheme}.png`) });
  }
  await page.setViewportSize({ width: 390, height: 700 });
  await page.screenshot({ path: join(PICTURES, `fleet-${name}-phone-dark.png`) });
  await page.setViewportSize({ width: 1000, height: 700 });
}

const row = (name: string) => page.locator("a.fleet-row", { hasText: name });

test("the nodes are listed, from this origin only, and the address keeps no token", async () => {
  const origins = new Set<string>();
  page.on("request", (request) => origins.add(new URL(request.url()).origin));
  await row("pi-1").locator(".good", { hasText: "online" }).waitFor(WAIT);
  await row("pi-2").locator(".bad", { hasText: "RolledBack" }).waitFor(WAIT);
  expect(page.url()).toBe(`${origin}/`);
  await page.reload();
  await row("pi-1").waitFor(WAIT);
  expect([...origins]).toEqual([origin]);
}, 120_000);

test("a change shows by itself", async () => {
  await state("pi-1", "lost");
  await row("pi-1").locator(".bad", { hasText: "lost" }).waitFor(WAIT);
  await state("pi-1", "online");
  await row("pi-1").locator(".good", { hasText: "online" }).waitFor(WAIT);
}, 120_000);

test("a node opens, and what it chose is text", async () => {
  await row("pi-2").click();
  await page.getByRole("heading", { name: "pi-2" }).waitFor(WAIT);
  await page.locator("#details").getByText("<img src=x").first().waitFor(WAIT);
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.title()).toBe("agent fleet");
  await take("node");
  await page.goBack();
}, 120_000);

test("ten thousand nodes are a few elements, and are found by name, state and group", async () => {
  for (let from = 0; from < MANY; from += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        state(`node-${String(from + index).padStart(5, "0")}`, "online"),
      ),
    );
  await page.getByText(`${MANY + 2} of ${MANY + 2} nodes`).waitFor(WAIT);
  expect(await page.locator("a.fleet-row").count()).toBeLessThan(60);
  await page.evaluate(
    `(() => { const view = document.getElementById("view"); view.scrollTo(0, view.scrollHeight / 2); })()`,
  );
  await eventually("the middle of the list is drawn", async () =>
    /node-0(4|5)/.test((await page.locator("#rows").textContent()) ?? ""),
  );
  await take("list");
  const frames = await page.evaluate(`(async () => {
    const view = document.getElementById("view");
    const long = []; let last = performance.now();
    for (let step = 0; step < 120; step += 1) {
      view.scrollTop += 400;
      await new Promise(requestAnimationFrame);
      const now = performance.now(); long.push(now - last); last = now;
    }
    return Math.round(long.sort((a, b) => a - b)[114]);
  })()`);
  if (PICTURES !== undefined) console.log(`95 % of the frames took at most ${String(frames)} ms`);
  const search = page.getByLabel("Search");
  await search.fill("group=berlin");
  await page.getByText(`2 of ${MANY + 2} nodes`).waitFor(WAIT);
  await search.fill("node-09999");
  await row("node-09999").waitFor(WAIT);
  await search.fill("");
  await page.getByLabel("State").selectOption("trouble");
  await page.getByText(`1 of ${MANY + 2} nodes`).waitFor(WAIT);
  await take("trouble");
}, 180_000);
