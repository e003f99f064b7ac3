import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const CHILD = fileURLToPath(new URL("writes-until-killed.ts", import.meta.url));
const ROUNDS = 20;

/** Runs the child until it has said `lines` lines, kills it, and returns the numbers it said of each thing. */
async function killAfter(
  lines: number,
  stateDir: string,
  from: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const child = Bun.spawn([process.execPath, CHILD, stateDir, String(from)], {
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
  const whole = said
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" "));
  const grouped = Map.groupBy(whole, ([what = ""]) => what);
  return new Map(Array.from(grouped, ([what, lines]) => [what, lines.map(([, n]) => Number(n))]));
}

test("kill -9 at any moment loses nothing that was acknowledged", async () => {
  const stateDir = newDirectory();
  const removed: number[] = [];
  const answered: number[] = [];
  let next = 1;
  let session = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const acknowledged = await killAfter(1 + round * 3, stateDir, next);
    using store = openStore(stateDir);
    expect(store.recovered).toBeUndefined();
    expect(store.documents.repairs.filter(({ type }) => type === "Damaged")).toEqual([]);

    const generation = store.documents.get("mqtt:node")?.generation ?? 0;
    const accepted = acknowledged.get("document")?.at(-1) ?? next - 1;
    expect([accepted, accepted + 1]).toContain(generation);

    removed.push(...(acknowledged.get("removal") ?? []));
    const underWay = store.removals.all().map(({ uid }) => uid);
    expect(removed.filter((n) => !underWay.includes(`uid-${n}`))).toEqual([]);

    const rows = store.outbox.nextBatch(2_000);
    const waiting = rows.map(({ payload }) => new TextDecoder().decode(payload)).join();
    const put = acknowledged.get("put")?.at(-1);
    if (put !== undefined) expect(waiting).toContain(`payload ${put}`);

    answered.push(...(acknowledged.get("response") ?? []));
    const answers = new Set(
      rows.flatMap(({ kind, payload }) =>
        kind === "response" ? [new TextDecoder().decode(payload)] : [],
      ),
    );
    expect(answered.filter((n) => !answers.has(`answer ${n}`))).toEqual([]);

    const reached = acknowledged.get("session")?.at(-1) ?? session;
    session = store.incarnation.nextSession();
    expect(session).toBeGreaterThan(reached);
    next = generation + 1;
  }
  expect(removed.length).toBeGreaterThan(50);
}, 60_000);
