// The terminal of the tests: if it showed the wrong thing, every test with it would lie.

import { afterAll, expect } from "bun:test";

import { testWhenAvailable } from "./skip-reasons.ts";
import { makeTempDirectory } from "./temp-directory.ts";
import { Tmux, tmuxMissing } from "./tmux.ts";

const temp = makeTempDirectory();
const test = testWhenAvailable(tmuxMissing() ?? ({} as never));
afterAll(() => temp.remove());

test("a window has its size, takes keys, shows the screen and how the command has ended", async () => {
  await using tmux = await Tmux.open(temp);
  const size = { columns: 200, rows: 50 };
  const wide = await tmux.window("stty size; read line; stty size; exit 7", size);
  await wide.shows("50 200");
  await wide.resize({ columns: 90, rows: 30 });
  await wide.enter("go");
  expect(await wide.ended()).toEqual({ code: 7, text: "50 200\ngo\n30 90" });
  const interrupted = await tmux.window("echo on; exec sleep 1000");
  await interrupted.shows("on");
  await interrupted.key("C-c");
  expect(await interrupted.ended()).toEqual({ code: 130, text: "on\n^C" });
  const overwritten = await tmux.window("printf 'abc\\rX\\n\\033[1mbold\\033[0m\\n'");
  expect((await overwritten.ended()).text).toBe("Xbc\nbold");
  expect(await overwritten.escapes()).toContain("\u001b[1mbold");
  const long = await tmux.window("printf %0100d 0");
  expect((await long.ended()).text).toBe("0".repeat(100));
  expect((await long.lines())[0]).toBe("0".repeat(80));
});

test("a program that writes the clipboard is found out", async () => {
  await using tmux = await Tmux.open(temp);
  expect(await tmux.clipboard()).toBeUndefined();
  const window = await tmux.window("printf '\\033]52;c;aGFja2Vk\\007'");
  await window.ended();
  expect(await tmux.clipboard()).toBe("hacked");
});
