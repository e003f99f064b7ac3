// A terminal as a person has one: windows of a tmux server of the test's own, their keys, what they show, and how the
// commands in them end. `InTerminal` of the stream tests is for bytes as they come; this is for the screen that they make.

import { join } from "node:path";

import { spawnDaemon } from "./daemon.ts";
import { eventually } from "./eventually.ts";
import type { Unavailable } from "./private-containerd.ts";
import { run } from "./run-command.ts";
import type { TempDirectory } from "./temp-directory.ts";

export interface WindowSize {
  readonly columns: number;
  readonly rows: number;
}

export const SIZE_80: WindowSize = { columns: 80, rows: 24 };

/** A key by tmux's name. */
export type Key = "C-c" | "C-d" | "Enter" | "Escape";

export interface Ended {
  /** 128 + the signal's number when a signal ended it. */
  readonly code: number;
  /** What the window shows at the end; lines are whole although the window may be narrower. */
  readonly text: string;
}

/**
 * The command, then its exit code as the title of the window: tmux reads it after all output. tmux loses output of a window
 * whose process ends at once, so the window stays. Ctrl-C is for the command only.
 */
const RUNNER = String.raw`trap : INT; sh -c "$1"; printf '\033]2;ended %s\007' "$?"; exec sleep 2147483647`;

export function tmuxMissing(): Unavailable | undefined {
  return Bun.which("tmux") === null ? { unavailable: "tmux is not installed" } : undefined;
}

/** A server with its socket and its process in the temporary directory: it ends with it at the latest. */
export class Tmux implements AsyncDisposable {
  readonly #directory: string;
  readonly #server: Bun.Subprocess;
  readonly #env: Record<string, string>;
  #windows = 0;

  private constructor(
    directory: string,
    server: Bun.Subprocess,
    env: Readonly<Record<string, string>>,
  ) {
    this.#directory = directory;
    this.#server = server;
    this.#env = env;
  }

  /** `env`: for every command. */
  static async open(
    temp: TempDirectory,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Tmux> {
    const directory = temp.directory("tmux");
    const { TMUX: _outer, ...own } = process.env;
    const server = spawnDaemon(["tmux", "-S", socketIn(directory), "-f", "/dev/null", "-D"], {
      temp,
      logFile: join(directory, "log"),
      env: { ...own, HOME: directory, LC_ALL: "C.UTF-8", ...env },
    });
    const tmux = new Tmux(directory, server, env);
    await eventually(
      "tmux answers",
      async () => (await tmux.#try("show-options", "-s")).code === 0,
    );
    // Programs may write the clipboard, so that one that does is found out.
    await tmux.command("set-option", "-s", "set-clipboard", "on");
    await tmux.command("set-option", "-g", "status", "off");
    await tmux.command("set-option", "-g", "history-limit", "10000");
    return tmux;
  }

  /** Runs a command line of `sh` in a window of its own. */
  async window(command: string, size: WindowSize = SIZE_80): Promise<TmuxWindow> {
    this.#windows += 1;
    const name = `w${this.#windows}`;
    const { columns, rows } = size;
    const place = ["-d", "-s", name, "-x", String(columns), "-y", String(rows)];
    await this.command("new-session", ...place, "sh", "-c", RUNNER, "sh", command);
    return new TmuxWindow(this, name, command);
  }

  /** What a program has put on the clipboard; undefined = nothing yet. */
  async clipboard(): Promise<string | undefined> {
    const { code, stdout } = await this.#try("show-buffer");
    return code === 0 ? stdout : undefined;
  }

  /** The output of a command of tmux; throws when it fails. */
  async command(...words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#try(...words);
    if (code !== 0) throw new Error(`tmux ${words.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }

  #try(...words: readonly string[]): ReturnType<typeof run> {
    // A window has the PATH of the client that makes it, not the server's.
    return run(["tmux", "-S", socketIn(this.#directory), ...words], { env: this.#env });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#try("kill-server");
    await this.#server.exited;
  }
}

function socketIn(directory: string): string {
  return join(directory, "socket");
}

export class TmuxWindow {
  readonly #tmux: Tmux;
  readonly #name: string;
  readonly #command: string;

  constructor(tmux: Tmux, name: string, command: string) {
    this.#tmux = tmux;
    this.#name = name;
    this.#command = command;
  }

  /** Characters as they are; none of them is a key. */
  async type(text: string): Promise<void> {
    await this.#tmux.command("send-keys", "-t", this.#name, "-l", text);
  }

  /** A line, and Enter. */
  async enter(line: string): Promise<void> {
    await this.type(line);
    await this.key("Enter");
  }

  async key(...keys: readonly Key[]): Promise<void> {
    await this.#tmux.command("send-keys", "-t", this.#name, ...keys);
  }

  async resize({ columns, rows }: WindowSize): Promise<void> {
    const size = ["-x", String(columns), "-y", String(rows)];
    await this.#tmux.command("resize-window", "-t", this.#name, ...size);
  }

  /** The lines that a person sees, with what has scrolled away above them, without the empty ones below. */
  async lines(): Promise<readonly string[]> {
    return (await this.#capture()).trimEnd().split("\n");
  }

  /** The same, each line whole although the window is narrower. */
  async text(): Promise<string> {
    const lines = (await this.#capture("-J")).split("\n");
    return lines
      .map((line) => line.trimEnd())
      .join("\n")
      .trimEnd();
  }

  /** The same with the colours and attributes as escape sequences. */
  async escapes(): Promise<string> {
    return (await this.#capture("-e")).trimEnd();
  }

  /** Waits until the window shows this; the text of that moment. */
  async shows(what: string | RegExp): Promise<string> {
    return this.#until(`shows ${String(what)}`, (text) =>
      (typeof what === "string" ? text.includes(what) : what.test(text)) ? text : undefined,
    );
  }

  /** Waits for the end of the command. */
  async ended(): Promise<Ended> {
    const code = await this.#until("ends", async () => {
      const title = await this.#tmux.command("display", "-p", "-t", this.#name, "#{pane_title}");
      const [, written] = /^ended (\d+)$/m.exec(title) ?? [];
      return written === undefined ? undefined : Number(written);
    });
    return { code, text: await this.text() };
  }

  async #until<T>(
    what: string,
    look: (text: string) => T | undefined | Promise<T | undefined>,
  ): Promise<T> {
    return eventually(
      `\`${this.#command}\` ${what}`,
      async () => {
        const text = await this.text();
        const value = await look(text);
        if (value !== undefined) return value;
        throw new Error(`the window shows:\n${text}`);
      },
      { timeout: 45_000, interval: 40 },
    );
  }

  async #capture(...flags: readonly string[]): Promise<string> {
    return this.#tmux.command("capture-pane", "-p", "-S", "-", ...flags, "-t", this.#name);
  }
}
