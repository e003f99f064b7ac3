// Performs: `agent ui`: makes an address of the page that works once, prints it, and opens it where there is a display.

import { join } from "node:path";
import { rmSync, writeFileSync } from "node:fs";
import type { VerbCall } from "../define-verb.ts";
import type { Terminal } from "../process-io.ts";
import { printable } from "../terminal-text.ts";

interface UiFlags {
  readonly user?: string;
  readonly readOnly?: boolean;
  /** `--no-open`. */
  readonly open: boolean;
  readonly urlOnly?: boolean;
}

const OPENER = "xdg-open";
const FILE = "agent-ui.html";
const OPEN_MS = 3_000;
/** It holds the token. */
const MODE = 0o600;

/** The exit code. Throws CliError if the agent cannot be reached, or refuses. */
export async function openUi({ flags, terminal, connect }: VerbCall): Promise<0> {
  const { readOnly = false, open, urlOnly = false, ...given } = flags<UiFlags>();
  const user = given.user ?? (readOnly ? "viewer" : "admin");
  const client = await connect();
  const access = readOnly ? "ReadOnly" : "Full";
  const { url, seconds, notes } = await client.browserAddress({ user, access });
  terminal.out(`${printable(url)}\n`);
  if (urlOnly) return 0;
  for (const note of notes) terminal.err(`${printable(note)}\n`);
  terminal.err(`the address works once, within ${seconds} s\n`);
  if (isOverSsh(terminal) && isLoopbackUrl(url)) terminal.err(tunnelNote(url));
  else if (open && hasDisplay(terminal)) await openBrowser(terminal, url);
  return 0;
}

function hasDisplay({ environment }: Terminal): boolean {
  return [environment["DISPLAY"], environment["WAYLAND_DISPLAY"]].some((one) => (one ?? "") !== "");
}

function isOverSsh({ environment }: Terminal): boolean {
  return (environment["SSH_CONNECTION"] ?? "") !== "";
}

function isLoopbackUrl(url: string): boolean {
  return /^(?:127\.|localhost$|\[::1\]$)/.test(URL.parse(url)?.hostname ?? "");
}

function tunnelNote(url: string): string {
  const port = URL.parse(url)?.port ?? "";
  return `from another machine: ssh -L ${port}:127.0.0.1:${port} USER@NODE there, and open the address while that runs\n`;
}

/** The words of a process can be read by every user of the machine: the browser gets a file that only its owner may read. */
async function openBrowser(terminal: Terminal, url: string): Promise<void> {
  const { environment, clock } = terminal;
  if (process.getuid?.() === 0)
    return terminal.err(
      "it is not opened for you, because no browser should run as root: open it yourself\n",
    );
  const directory = environment["XDG_RUNTIME_DIR"] ?? "";
  if (directory === "")
    return terminal.err("XDG_RUNTIME_DIR is not set: open the address yourself\n");
  const path = join(directory, FILE);
  try {
    rmSync(path, { force: true });
    writeFileSync(path, redirectTo(url), { mode: MODE, flag: "wx" });
    const quiet = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
    const child = { ...quiet, env: { ...environment }, detached: true };
    const opener = Bun.spawn([OPENER, path], child);
    // Without a desktop it becomes the browser, and ends with it.
    const isRunning = clock.sleep(OPEN_MS).then(() => 0);
    if ((await Promise.race([opener.exited, isRunning])) === 0) return opener.unref();
  } catch {
    // Without xdg-open, or a place for the file, the person opens the address.
  }
  terminal.err(`${OPENER} cannot open it: open the address yourself\n`);
}

function redirectTo(url: string): string {
  const address = JSON.stringify(url).replaceAll("<", String.raw`\u003c`);
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>agent</title><script>location.replace(${address})</script>\n`;
}
