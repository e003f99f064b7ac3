// The verbs that stay open, in a terminal: what they follow, which keys they pass on, and how they leave the terminal behind.

import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import type { TmuxWindow } from "../harness/tmux.ts";
import { getPod } from "./support-a-agent.ts";
import { POD } from "./support-n-streams.ts";
import { careful, openTerminal, SIZE_200, untilReady } from "./support-terminal.ts";

const { e2e, temp, start, window, ended } = await openTerminal();
let agent: AgentProcess;

const LINES = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "lines" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "main",
        image: "local/busybox:1",
        command: ["sh", "-c", "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done"],
      },
    ],
  },
};

e2e("an agent runs a server, a shell and a pod that writes", async () => {
  agent = await start({ "web.yaml": POD, "lines.yaml": LINES });
  await untilReady(agent, "web", "lines");
});

/** Whether this command runs in the container. */
async function inContainer(command: string, container = "main"): Promise<boolean> {
  const { text } = await ended(`agent exec web -c ${container} -- ps -o args`);
  return text.split("\n").includes(command);
}

async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  await eventually(what, look, { explain: () => agent.logTail() });
}

const AS_IT_WAS = /code=(\d+)\nas it was$/;

/** The exit code of `careful`; the terminal is as it was. */
async function codeOf(one: TmuxWindow): Promise<number> {
  const { text } = await one.ended();
  expect(text).toMatch(AS_IT_WAS);
  return Number(AS_IT_WAS.exec(text)?.[1]);
}

e2e("logs -f shows each line as it comes, until Ctrl-C", async () => {
  const follow = await window(careful("agent logs -f lines"));
  const text = await follow.shows(/^line \d+\nline \d+$/m);
  const last = Number(/line (\d+)$/.exec(text)?.[1]);
  await follow.shows(`line ${last + 3}`);
  await follow.key("C-c");
  expect(await codeOf(follow)).toBe(0);
});

e2e("a pipe that has had enough ends logs -f", async () => {
  const { code, text } = await ended("agent logs -f lines | grep -m1 line");
  expect(code).toBe(0);
  expect(text).toMatch(/^line \d+$/);
  const all = await ended("agent logs -f lines --prefix --timestamps | head -n 2 | wc -l");
  expect(all).toEqual({ code: 0, text: "2" });
});

e2e("exec -it: the size, every resize, Ctrl-C for the command, Ctrl-D for the shell", async () => {
  const shell = await window(careful("agent exec -it web -c main -- sh"), SIZE_200);
  await shell.shows("/ #");
  await shell.enter("stty size");
  await shell.shows("50 200");
  await shell.resize({ columns: 90, rows: 30 });
  await shell.enter("stty size");
  await shell.shows("30 90");
  await shell.resize(SIZE_200);
  await shell.enter("sleep 4711");
  await until("sleep runs", () => inContainer("sleep 4711"));
  await shell.key("C-c");
  await until("sleep is interrupted", async () => !(await inContainer("sleep 4711")));
  await shell.enter("echo go''es on $?");
  await shell.shows("goes on 130");
  await shell.key("C-d");
  expect(await codeOf(shell)).toBe(0);
});

e2e("exec -it gives back the exit code, and the terminal also when it is killed", async () => {
  const shell = await window(careful("agent exec -it web -c main -- sh"));
  await shell.shows("/ #");
  await shell.key("C-c");
  await shell.key("C-d");
  expect(await codeOf(shell)).toBe(130);
  const pid = join(temp.directory("pids"), "exec");
  const command = `sh -c 'echo $$ >${pid}; exec agent exec -it web -c main -- sh -c "echo in; cat"'`;
  const killed = await window(careful(command));
  await killed.shows("in");
  process.kill(Number(readFileSync(pid, "utf8")), "SIGTERM");
  const { text } = await killed.ended();
  // The line of the shell that a process was terminated may precede it.
  expect(text).toMatch(/code=143\nas it was$/);
});

e2e("a program of the whole screen works in exec -it", async () => {
  const editor = await window(careful("agent exec -it web -c main -- vi /work/note"));
  await editor.shows(/^~$/m);
  await editor.type("ihello from a terminal");
  await editor.shows("hello from a terminal");
  await editor.key("Escape");
  // vi takes what follows at once as part of a key.
  await editor.shows(/^- \/work\/note/m);
  await editor.enter(":wq");
  expect(await codeOf(editor)).toBe(0);
  expect((await ended("agent exec web -c main -- cat /work/note")).text).toBe(
    "hello from a terminal",
  );
});

e2e("exec without a terminal ends with Ctrl-C and 130, and has its own exit codes", async () => {
  const sleeping = await window(careful("agent exec -i web -c main -- sh -c 'echo on; cat'"));
  await sleeping.shows("on");
  await sleeping.key("C-c");
  expect(await codeOf(sleeping)).toBe(130);
  const { code, text } = await ended("agent exec web -c main -- sh -c 'exit 42'");
  expect([code, text]).toEqual([42, "command terminated with exit code 42"]);
  expect((await ended("agent exec web -c main -- sh -c 'kill -9 $$'")).code).toBe(137);
});

e2e("attach -it joins the shell of the container, with the size of the window", async () => {
  const attached = await window(careful("agent attach -it web -c shell"), SIZE_200);
  await attached.shows("If you don't see a command prompt, try pressing enter.");
  await attached.key("Enter");
  await attached.shows("/ #");
  await attached.enter("stty size");
  await attached.shows("50 200");
  await attached.enter("sleep 4712");
  await until("sleep runs", () => inContainer("sleep 4712", "shell"));
  await attached.key("C-c");
  await attached.enter("echo st''ill here");
  await attached.shows("still here");
  await attached.key("C-d");
  expect(await codeOf(attached)).toBe(0);
  // The shell was the container's first process.
  await until("the container starts again", async () => {
    const { status } = await getPod(agent, "web");
    return status.containerStatuses?.some(({ restartCount }) => restartCount === 1) === true;
  });
});

e2e("cp takes files there and back, and shows only what tar writes", async () => {
  const directory = temp.directory("cp");
  writeFileSync(join(directory, "there"), "through the terminal\n");
  const there = await ended(careful(`agent cp ${directory}/there web:/work/there -c main`));
  expect(there.text).toBe("code=0\nas it was");
  const back = await ended(careful(`agent cp web:/work/there ${directory}/back -c main`));
  expect(back.text).toBe("tar: removing leading '/' from member names\ncode=0\nas it was");
  expect(readFileSync(join(directory, "back"), "utf8")).toBe("through the terminal\n");
  const none = await ended(`agent cp web:/nothing ${directory}/none -c main`);
  expect(none.code).toBe(1);
  expect(none.text).toContain("/nothing: No such file or directory");
});

async function isOpen(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  const opened = await new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
  socket.destroy();
  return opened;
}

e2e("port-forward shows each connection, and Ctrl-C frees the port", async () => {
  const port = freePort();
  const forward = await window(careful(`agent port-forward web ${port}:8080`));
  await forward.shows(`Forwarding from 127.0.0.1:${port} -> 8080`);
  const answer = await fetch(`http://127.0.0.1:${port}/`, { keepalive: false });
  expect(await answer.text()).toBe("hello\n");
  await forward.shows(`Handling connection for ${port}`);
  const second = await ended(`agent port-forward web ${port}:8080 --address 127.0.0.1`);
  expect(second.code).toBe(1);
  expect(second.text).toContain("address already in use");
  await forward.key("C-c");
  expect(await codeOf(forward)).toBe(0);
  expect(await isOpen(port)).toBe(false);
});

e2e("an agent that ends is reported by what is open, which ends or waits for it", async () => {
  const follow = await window(careful("agent get pods -w"));
  await follow.shows(/^lines /m);
  const shell = await window(careful("agent exec -it web -c main -- sh"));
  await shell.shows("/ #");
  await agent.kill("SIGKILL");
  await follow.shows("; waiting for it");
  expect(await codeOf(shell)).toBe(1);
  expect(await shell.text()).toContain("Error: the connection ended before the command did");
  await agent.startReady();
  agent.removeManifest("lines.yaml");
  await follow.shows(/^lines +\S+ +Gone/m);
  await follow.key("C-c");
  expect(await codeOf(follow)).toBe(0);
});
