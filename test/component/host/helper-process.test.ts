// The places of helper processes: calls that hang take none of those of others.

import { expect, test } from "bun:test";
import {
  helperProcesses,
  KILLED_MS,
  SILENT_MS,
  type HelperProcess,
} from "../../../src/host/helper-process.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const NEVER = new AbortController().signal;

/** Processes that answer where a server is there; where it is gone they hang, and no signal ends them. */
function aNode(gone: readonly string[]) {
  const clock = new VirtualClock();
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const start = (mountPoint: string): HelperProcess => {
    started.push(mountPoint);
    const hangs = gone.includes(mountPoint);
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    const stdout = new ReadableStream<Uint8Array>({
      start(stream) {
        if (hangs) return;
        stream.enqueue(new TextEncoder().encode("answer"));
        stream.close();
      },
    });
    if (hangs) ends.push(resolve);
    else resolve();
    return { stdout, exited, kill: () => undefined, unref: () => undefined };
  };
  const run = helperProcesses({ clock, start });
  const ask = (mountPoint: string, isOfFile: boolean, signal = NEVER): Promise<string> =>
    run(mountPoint, { isOfFile, mountPoint }, signal).catch((error: unknown) =>
      error instanceof Error ? error.message : "no error",
    );
  /** Until every call that runs is killed and held by the kernel. */
  const hang = async (): Promise<void> => {
    await clock.settle();
    await clock.advance(SILENT_MS);
    await clock.settle();
    await clock.advance(KILLED_MS);
    await clock.settle();
  };
  return { clock, started, ends, ask, hang };
}

test("calls of documents that hang take no place of files", async () => {
  const node = aNode(["/a", "/b"]);
  const hung = ["/a", "/a", "/b", "/b"].map((point) => node.ask(point, false));
  expect(await node.ask("/healthy", true)).toBe("answer");
  await node.hang();
  expect(await Promise.all(hung)).toEqual(hung.map(() => "no answer within 10 s"));
  const refused = "4 earlier calls still hang in the kernel";
  expect(await node.ask("/healthy", false)).toBe(refused);
  expect(await node.ask("/healthy", true)).toBe("answer");
  for (const end of node.ends) end();
  await node.clock.settle();
  expect(await node.ask("/healthy", false)).toBe("answer");
});

test("one server that is gone takes two places of its kind", async () => {
  const node = aNode(["/a"]);
  const hung = Array.from({ length: 6 }, () => node.ask("/a", false));
  expect(await node.ask("/healthy", false)).toBe("answer");
  await node.hang();
  const refused = "2 earlier calls still hang in the kernel";
  const silent = "no answer within 10 s";
  expect(await Promise.all(hung)).toEqual([silent, silent, refused, refused, refused, refused]);
  expect(node.started.filter((point) => point === "/a")).toHaveLength(2);
  expect(await node.ask("/healthy", false)).toBe("answer");
});

test("a call that waits for a place is given up with its pod", async () => {
  const node = aNode(["/a"]);
  const hung = [node.ask("/a", false), node.ask("/a", false)];
  const pod = new AbortController();
  const waiting = node.ask("/a", false, pod.signal);
  pod.abort(new Error("the pod is gone"));
  expect(await waiting).toBe("the pod is gone");
  await node.hang();
  await Promise.all(hung);
  expect(node.started).toHaveLength(2);
});
