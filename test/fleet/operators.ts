// What an operator's programs take of a fleet of this size: `fleet status`, a scrape of the exporter, the page in a browser.

import { chromium } from "playwright-core";

import { agentBinary } from "../harness/agent-process.ts";
import type { Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { scrollFrames, type Frames } from "../harness/scroll-frames.ts";

const REPEATS = 5;

export interface Program {
  /** Median. */
  readonly seconds: number;
  readonly megabytes: number;
}

/** `agent fleet status` of all nodes. */
export async function status({ url }: Broker, count: number): Promise<Program> {
  const runs: Program[] = [];
  for (let turn = 0; turn < REPEATS; turn += 1) {
    const from = performance.now();
    const child = Bun.spawn([agentBinary(), "fleet", "status", "--url", url], {
      stdout: "pipe",
      stderr: "ignore",
    });
    const text = await child.stdout.text();
    await child.exited;
    const seconds = (performance.now() - from) / 1_000;
    const rows = text.split("\n").filter((line) => /^node-\d{5} +online /.test(line)).length;
    if (rows !== count) throw new Error(`fleet status shows ${rows} of ${count} nodes`);
    runs.push({ seconds, megabytes: peakMegabytes(child) });
  }
  return middle(runs);
}

/** A scrape of `agent fleet exporter`. */
export async function exporter({ url }: Broker, count: number): Promise<Program> {
  const port = freePort();
  const listen = ["--listen", `127.0.0.1:${port}`, "--url", url];
  const child = Bun.spawn([agentBinary(), "fleet", "exporter", ...listen], {
    stdout: "ignore",
    stderr: "ignore",
  });
  const scrape = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const runs: number[] = [];
  try {
    await eventually(
      "the exporter counts all nodes",
      async () => (await scrape()).includes(`agent_fleet_nodes{state="online"} ${count}`),
      { timeout: 60_000 },
    );
    for (let turn = 0; turn < REPEATS; turn += 1) {
      const from = performance.now();
      await scrape();
      runs.push((performance.now() - from) / 1_000);
    }
  } finally {
    child.kill();
    await child.exited;
  }
  const megabytes = peakMegabytes(child);
  return middle(runs.map((seconds) => ({ seconds, megabytes })));
}

export interface PageFigures extends Frames {
  /** From the address to a table of all nodes. */
  readonly open: number;
  /** Of the program that serves it, MB. */
  readonly megabytes: number;
}

/** The page of `agent fleet ui` in Chromium, scrolled. */
export async function page({ url }: Broker, count: number): Promise<PageFigures> {
  const child = Bun.spawn([agentBinary(), "fleet", "ui", "--url", url], {
    stdout: "pipe",
    stderr: "ignore",
  });
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
  const look = async (): Promise<Omit<PageFigures, "megabytes">> => {
    const address = await firstLine(child.stdout);
    const tab = await browser.newPage({ viewport: { width: 1000, height: 700 } });
    const from = performance.now();
    await tab.goto(address);
    await tab.getByText(`${count} of ${count} nodes`).waitFor({ timeout: 120_000 });
    const open = (performance.now() - from) / 1_000;
    const frames = await scrollFrames(tab);
    return { ...frames, open };
  };
  const close = async (): Promise<void> => {
    await browser.close();
    child.kill();
    await child.exited;
  };
  let figures: Awaited<ReturnType<typeof look>>;
  try {
    figures = await look();
  } finally {
    await close();
  }
  return { ...figures, megabytes: peakMegabytes(child) };
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let printed = "";
  for await (const part of stream) {
    printed += new TextDecoder().decode(part);
    if (printed.includes("\n")) break;
  }
  return printed.trim();
}

/** Of a program that has ended. */
function peakMegabytes(child: Bun.Subprocess): number {
  const peak = child.resourceUsage()?.maxRSS;
  if (peak === undefined) throw new Error("a program that has not ended has no peak");
  return Math.round(peak / 1e6);
}

function middle(runs: readonly Program[]): Program {
  const sorted = runs.toSorted((a, b) => a.seconds - b.seconds);
  const found = sorted[Math.floor(sorted.length / 2)];
  if (found === undefined) throw new Error("nothing was measured");
  return found;
}
