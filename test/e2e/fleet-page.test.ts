// The page of the fleet in a real browser: nodes appear, are found and are opened, ten thousand of them scroll, and a rollout
// is followed from its first step until it is taken back.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { chromium, type Browser, type Page } from "playwright-core";

import { orderIn } from "../../src/fleet/rollout/rollout-topic.ts";
import { readSigner, signMessage } from "../../src/fleet/trust/signing-keys.ts";
import { ROLLOUT, type RolloutOrder } from "../../src/protocol/rollout-order.ts";
import { jsonBytes } from "../../src/protocol/wire-text.ts";
import { agentBinary } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { BrokerClient } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { output } from "../harness/run-command.ts";
import { scrollFrames } from "../harness/scroll-frames.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { RolloutNodes } from "./rollout-nodes.ts";

/** Set it to keep pictures, in light and dark, and on a phone. */
const PICTURES = process.env["PAGE_PICTURES"];
const WAIT = { timeout: 60_000 };
const MANY = 10_000;
/** Of those, nodes that have reported. */
const REPORTING = 18;
const CRASHING = { restarts: 3, reason: "CrashLoopBackOff" };
const HOSTILE = "<img src=x onerror=document.title='owned'>";
const temp = makeTempDirectory();
const started: Bun.Subprocess[] = [];
let broker: Broker;
let client: BrokerClient;
let browser: Browser;

interface Ui {
  readonly origin: string;
  /** With the token. */
  readonly address: string;
}

beforeAll(async () => {
  broker = await startBroker(temp);
  client = await BrokerClient.connect(broker.url);
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
}, 180_000);

afterAll(async () => {
  await browser?.close();
  for (const one of started) one.kill();
  for (const one of started) await one.exited;
  await client?.[Symbol.asyncDispose]();
  await broker?.stop();
  temp[Symbol.dispose]();
});

function fleet(words: readonly string[]): Bun.Subprocess<"ignore", "pipe", "pipe"> {
  const child = Bun.spawn([agentBinary(), "fleet", ...words, "--url", broker.url], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: temp.path,
  });
  started.push(child);
  return child;
}

async function startUi(...words: readonly string[]): Promise<Ui> {
  const ui = fleet(["ui", ...words]);
  let printed = "";
  for await (const part of ui.stdout) {
    printed += new TextDecoder().decode(part);
    if (printed.includes("\n")) break;
  }
  if (printed === "") throw new Error(await ui.stderr.text());
  const address = printed.trim();
  return { origin: new URL(address).origin, address };
}

async function openPage(address: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
  await page.goto(address);
  return page;
}

/** Light, dark, and both on a phone. */
async function take(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  for (const [form, width] of [
    ["", 1000],
    ["-phone", 390],
  ] as const) {
    await page.setViewportSize({ width, height: width === 390 ? 800 : 700 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(PICTURES, `fleet-${name}${form}-${colorScheme}.png`) });
    }
  }
  await page.setViewportSize({ width: 1000, height: 700 });
}

describe("nodes", () => {
  let ui: Ui;
  let page: Page;

  beforeAll(async () => {
    await state("pi-1", "online");
    await state("pi-2", "lost");
    await report("pi-1", { phase: "Healthy", code: 200, site: "berlin" });
    await report("pi-2", { phase: "RolledBack", code: 424, site: "paris", text: HOSTILE });
    ui = await startUi();
    page = await openPage(ui.address);
  }, 180_000);

  afterAll(async () => {
    await page?.close();
  });

  function state(node: string, word: string): Promise<void> {
    const message = { state: word, incarnation: "i1", session: 1, agent: "1.2.3", protocol: 1 };
    return client.publish(`agent/v1/node/${node}/state`, message, { retain: true });
  }

  interface Reported {
    readonly phase: string;
    readonly code: number;
    readonly site: string;
    readonly group?: string;
    /** What the node has chosen. */
    readonly text?: string;
  }

  function report(node: string, reported: Reported): Promise<void> {
    const { phase, code, site, group = "berlin", text = "kiosk" } = reported;
    const ok = { reason: "KubeletHasSufficientMemory", message: "enough memory is available" };
    const message = {
      kind: "ReportedState",
      time: "2026-11-21T07:59:00Z",
      clockTrusted: true,
      desired: [{ source: `group/${group}`, generation: 4, phase, code, message: text }],
      labels: { site, floor: "2" },
      status: {
        conditions: [
          { type: "Ready", status: "True", reason: "KubeletReady", message: "the agent is ready" },
          { type: "MemoryPressure", status: "False", ...ok },
        ],
        addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
        nodeInfo: { osImage: "Debian 12", architecture: "arm64" },
      },
      pods: [
        { namespace: "default", name: text, phase: "Running", ready: "1/1" },
        { namespace: "default", name: "web", phase: "Pending", ready: "0/1", ...CRASHING },
      ],
    };
    return client.publish(`agent/v1/node/${node}/reported`, message, { retain: true });
  }

  const row = (name: string) => page.locator("a.fleet-row", { hasText: name });

  test("are listed, from this origin only, and the address keeps no token", async () => {
    const origins = new Set<string>();
    page.on("request", (request) => origins.add(new URL(request.url()).origin));
    await row("pi-1").locator(".good", { hasText: "online" }).waitFor(WAIT);
    await row("pi-2").locator(".bad", { hasText: "RolledBack" }).waitFor(WAIT);
    expect(page.url()).toBe(`${ui.origin}/`);
    await page.reload();
    await row("pi-1").waitFor(WAIT);
    expect([...origins]).toEqual([ui.origin]);
  }, 120_000);

  test("show without the token's address in the same browser only", async () => {
    const stranger = await browser.newContext();
    const other = await stranger.newPage();
    await other.goto(ui.origin);
    await other.getByText("There is no session in this browser").waitFor(WAIT);
    expect(await other.locator("a.fleet-row:visible").count()).toBe(0);
    await other.getByLabel("Token").fill(new URL(ui.address).hash.slice("#token=".length));
    await other.getByRole("button", { name: "Open" }).click();
    await other.locator("a.fleet-row", { hasText: "pi-1" }).waitFor(WAIT);
    const [cookie] = await stranger.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    await stranger.close();
  }, 120_000);

  test("change by themselves", async () => {
    await state("pi-1", "lost");
    await row("pi-1").locator(".bad", { hasText: "lost" }).waitFor(WAIT);
    await state("pi-1", "online");
    await row("pi-1").locator(".good", { hasText: "online" }).waitFor(WAIT);
  }, 120_000);

  test("open, and what one of them chose is text", async () => {
    await row("pi-2").click();
    await page.getByRole("heading", { name: "pi-2" }).waitFor(WAIT);
    const details = page.locator("#details");
    await details.getByText("<img src=x").first().waitFor(WAIT);
    await details.locator(".chip", { hasText: "site=paris" }).waitFor(WAIT);
    await details.getByText("KubeletHasSufficientMemory").waitFor(WAIT);
    const object = { kind: "Pod", namespace: "default", name: "web" };
    const event = { type: "Warning", reason: "BackOff", time: "2026-11-21T08:00:00Z", object };
    const events = [{ ...event, message: HOSTILE }];
    await client.publish("agent/v1/node/pi-2/event", { events });
    await details.getByText("BackOff", { exact: true }).waitFor(WAIT);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.title()).toBe("agent fleet");
    await page.goto(`${ui.origin}/#/node/pi-1`);
    await details.getByText("default/kiosk").waitFor(WAIT);
    expect(await details.getByText("<img").count()).toBe(0);
    await take(page, "node");
  }, 120_000);

  test("without a key tell the command that reads a log", async () => {
    await page.getByRole("button", { name: "Logs" }).last().click();
    await page.getByText("agent fleet logs pi-1 web -n default --key signing.pem").waitFor(WAIT);
    await page.goto(`${ui.origin}/#/`);
  }, 120_000);

  test("are ten thousand in a few elements, and are found by name, state, group and label", async () => {
    for (let from = 0; from < MANY; from += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, index) =>
          state(`node-${String(from + index).padStart(5, "0")}`, "online"),
        ),
      );
    for (let index = 0; index < REPORTING; index += 1) {
      const isBad = index % 9 === 4;
      const how = isBad ? { phase: "RolledBack", code: 424 } : { phase: "Healthy", code: 200 };
      const name = `node-${String(index).padStart(5, "0")}`;
      await report(name, { ...how, site: "hamburg", group: "hamburg" });
    }
    await page.getByText(`${MANY + 2} of ${MANY + 2} nodes`).waitFor(WAIT);
    expect(await page.locator("a.fleet-row").count()).toBeLessThan(60);
    await page.evaluate(
      `(() => { const view = document.getElementById("view"); view.scrollTo(0, view.scrollHeight / 2); })()`,
    );
    await eventually("the middle of the list is drawn", async () =>
      /node-0(4|5)/.test((await page.locator("#rows").textContent()) ?? ""),
    );
    await page.evaluate(`document.getElementById("view").scrollTo(0, 1e9)`);
    await row("pi-2").waitFor(WAIT);
    await page.evaluate(`document.getElementById("view").scrollTo(0, 0)`);
    await take(page, "list");
    if (PICTURES !== undefined) console.log(`frames: ${JSON.stringify(await scrollFrames(page))}`);
    const search = page.getByLabel("Search");
    for (const [word, count] of [
      ["group=berlin", 2],
      ["site=berlin", 1],
      ["site=hamburg", REPORTING],
      ["floor=2 site=paris", 1],
    ] as const) {
      await search.fill(word);
      await page.getByText(`${count} of ${MANY + 2} nodes`).waitFor(WAIT);
    }
    await search.fill("node-09999");
    await row("node-09999").waitFor(WAIT);
    await search.fill("");
    await page.getByLabel("State").selectOption("trouble");
    await page.getByText(`3 of ${MANY + 2} nodes`).waitFor(WAIT);
  }, 180_000);
});

describe("a rollout", () => {
  const COUNT = 40;
  const GROUP = "agent/v1/group/kiosks";
  const KEY = "keys/signing.pem";
  const POD = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: "registry.test/web:1"}]
`;
  let nodes: RolloutNodes;
  let ui: Ui;
  let page: Page;

  beforeAll(async () => {
    await output([agentBinary(), "fleet", "keygen", "--dir", join(temp.path, "keys")]);
    writeFileSync(join(temp.path, "good.yaml"), POD);
    writeFileSync(join(temp.path, "next.yaml"), POD.replace("web:1", "web:2"));
    writeFileSync(join(temp.path, "hostile.yaml"), POD.replace("web:1", "web:3"));
    nodes = await RolloutNodes.start({
      url: broker.url,
      group: "kiosks",
      names: Array.from({ length: COUNT }, (_, index) => `kiosk-${index}`),
      failure: (node, { document }) => {
        const text = JSON.stringify(document);
        if (text.includes("web:3")) return HOSTILE;
        return node.endsWith("3") && text.includes("web:2") ? "web: CrashLoopBackOff" : undefined;
      },
    });
    const begun = rollout("-f", "good.yaml", "--bake", "1s");
    expect(await begun.exited, await begun.stderr.text()).toBe(0);
    await eventually("all have the first generation", () => nodes.have(1) === COUNT);
    ui = await startUi("--key", KEY);
    page = await openPage(`${ui.address}`);
    await page.getByRole("link", { name: "Rollouts" }).click();
  }, 180_000);

  afterAll(async () => {
    await page?.close();
    await nodes?.[Symbol.asyncDispose]();
  });

  function rollout(...words: readonly string[]) {
    return fleet(["rollout", ...words, "--group", "kiosks", "--key", KEY]);
  }

  async function order(): Promise<RolloutOrder> {
    const text = await client.retained(`${GROUP}/rollout`);
    const read = orderIn(Buffer.from(text ?? ""), [readSigner(join(temp.path, KEY))]);
    if (read === undefined) throw new Error("no Rollout that is signed");
    return read;
  }

  const dialog = () => page.getByRole("dialog");
  const onCard = (text: string) => page.locator("#rollout").getByText(text, { exact: true });
  const present = () => page.locator(".steps .present");
  const count = (stage: string, many: string | number) =>
    page.locator(".counts .count", { hasText: new RegExp(`^${many} ${stage}$`) });

  async function press(name: "Pause" | "Resume" | "Undo", ...wanted: readonly string[]) {
    await page.locator(".tools").getByRole("button", { name }).click();
    for (const text of wanted) await dialog().getByText(text).first().waitFor(WAIT);
    if (name !== "Pause") await take(page, `${name.toLowerCase()}-asked`);
    await dialog()
      .getByRole("button", { name: new RegExp(`^${name} generation`) })
      .click();
  }

  test("is listed with its group, and opens", async () => {
    await page.locator("a.group", { hasText: "kiosks" }).click();
    await page.getByRole("heading", { name: "kiosks" }).waitFor(WAIT);
    await count("Healthy", COUNT).waitFor(WAIT);
    expect(await page.locator(".tools button").allTextContents()).toEqual(["Undo"]);
  }, 120_000);

  test("shows its first step and until when that bakes, as a program elsewhere begins it", async () => {
    const words = ["-f", "next.yaml", "--steps", "4,50%,100%", "--bake", "1h"];
    const begun = rollout(...words, "--max-failures", "100%");
    await onCard("generation 2").waitFor(WAIT);
    await count("Waiting", COUNT - 4).waitFor(WAIT);
    await page.getByText(/^Baking until .* left\)$/).waitFor(WAIT);
    expect(await present().textContent()).toContain("4 nodes");
    expect(await page.locator(".steps li").allTextContents()).toHaveLength(3);
    await take(page, "rollout-baking");
    await press("Pause", "group kiosks", "generation 2", `4 of ${COUNT} nodes`);
    await page.getByText("paused: by an operator").waitFor(WAIT);
    expect(await order()).toMatchObject({ generation: 2, paused: true });
    // The program that began it sees that another one has taken over.
    expect(await begun.exited).toBe(1);
    expect(await begun.stderr.text()).toContain("has taken over");
  }, 120_000);

  test("goes on from the page, and names the nodes that fail", async () => {
    await setBake(1);
    await press("Resume", "group kiosks", "generation 2", "next 50 %");
    await page.locator(".steps .present", { hasText: "50 %" }).waitFor(WAIT);
    await page.getByRole("heading", { name: "Failed nodes" }).waitFor(WAIT);
    await page.getByText("web: CrashLoopBackOff").first().waitFor(WAIT);
    await page.locator(".steps .present", { hasText: "100 %" }).waitFor(WAIT);
    await page.getByText("generation 2 is good at the last step").first().waitFor(WAIT);
    expect(nodes.have(2)).toBe(COUNT);
    await take(page, "rollout-failed");
  }, 120_000);

  test("is not changed where another operator has changed it meanwhile", async () => {
    await page.locator(".tools").getByRole("button", { name: "Undo" }).click();
    await dialog().waitFor(WAIT);
    await publishOrder({ ...(await order()), percent: 99 });
    await page.locator(".steps .present", { hasText: "99 %" }).waitFor(WAIT);
    await dialog()
      .getByRole("button", { name: /^Undo generation/ })
      .click();
    await page.getByText("has meanwhile set the rollout").waitFor(WAIT);
    expect((await order()).paused).toBe(false);
    expect(nodes.have(2)).toBe(COUNT);
  }, 120_000);

  test("is taken back", async () => {
    await press("Undo", "group kiosks", "of generation 1", `All ${COUNT} nodes`);
    await onCard("generation 3").waitFor(WAIT);
    await count("Healthy", COUNT).waitFor(WAIT);
    await page.getByText("has the content of generation 1").first().waitFor(WAIT);
    expect(nodes.have(3)).toBe(COUNT);
    await page.getByText(/generation 2 is paused at 99 %: taken back/).waitFor(WAIT);
    await take(page, "rollout-undone");
  }, 120_000);

  test("is read only without a key, the command is shown, and what nodes say is text", async () => {
    const reader = await startUi();
    const other = await openPage(reader.address);
    await other.goto(`${reader.origin}/#/rollout/kiosks`);
    const words = ["--steps", "100%", "--bake", "1s", "--max-failures", "100%"];
    expect(await rollout("-f", "hostile.yaml", ...words).exited).toBe(0);
    const command = "agent fleet rollout undo --group kiosks --key signing.pem";
    await other.getByText(command).waitFor(WAIT);
    expect(await other.locator(".tools button").count()).toBe(0);
    await other.getByText("RolledBack: <img src=x").first().waitFor(WAIT);
    expect(await other.locator("img").count()).toBe(0);
    await take(other, "rollout-read-only");
    await other.close();
  }, 120_000);

  async function setBake(bakeSeconds: number): Promise<void> {
    const present = await order();
    const { plan } = present;
    if (plan === undefined) throw new Error("no plan");
    await publishOrder({ ...present, plan: { ...plan, bakeSeconds } });
  }

  /** As another operator does. */
  async function publishOrder(changed: RolloutOrder): Promise<void> {
    const issuedAt = Math.max(Date.now(), (changed.issuedAt ?? 0) + 1_000);
    const payload = jsonBytes(ROLLOUT.write({ ...changed, issuedAt }));
    const message = signMessage("rollout", payload, [readSigner(join(temp.path, KEY))]);
    await client.publish(`${GROUP}/rollout`, message, { retain: true });
  }
});
