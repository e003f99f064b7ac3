import { NO_NOTES } from "../../../src/node/explain/pod-notes.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { LocalServer } from "../../../src/server/local-server.ts";
import { NO_IMAGES, NO_STREAMS } from "../../unit/server/some-facts.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { runOn } from "./cli-stage.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import type { TrustView } from "../../../src/trust/trust-view.ts";

const PLAIN: TrustView = {
  required: false,
  why: "there has never been a key in /etc/agent/trust.d",
  trustPath: "/etc/agent/trust.d",
  rootKeys: [],
  problems: [],
};
const KEYED: TrustView = {
  ...PLAIN,
  required: true,
  why: "there is a key in /etc/agent/trust.d",
  rootKeys: [{ keyid: "0123456789abcdef", file: "/etc/agent/trust.d/root.pub", inForce: true }],
};
const BUNDLED: TrustView = {
  ...KEYED,
  rootKeys: [
    { keyid: "0123456789abcdef", file: "/etc/agent/trust.d/root.pub", inForce: true },
    { keyid: "1111111111111111", inForce: true },
    { keyid: "2222222222222222", file: "/etc/agent/trust.d/old.pub", inForce: false },
  ],
  bundle: {
    version: 4,
    notBefore: "2026-11-21T08:00:00.000Z",
    keys: [
      { keyid: "3333333333333333", roles: ["desired", "command"], nodes: ["pi-*"], groups: [] },
      { keyid: "4444444444444444", roles: ["rollout"] },
    ],
  },
};

let directory: string;
let terminal: FakeTerminal;
let server: LocalServer;
let trust: TrustView;
let resets: number;
let trouble: string | undefined;
let socket: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "agent-cli-"));
  socket = join(directory, "agent.sock");
  const clock = new VirtualClock();
  [trust, resets, trouble] = [PLAIN, 0, undefined];
  terminal = new FakeTerminal();
  terminal.environment = { AGENT_SOCKET: socket };
  const never = (): never => {
    throw new Error("not asked for");
  };
  server = new LocalServer({
    socket,
    files: realFiles(),
    podLogsDir: "/nonexistent",
    clock,
    log: createLogger({ clock, level: "error", write: () => undefined }),
    cri: NO_STREAMS,
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
    facts: {
      healthProblems: () => [],
      selfUpdate: () => ({ version: "1.0.0", phase: "Idle", failed: [] }),
      orderSelfUpdate: () => undefined,
      hasSynced: () => true,
      pods: () => [],
      rejected: () => [],
      events: () => [],
      notes: () => NO_NOTES,
      node: never,
      version: never,
      restart: () => Promise.resolve(undefined),
      desired: () => [],
      linkFacts: () => undefined,
      databaseBytes: () => undefined,
      meter: () => undefined,
      config: () => CONFIG_DEFAULTS,
      shortenGrace: never,
      shutdown: never,
      beginShutdown: never,
      cancelShutdown: never,
      declared: () => undefined,
      objects: () => [],
      removeClaimData: never,
      trust: () => trust,
      changeHold: () => ({ type: "NotFound" }),
      imageOrders: NO_IMAGES,
      summary: () => Promise.resolve({}),
      rotateNodeKeys: () => undefined,
      resetTrust: () => {
        if (trouble !== undefined) throw new Error(trouble);
        resets += 1;
        if (!trust.why.includes("there is a key")) trust = PLAIN;
      },
    },
  });
  await server.listen();
});

afterEach(async () => {
  server.stop();
  rmSync(directory, { recursive: true });
});

const run = (command: string): Promise<number> => runOn(terminal, command);

describe("trust show", () => {
  test("of a node without keys", async () => {
    expect(await run("trust show")).toBe(0);
    expect(terminal.stdout).toBe(
      "Unsigned documents are accepted: there has never been a key in /etc/agent/trust.d\n",
    );
    expect(terminal.stderr).toBe("");
  });

  test("of a root key that signs everything", async () => {
    trust = { ...KEYED, problems: ["/etc/agent/trust.d/x.pub is no key; remove it"] };
    expect(await run("trust show")).toBe(0);
    expect(terminal.stdout).toBe(
      [
        "Documents must be signed: there is a key in /etc/agent/trust.d",
        "",
        "KEY                ROLES                                  NODES   GROUPS   FROM",
        "0123456789abcdef   root,desired,rollout,command,release   *       *        /etc/agent/trust.d/root.pub",
        "",
      ].join("\n"),
    );
    expect(terminal.stderr).toBe("Problem: /etc/agent/trust.d/x.pub is no key; remove it\n");
  });

  test("of a bundle, with the scopes of its keys", async () => {
    trust = BUNDLED;
    expect(await run("trust show")).toBe(0);
    expect(terminal.stdout).toBe(
      [
        "Documents must be signed: there is a key in /etc/agent/trust.d",
        "Trust bundle: version 4; documents issued before 2026-11-21T08:00:00.000Z are refused",
        "",
        "KEY                ROLES             NODES   GROUPS   FROM",
        "0123456789abcdef   root              -       -        /etc/agent/trust.d/root.pub",
        "1111111111111111   root              -       -        bundle 4",
        "2222222222222222   replaced          -       -        /etc/agent/trust.d/old.pub",
        "3333333333333333   desired,command   pi-*    -        bundle 4",
        "4444444444444444   rollout           *       *        bundle 4",
        "",
      ].join("\n"),
    );
  });

  test.each([
    ["json", (text: string): unknown => JSON.parse(text)],
    ["yaml", (text: string): unknown => parse(text)],
  ])("as %s, whole", async (format, read) => {
    trust = BUNDLED;
    expect(await run(`trust show -o ${format}`)).toBe(0);
    expect(read(terminal.stdout)).toEqual({ apiVersion: "agent/v1", kind: "Trust", ...BUNDLED });
  });

  test("escapes what a terminal would obey", async () => {
    trust = { ...KEYED, problems: ["\u001b[2J"] };
    expect(await run("trust show")).toBe(0);
    expect(terminal.stderr).toBe("Problem: \\u001b[2J\n");
  });

  test("has no other formats", async () => {
    expect(await run("trust show -o wide")).toBe(2);
  });
});

describe("trust reset", () => {
  test("asks, and goes on at yes", async () => {
    trust = { ...PLAIN, required: true, why: "this node has required it before" };
    terminal.input = "yes\n";
    expect(await run("trust reset")).toBe(0);
    expect(resets).toBe(1);
    expect(terminal.stdout).toContain('Type "yes" to continue: ');
    expect(terminal.stdout).toEndWith("trust is reset; pods keep running\n");
    expect(terminal.stderr).toBe("");
  });

  test.each(["", "y\n", "no\n", "YES\n"])("goes not on at %j", async (input) => {
    terminal.input = input;
    expect(await run("trust reset")).toBe(1);
    expect(resets).toBe(0);
    expect(terminal.stderr).toBe("nothing was reset\n");
  });

  test("does not ask with --yes, and needs no terminal then", async () => {
    terminal.isInteractive = false;
    expect(await run("trust reset --yes")).toBe(0);
    expect(resets).toBe(1);
    expect(terminal.stdout).toBe("trust is reset; pods keep running\n");
  });

  test("without a terminal and without --yes does nothing and names the flag", async () => {
    terminal.isInteractive = false;
    expect(await run("trust reset")).toBe(2);
    expect(resets).toBe(0);
    expect(terminal.stderr).toContain("add --yes");
  });

  test("says that a key which is still there goes on to count", async () => {
    trust = KEYED;
    expect(await run("trust reset --yes")).toBe(0);
    expect(terminal.stderr).toContain(
      "Documents must still be signed: there is a key in /etc/agent/trust.d; remove that",
    );
  });

  test("that the disk does not take is exit code 1 and the agent's own sentence", async () => {
    trouble = "cannot write /var/lib/agent/trust.json: no space left";
    expect(await run("trust reset --yes")).toBe(1);
    expect(terminal.stderr).toContain(
      "trust was not reset: cannot write /var/lib/agent/trust.json: no space left; try again",
    );
  });

  test("needs the agent, asks nothing without it, and says how to start it", async () => {
    server.stop();
    terminal.input = "yes\n";
    expect(await run("trust reset")).toBe(1);
    expect(terminal.stdout).toBe("");
    expect(terminal.stderr).toContain(`no agent is listening on ${socket}: start it`);
  });
});

describe("the paths", () => {
  const ask = async (path: string, method: string): Promise<readonly unknown[]> => {
    const response = await fetch(`http://agent${path}`, { method, unix: socket });
    return [response.status, response.headers.get("allow")];
  };

  test.each([
    ["/trust", "POST", 405, "GET, HEAD"],
    ["/trust", "DELETE", 405, "GET, HEAD"],
    ["/trust/reset", "GET", 405, "POST"],
    ["/trust/reset", "HEAD", 405, "POST"],
    ["/trust/other", "GET", 404, null],
  ])("%s knows no %s", async (path, method, status, allow) => {
    expect(await ask(path, method)).toEqual([status, allow]);
    expect(resets).toBe(0);
  });
});
