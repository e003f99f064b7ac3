import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  writeFileSync,
  openSync,
  writeSync,
  closeSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { ContainerState, ContainerStatus } from "../../../src/api/v1/pod-status.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import type { PodEntry } from "../../../src/node/pod-list.ts";
import { LogCursor } from "../../../src/runtime/logs/log-cursor.ts";
import { isStreamed } from "../../../src/server/http/exchange.ts";
import { logStart } from "../../../src/server/logs/log-start.ts";
import { LogText } from "../../../src/server/logs/log-text.ts";
import { PodLogs } from "../../../src/server/logs/pod-logs.ts";
import { aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { RUNNING as STATUS } from "./pod-entry.ts";

const newDirectory = temporaryDirectories();
const files = realFiles();
const RUNNING: ContainerState = { running: { startedAt: "2026-11-21T08:00:00Z" } };
const T = "2026-11-21T08:00:00.000000001Z";

const CONTAINER = aPod().spec.containers[0]?.name ?? "";

const line = (text: string, tag = "F"): string => `${T} stdout ${tag} ${text}\n`;

/** A pod with one container, and the directory of its logs. */
class Stage {
  readonly clock = new VirtualClock();
  readonly #root = newDirectory();
  readonly directory: string;
  #state: ContainerState = RUNNING;
  #restarts = 0;
  readonly logs = new PodLogs({
    clock: this.clock,
    files,
    podLogsDir: this.#root,
    pods: () => [this.entry()],
  });

  constructor() {
    const { namespace, name, uid } = aPod().metadata;
    this.directory = join(this.#root, `${namespace}_${name}_${uid}`, CONTAINER);
    mkdirSync(this.directory, { recursive: true });
  }

  entry(): PodEntry {
    const pod = aPod();
    const status: ContainerStatus = {
      name: CONTAINER,
      state: this.#state,
      lastState: {},
      ready: true,
      started: true,
      restartCount: this.#restarts,
      image: "",
      imageID: "",
      containerID: "",
    };
    return {
      pod,
      status: { ...STATUS, containerStatuses: [status] },
      source: "file",
      sourceRef: "a#0",
      specHash: "0",
      nodeName: "pi-1",
    };
  }

  become(state: ContainerState, restarts = this.#restarts): void {
    this.#state = state;
    this.#restarts = restarts;
  }

  path(attempt = 0): string {
    return join(this.directory, `${attempt}.log`);
  }

  write(text: string, attempt = 0): void {
    appendFileSync(this.path(attempt), text);
  }

  read(query = ""): Reading {
    return new Reading(this, query);
  }
}

/** One client of a log. */
class Reading {
  readonly stop = new AbortController();
  readonly status: number;
  readonly refusal: string;
  readonly done: Promise<void>;
  text = "";
  isOver = false;

  constructor(stage: Stage, query: string) {
    const { namespace, name } = aPod().metadata;
    const reply = stage.logs.reply(new URLSearchParams(query), namespace, name);
    this.status = reply.status;
    this.refusal = isStreamed(reply) ? "" : reply.body;
    const write = (part: string | Uint8Array): Promise<void> => {
      this.text += typeof part === "string" ? part : Buffer.from(part).toString();
      return Promise.resolve();
    };
    this.done = isStreamed(reply)
      ? reply.write({ write }, this.stop.signal).then(() => void (this.isOver = true))
      : Promise.resolve();
  }
}

async function whole(stage: Stage, query = ""): Promise<string> {
  const reading = stage.read(query);
  await stage.clock.advance(100);
  await reading.done;
  return reading.text;
}

describe("a log", () => {
  test("is read to its end, from the file before the present one on", async () => {
    const stage = new Stage();
    writeFileSync(join(stage.directory, "0.log.20261121-080000"), line("first"));
    stage.write(line("second"));
    expect(await whole(stage)).toBe("first\nsecond\n");
    expect(await whole(stage, "tailLines=1")).toBe("second\n");
    expect(await whole(stage, "tailLines=2")).toBe("first\nsecond\n");
    expect(await whole(stage, "tailLines=0")).toBe("");
  });

  test("of the instance before is another file", async () => {
    const stage = new Stage();
    stage.write(line("one"), 0);
    stage.write(line("two"), 1);
    stage.become(RUNNING, 1);
    expect(await whole(stage)).toBe("two\n");
    expect(await whole(stage, "previous=true")).toBe("one\n");
    stage.become(RUNNING, 0);
    const refused = stage.read("previous=true");
    expect(refused.status).toBe(400);
    expect(refused.refusal).toContain("not found");
  });

  test("of a container that has not started is refused with its state", () => {
    const stage = new Stage();
    stage.become({ waiting: { reason: "ErrImagePull" } });
    const refused = stage.read();
    expect(refused.status).toBe(400);
    expect(refused.refusal).toContain("is waiting to start: ErrImagePull");
  });
});

describe("a log that is followed", () => {
  test("goes on over a rotation, and ends with the container", async () => {
    const stage = new Stage();
    stage.write(line("one"));
    const reading = stage.read("follow=true");
    await stage.clock.advance(2_000);
    stage.write(line("tw", "P"));
    renameSync(stage.path(), join(stage.directory, "0.log.20261121-080000"));
    await stage.clock.advance(2_000);
    stage.write(line("o"));
    await stage.clock.advance(4_000);
    expect([reading.text, reading.isOver]).toEqual(["one\ntwo\n", false]);
    stage.write(line("last"));
    stage.become({ terminated: { exitCode: 0, reason: "Completed", containerID: "" } });
    await stage.clock.advance(4_000);
    expect([reading.text, reading.isOver]).toEqual(["one\ntwo\nlast\n", true]);
  });

  test("ends when the container was restarted, and when the client leaves", async () => {
    const stage = new Stage();
    stage.write(line("one"));
    const [first, second] = [stage.read("follow=true"), stage.read("follow=true&tailLines=0")];
    await stage.clock.advance(1_000);
    second.stop.abort();
    await stage.clock.advance(2_000);
    expect([first.isOver, second.isOver, second.text]).toEqual([false, true, ""]);
    stage.become(RUNNING, 1);
    await stage.clock.advance(2_000);
    expect([first.isOver, first.text]).toEqual([true, "one\n"]);
  });

  test("begins before there is a file", async () => {
    const stage = new Stage();
    const reading = stage.read("follow=true");
    await stage.clock.advance(1_000);
    stage.write(line("hello"));
    await stage.clock.advance(2_000);
    expect(reading.text).toBe("hello\n");
    reading.stop.abort();
    await stage.clock.advance(2_000);
    expect(reading.isOver).toBe(true);
  });
});

describe("the last lines", () => {
  const LOG = "/logs/0.log";

  function tail(written: string, wanted: number): string {
    const directory = newDirectory();
    const path = join(directory, "0.log");
    writeFileSync(path, written);
    const at = logStart(files, path, wanted);
    const cursor = new LogCursor({ files, path, at, maxBytes: 1 << 20, isSkipping: false });
    const text = new LogText({
      withTimestamps: false,
      since: undefined,
      limitBytes: undefined,
      stream: undefined,
    });
    let shown = "";
    for (;;) {
      const { bytes } = cursor.read(true);
      if (bytes.length === 0) return shown;
      shown += Buffer.from(text.take(bytes)).toString();
    }
  }

  test(`of any log (${LOG}) are the last lines of its whole text`, () => {
    const part = fc.record({
      tag: fc.constantFrom("F", "F", "P"),
      size: fc.oneof(fc.nat(20), fc.constantFrom(65_450, 65_530, 130_000)),
    });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.nat(8), (parts, wanted) => {
        const marked = parts.map(({ tag, size }, index) => ({
          tag,
          text: `${index}:${"x".repeat(size)}`,
        }));
        const ended = [...marked, { tag: "F", text: "end" }];
        const written = ended.map(({ tag, text }) => line(text, tag)).join("");
        const lines = ended
          .map(({ tag, text }) => text + (tag === "F" ? "\n" : ""))
          .join("")
          .split("\n");
        const expected = wanted === 0 ? [] : lines.slice(0, -1).slice(-wanted);
        expect(tail(written, wanted)).toBe(expected.map((one) => `${one}\n`).join(""));
      }),
      { numRuns: 60 },
    );
  });

  test("of a log whose last line is not whole are whole", () => {
    expect(tail(`${line("a")}${line("b")}${T} stdout F c`, 1)).toBe("b\n");
  });

  test("of a large log are found by reading little of it", () => {
    const path = join(newDirectory(), "0.log");
    const descriptor = openSync(path, "w");
    // A file with a hole of a gigabyte before its last lines.
    writeSync(
      descriptor,
      Array.from({ length: 5000 }, (_, index) => line(String(index))).join(""),
      2 ** 30,
    );
    closeSync(descriptor);
    let read = 0;
    const counting = {
      ...files,
      info: files.info.bind(files),
      list: files.list.bind(files),
      readFrom: (from: string, offset: number, maxBytes: number) => {
        read += maxBytes;
        return files.readFrom(from, offset, maxBytes);
      },
    };
    const at = logStart(counting, path, 10);
    expect(read).toBeLessThanOrEqual(64 * 1024);
    const { size } = files.info(path) ?? { size: 0 };
    expect(size - (at?.offset ?? 0)).toBe(line("4990").length * 10);
  });
});
