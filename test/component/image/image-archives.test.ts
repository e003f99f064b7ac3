import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { ImageSchema } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { ArchiveRecord } from "../../../src/store/archive-records.ts";
import type { DirectoryHint, DirectoryWatch } from "../../../src/host/files.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { ImageArchives } from "../../../src/image/archive/image-archives.ts";
import { parseImageReference } from "../../../src/image/image-reference.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeImageStore } from "../../fakes/fake-image-store.ts";
import { AMD64, dockerEntries, layerOf } from "../../harness/image-archives.ts";
import { tar } from "../../harness/tar.ts";

const IMAGE = create(ImageSchema, { id: "sha256:1" });
const HOUR_MS = 3_600_000;

let root: string;
let directory: string;
let clock: VirtualClock;
let store: FakeImageStore;
let records: Map<string, ArchiveRecord>;
let writes: number;
let reads: string[];
let lines: string[];
let imported: string[];
let brought: (readonly [id: string, name: string])[];
let onStatus: () => void;
let hint: (hint: DirectoryHint) => void;
let stop: AbortController;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "archives-"));
  directory = join(root, "images");
  mkdirSync(directory);
  clock = new VirtualClock();
  store = new FakeImageStore();
  records = new Map();
  [writes, reads, lines, imported, brought] = [0, [], [], [], []];
  onStatus = () => undefined;
  stop = new AbortController();
});

afterEach(() => {
  stop.abort();
  rmSync(root, { recursive: true });
});

/** An agent's life; `version` of the agent. */
function start(version = "1.0.0", others: readonly string[] = []): ImageArchives {
  const files = realFiles();
  const watch = (_path: string, onHint: (one: DirectoryHint) => void): DirectoryWatch => {
    hint = onHint;
    return { poll: () => undefined, [Symbol.dispose]: () => undefined };
  };
  const archives = new ImageArchives({
    edges: {
      clock,
      random: { next: () => 0.5, hex: () => "00" },
      log: createLogger({ clock, level: "info", write: (line) => void lines.push(line) }),
      files: { ...files, watch },
      cri: {
        imageStatus: async () => {
          onStatus();
          return IMAGE;
        },
      },
      machine: { architecture: "amd64" },
      archives: {
        store,
        async *read(path) {
          reads.push(path.startsWith(directory) ? path.slice(directory.length + 1) : path);
          yield readFileSync(path);
        },
      },
      store: {
        archives: {
          load: () => records,
          put: (file, record) => {
            writes += 1;
            records = new Map([...records, [file, record]]);
          },
          remove: (file) => {
            writes += 1;
            records = new Map([...records].filter(([name]) => name !== file));
          },
        },
      },
    },
    config: { imageArchivePath: directory },
    others,
    version,
    brought: (image, name) => brought.push([image.id, name]),
    onImported: (names) => imported.push(...names.filter((name) => !name.includes("@"))),
  });
  void archives.run(stop.signal);
  return archives;
}

async function restart(version?: string): Promise<ImageArchives> {
  stop.abort();
  await clock.settle();
  stop = new AbortController();
  const archives = start(version);
  await clock.settle();
  return archives;
}

function archive(name: string, text = name): Uint8Array {
  return tar(dockerEntries([{ tags: [name], layers: [layerOf(text)], platform: AMD64 }]));
}

function put(file: string, bytes: Uint8Array): void {
  writeFileSync(join(directory, `.${file}`), bytes);
  renameSync(join(directory, `.${file}`), join(directory, file));
}

async function moveIn(file: string, bytes: Uint8Array): Promise<void> {
  put(file, bytes);
  hint({ type: "MovedIn", name: file });
  await clock.settle();
}

describe("the directory of image archives", () => {
  test("is imported at the start, by name, without what is no archive", async () => {
    for (const file of ["b.tar", "a.tar.gz.tar", "c.tar.bak", ".d.tar", "README"])
      put(file, archive(`local/${file.slice(0, 1)}:1`));
    mkdirSync(join(directory, "e.tar"));
    start();
    await clock.settle();
    expect(reads).toEqual(["a.tar.gz.tar", "b.tar"]);
    expect(imported).toEqual(["docker.io/local/a:1", "docker.io/local/b:1"]);
  });

  test("brings images that are then known as this agent's, by their tags", async () => {
    put("a.tar", archive("local/a:1"));
    put("cut.tar", archive("local/cut:1").subarray(0, 600));
    start();
    await clock.settle();
    expect(brought).toEqual([[IMAGE.id, "docker.io/local/a:1"]]);
  });

  test("is read again if the agent ends before its images are known as this agent's", async () => {
    put("a.tar", archive("local/a:1"));
    let looks = 0;
    // CRI shows the tag, then the name by digest; the third look is for the record.
    onStatus = () => {
      looks += 1;
      if (looks !== 3) return;
      stop.abort();
      throw new Error("the process ends");
    };
    start();
    await clock.settle();
    expect([looks, records.size, brought]).toEqual([3, 0, []]);
    await restart();
    expect(reads).toEqual(["a.tar", "a.tar"]);
    expect(brought).toEqual([[IMAGE.id, "docker.io/local/a:1"]]);
    expect(records.get("a.tar")?.names).toContain("docker.io/local/a:1");
  });

  test("is not read again, and nothing is written, while nothing changes", async () => {
    put("a.tar", archive("local/a:1"));
    put("bad.tar", archive("local/bad:1").subarray(0, 600));
    start();
    await clock.settle();
    expect([reads, writes]).toEqual([["a.tar", "bad.tar"], 2]);
    await clock.advance(24 * HOUR_MS);
    await restart();
    await clock.advance(HOUR_MS);
    expect([reads, writes]).toEqual([["a.tar", "bad.tar"], 2]);
    expect(lines.filter((line) => line.includes("refused"))).toHaveLength(1);
  });

  test("is imported while the agent runs: at once what was moved in, later what is written in place", async () => {
    start();
    await clock.settle();
    await moveIn("a.tar", archive("local/a:1"));
    expect(imported).toEqual(["docker.io/local/a:1"]);
    const whole = archive("local/b:1");
    writeFileSync(join(directory, "b.tar"), whole.subarray(0, 1000));
    hint({ type: "Written", name: "b.tar" });
    await clock.advance(1_000);
    writeFileSync(join(directory, "b.tar"), whole);
    hint({ type: "Written", name: "b.tar" });
    await clock.advance(1_000);
    expect(reads).toEqual(["a.tar"]);
    await clock.advance(10_000);
    expect(reads).toEqual(["a.tar", "b.tar"]);
    await moveIn("a.tar", archive("local/a:2"));
    expect(imported).toEqual(["docker.io/local/a:1", "docker.io/local/b:1", "docker.io/local/a:2"]);
  });

  test("is found by a rescan when no hint comes", async () => {
    start();
    await clock.settle();
    put("a.tar", archive("local/a:1"));
    await clock.advance(120_000);
    expect(imported).toEqual(["docker.io/local/a:1"]);
  });

  test("keeps what is known while the directory is gone, and forgets deleted files", async () => {
    put("a.tar", archive("local/a:1"));
    const archives = start();
    await clock.settle();
    const known = archives.images();
    expect(known[0]).toEqual({ name: "docker.io/local/a:1", file: join(directory, "a.tar") });
    renameSync(directory, `${directory}.away`);
    await clock.advance(HOUR_MS);
    expect(archives.images()).toEqual(known);
    renameSync(`${directory}.away`, directory);
    rmSync(join(directory, "a.tar"));
    await clock.advance(HOUR_MS);
    expect([archives.images(), records.size]).toEqual([[], 0]);
  });

  test("is tried again with back-off while containerd fails, and a refused file by another version", async () => {
    put("a.tar", archive("local/a:1"));
    put("bad.tar", archive("local/bad:1").subarray(0, 600));
    store.fault = (call) => {
      if (call === "commit") throw new AgentError({ reason: "Unavailable", message: "full" });
    };
    start();
    await clock.advance(HOUR_MS);
    const tries = reads.filter((name) => name === "a.tar").length;
    expect(tries).toBeGreaterThan(10);
    expect(tries).toBeLessThan(25);
    store.fault = () => undefined;
    await clock.advance(300_000);
    expect(imported).toEqual(["docker.io/local/a:1"]);
    reads = [];
    await restart("1.0.1");
    expect(reads).toEqual(["bad.tar"]);
  });

  test("brings an image again that was removed from containerd", async () => {
    put("a.tar", archive("local/a:1"));
    start();
    await clock.settle();
    store.images.clear();
    store.collect();
    await restart();
    expect([reads, [...store.images.keys()][0]]).toEqual([
      ["a.tar", "a.tar"],
      "docker.io/local/a:1",
    ]);
  });
});

describe("bring", () => {
  const wanted = (name: string) => parseImageReference(name);

  test("waits for archives that are not read yet, and no longer than for the right one", async () => {
    for (const name of ["a", "b", "c"]) put(`${name}.tar`, archive(`local/${name}:1`));
    const archives = start();
    const order: string[] = [];
    const asked = ["local/b:1", "local/none:1"].map(async (name) => {
      const came = await archives.bring(wanted(name), stop.signal);
      order.push(`${name} ${came} after ${reads.length}`);
    });
    await Promise.all(asked);
    expect(order[0]).toMatch(/^local\/b:1 true after [23]$/);
    expect(order[1]).toBe("local/none:1 false after 3");
    expect(await archives.bring(wanted("local/none:1"), stop.signal)).toBe(false);
  });

  test("finds an image by its digest, whatever the tag beside it", async () => {
    put("a.tar", archive("local/a:1"));
    const archives = start();
    await clock.settle();
    const digest = archives
      .images()
      .find(({ name }) => name.includes("@"))
      ?.name.split("@")[1];
    store.images.clear();
    expect(await archives.bring(wanted(`local/a:9@${digest}`), stop.signal)).toBe(true);
    expect(reads).toEqual(["a.tar", "a.tar"]);
  });

  test("ends with its signal", async () => {
    put("a.tar", archive("local/a:1"));
    store.fault = () => undefined;
    const archives = start();
    const own = new AbortController();
    const asked = archives.bring(wanted("local/none:1"), own.signal);
    own.abort();
    expect(await asked).toBe(false);
  });
});

describe("an archive outside of the directory, as of a card", () => {
  const card = (): string => join(root, "card.tar");
  const begin = async (): Promise<void> => {
    stop.abort();
    await clock.settle();
    stop = new AbortController();
    start("1.0.0", [card()]);
    await clock.settle();
  };

  test("is imported from where it is, also without the directory", async () => {
    rmSync(directory, { recursive: true });
    writeFileSync(card(), archive("local/card:1"));
    await begin();
    expect([reads, imported]).toEqual([[card()], ["docker.io/local/card:1"]]);
  });

  test("is not read again after a boot that gives it another inode, as FAT does", async () => {
    writeFileSync(card(), archive("local/card:1"));
    utimesSync(card(), 1_000, 1_000);
    put("a.tar", archive("local/a:1"));
    await begin();
    rmSync(card());
    writeFileSync(card(), archive("local/card:1"));
    utimesSync(card(), 1_000, 1_000);
    await begin();
    expect(reads).toEqual([card(), "a.tar"]);
  });

  test("keeps its record while the card is out", async () => {
    writeFileSync(card(), archive("local/card:1"));
    put("a.tar", archive("local/a:1"));
    await begin();
    rmSync(card());
    rmSync(join(directory, "a.tar"));
    await clock.advance(HOUR_MS);
    expect([...records.keys()]).toEqual([card()]);
  });
});
