// What `agent ui` prints, and when it opens a browser, with a fake xdg-open on PATH.

import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

const URL_ONCE = "https://127.0.0.1:6450/ui/login#token=t0ken";
const AS_ROOT = process.getuid?.() === 0;

let stage: CliStage;
let asked: string[] = [];
eachOnCliStage((new_) => {
  stage = new_;
  asked = [];
  stage.agent.answers.set("/ui/tokens", (request) => {
    asked.push(`${request.method} ${new URL(request.url).search}`);
    const notes = ["the API is open on 127.0.0.1:6450 from now on"];
    const view = { kind: "BrowserAddress", url: URL_ONCE, seconds: 120, notes };
    return Response.json({ apiVersion: "agent/v1", ...view });
  });
});

/** A display, and an xdg-open that notes its words; what it noted. */
function withDisplay(): () => string {
  const noted = join(stage.directory, "noted");
  chmodSync(stage.file("xdg-open", `#!/bin/sh\necho "$@" > ${noted}\n`), 0o755);
  Object.assign(stage.terminal.environment, {
    DISPLAY: ":0",
    XDG_RUNTIME_DIR: stage.directory,
    PATH: `${stage.directory}:${process.env["PATH"] ?? ""}`,
  });
  return () => (existsSync(noted) ? readFileSync(noted, "utf8").trim() : "");
}

test("the address is the only output, and is for admin unless another is named", async () => {
  expect(await stage.run("ui")).toBe(0);
  expect(stage.terminal.stdout).toBe(`${URL_ONCE}\n`);
  expect(stage.terminal.stderr).toBe(
    "the API is open on 127.0.0.1:6450 from now on\nthe address works once, within 120 s\n",
  );
  await stage.run("ui --read-only --url-only");
  await stage.run("ui --user anna --url-only");
  expect(asked).toEqual([
    "POST ?user=admin&access=Full",
    "POST ?user=viewer&access=ReadOnly",
    "POST ?user=anna&access=Full",
  ]);
});

test("over SSH it names the tunnel", async () => {
  withDisplay();
  stage.terminal.environment["SSH_CONNECTION"] = "192.0.2.1 1 192.0.2.2 22";
  expect(await stage.run("ui")).toBe(0);
  expect(stage.terminal.stderr).toContain("ssh -L 6450:127.0.0.1:6450 USER@NODE");
});

test("root opens no browser, and neither do --no-open and --url-only", async () => {
  const noted = withDisplay();
  await stage.run("ui --no-open");
  await stage.run("ui --url-only");
  if (AS_ROOT) {
    await stage.run("ui");
    expect(stage.terminal.stderr).toContain("no browser should run as root");
  }
  expect(noted()).toBe("");
});

test("a browser gets a file for its owner's eyes, and no token on its command line", async () => {
  const noted = withDisplay();
  const getuid = process.getuid;
  process.getuid = () => 1000;
  try {
    expect(await stage.run("ui")).toBe(0);
  } finally {
    if (getuid !== undefined) process.getuid = getuid;
  }
  const file = join(stage.directory, "agent-ui.html");
  expect(noted()).toBe(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toContain(`location.replace("${URL_ONCE}")`);
});
