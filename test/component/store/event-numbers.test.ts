import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const CHILD = fileURLToPath(new URL("says-events-until-killed.ts", import.meta.url));
const ROUNDS = 8;

/** The numbers that the broker of a child has seen until it was killed after `lines` lines. */
async function killAfter(lines: number, stateDir: string): Promise<readonly number[]> {
  const child = Bun.spawn([process.execPath, CHILD, stateDir], {
    stdout: "pipe",
    stderr: "inherit",
  });
  let said = "";
  for await (const chunk of child.stdout) {
    said += new TextDecoder().decode(chunk);
    if (said.split("\n").length > lines) child.kill("SIGKILL");
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  const whole = said.split("\n").slice(0, -1);
  return whole.flatMap((line) => line.split(" ").map(Number));
}

test("kill -9 at any moment lets no event come under the number of another", async () => {
  const stateDir = newDirectory();
  const contents = new Map<number, string>();
  let last = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const seen = await killAfter(1 + round * 3, stateDir);
    using store = openStore(stateDir);
    const waiting = store.outbox.nextBatch(10_000);
    store.outbox.sent(waiting.map(({ id }) => id));
    for (const { id, payload } of waiting) {
      expect(contents.has(id)).toBe(false);
      contents.set(id, new TextDecoder().decode(payload));
    }
    const numbers = [...seen, ...contents.keys()].filter((id) => id > last);
    store.outbox.events.add({ type: "Normal", topic: "event", payload: new Uint8Array() });
    store.outbox.events.flush();
    const [next] = store.outbox.nextBatch(1);
    if (next === undefined) throw new Error("the event is gone");
    expect(next.id).toBeGreaterThan(Math.max(...numbers));
    expect(Math.min(...numbers)).toBeGreaterThan(last);
    last = next.id;
    store.outbox.sent([last]);
  }
}, 60_000);
