import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";

import { isWarning } from "../../../src/api/pod/desired-pod.ts";
import { ManifestDirectory, RESCAN, manifest } from "./manifest-directory.ts";

const READY = { ready: true, rejected: [] };

describe("reading", () => {
  test("an empty directory speaks at once", async () => {
    using on = new ManifestDirectory();
    await on.start();
    expect(on.now()).toEqual({ ...READY, pods: [] });
    await on.stop();
  });

  test("a file renamed into place is read at once, once", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:1"] });
    const snapshots = on.snapshots.length;
    await on.clock.advance(5 * RESCAN);
    expect([on.reads, on.snapshots.length, on.store.saved.length]).toEqual([
      ["web.yaml"],
      snapshots,
      1,
    ]);
    await on.stop();
  });

  test("a file written in slow pieces is read only when it is whole", async () => {
    using on = new ManifestDirectory();
    await on.start();
    const text = manifest("web", "busybox:1.36");
    const size = Math.ceil(text.length / 10);
    writeFileSync(on.path("web.yaml"), "");
    await on.hint({ type: "Created", name: "web.yaml" });
    for (let from = 0; from < text.length; from += size) {
      await on.append("web.yaml", text.slice(from, from + size));
      await on.clock.advance(240);
    }
    expect(on.now().pods).toEqual([]);
    await on.clock.advance(2000);
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:1.36"] });
    expect(on.reads).toEqual(["web.yaml"]);
    await on.stop();
  });

  test("without any hint the rescan finds files, changes and deletions", async () => {
    using on = new ManifestDirectory();
    await on.start();
    writeFileSync(on.path("web.yaml"), manifest("web"));
    await on.clock.advance(RESCAN);
    expect(on.now().pods).toEqual(["web busybox:1"]);
    writeFileSync(on.path("web.yaml"), manifest("web", "busybox:12"));
    await on.clock.advance(RESCAN);
    expect(on.now().pods).toEqual(["web busybox:12"]);
    rmSync(on.path("web.yaml"));
    await on.clock.advance(RESCAN);
    expect(on.now().pods).toEqual([]);
    await on.stop();
  });

  test("only yaml, yml and json count; hidden files and backups never do", async () => {
    using on = new ManifestDirectory();
    for (const name of [
      "a.yaml",
      "b.yml",
      "c.json",
      ".d.yaml",
      "e.yaml.bak",
      "f.yaml~",
      "g.txt",
      ".yaml",
    ])
      writeFileSync(on.path(name), manifest(`pod-${name.replaceAll(/\W/g, "")}`));
    await on.start();
    await on.clock.advance(250);
    expect(on.now()).toEqual({
      ...READY,
      pods: ["pod-ayaml busybox:1", "pod-byml busybox:1", "pod-cjson busybox:1"],
    });
    await on.stop();
  });

  test("a burst of renames is one or few snapshots with every pod", async () => {
    using on = new ManifestDirectory();
    await on.start();
    for (let i = 10; i < 60; i++) {
      writeFileSync(`${on.root}/t`, manifest(`p${i}`));
      renameSync(`${on.root}/t`, on.path(`p${i}.yaml`));
    }
    for (let i = 10; i < 60; i++) void on.hint({ type: "MovedIn", name: `p${i}.yaml` });
    await on.clock.advance(6);
    expect(on.now().pods).toHaveLength(50);
    expect(on.snapshots.length).toBeLessThanOrEqual(3);
    await on.stop();
  });
});

describe("the log of rejections", () => {
  const lines = (on: ManifestDirectory): readonly string[] =>
    on.log
      .filter((line) => line.includes("manifest not applied as written"))
      .map((line) => /bad-\d/.exec(line)?.[0] ?? line);

  /** By then the logger has forgotten that it has written the same line. */
  const QUIET = 61_000;

  test("has each once, however many files follow", async () => {
    using on = new ManifestDirectory();
    await on.start();
    for (let n = 0; n < 4; n += 1) {
      await on.move(`bad-${n}.yaml`, manifest("", "busybox:1"));
      await on.clock.advance(QUIET);
    }
    await on.move("web.yaml", manifest("web"));
    expect(on.now().rejected).toHaveLength(4);
    expect(lines(on)).toEqual(["bad-0", "bad-1", "bad-2", "bad-3"]);
    await on.stop();
  });

  test("has it again when it is another one, or has come back", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("bad-0.yaml", manifest("", "busybox:1"));
    await on.move("bad-0.yaml", `# moved down\n${manifest("", "busybox:1")}`);
    expect(lines(on)).toHaveLength(2);
    await on.move("bad-0.yaml", manifest("web"));
    await on.clock.advance(QUIET);
    await on.move("bad-0.yaml", manifest("", "busybox:1"));
    expect(lines(on)).toHaveLength(3);
    await on.stop();
  });
});

describe("more files than are read at once", () => {
  const MANY = 200;
  const names = Array.from({ length: MANY }, (_, index) => `p${String(index).padStart(3, "0")}`);

  /** All at once, as one `mv * manifests/`. */
  async function moveIn(on: ManifestDirectory, pods: readonly string[]): Promise<void> {
    for (const name of pods) {
      writeFileSync(`${on.root}/t`, manifest(name));
      renameSync(`${on.root}/t`, on.path(`${name}.yaml`));
    }
    await on.hint(...pods.map((name) => ({ type: "MovedIn" as const, name: `${name}.yaml` })));
  }

  test("the first pods are wanted before the rest is read, each file is read once", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await moveIn(on, names);
    const [, first] = on.snapshots;
    expect(first?.pods.map(({ pod }) => pod.metadata.name)).toEqual(names.slice(0, 64));
    await on.clock.advance(6);
    expect(on.now().pods).toHaveLength(MANY);
    expect(on.reads).toEqual(names.map((name) => `${name}.yaml`));
    expect(on.snapshots.length).toBeLessThanOrEqual(6);
    await on.stop();
  });

  test("are listed only half of the time, however many hints arrive", async () => {
    using on = new ManifestDirectory();
    on.listingMs = 25;
    await on.start();
    const before = on.lists;
    for (let hint = 0; hint < 500; hint += 1) {
      await on.hint({ type: "Unknown" });
      await on.clock.advance(1);
    }
    expect(on.lists - before).toBeLessThanOrEqual(25);
    await on.stop();
  });

  test("large ones are fewer at once", async () => {
    using on = new ManifestDirectory();
    await on.start();
    for (const name of names.slice(0, 8))
      writeFileSync(on.path(`${name}.yaml`), `${manifest(name)}#${"x".repeat(400_000)}\n`);
    await on.hint(
      ...names.slice(0, 8).map((name) => ({ type: "MovedIn" as const, name: `${name}.yaml` })),
    );
    expect(on.snapshots[1]?.pods).toHaveLength(3);
    await on.clock.advance(6);
    expect(on.now().pods).toHaveLength(8);
    await on.stop();
  });

  test("after a restart nothing is settled before all are read, and what is unchanged does not wait", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await moveIn(on, names);
    await on.clock.advance(6);
    await on.stop();
    await on.start();
    await on.clock.advance(6);
    expect(on.now()).toMatchObject({ ready: true, pods: { length: MANY } });
    expect(on.reads).toHaveLength(MANY);
    await on.stop();
  });

  test("a pod that moves to a file that is read later goes on", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await moveIn(on, names);
    await on.clock.advance(6);
    const before = on.snapshots.length;
    const swapped = names.toReversed();
    for (const [index, name] of swapped.entries()) {
      writeFileSync(`${on.root}/t`, manifest(name));
      renameSync(`${on.root}/t`, on.path(`${names[index]}.yaml`));
    }
    await on.hint(...names.map((name) => ({ type: "MovedIn" as const, name: `${name}.yaml` })));
    await on.clock.advance(6);
    const since = on.snapshots.slice(before);
    expect(since.map(({ pods }) => pods.length)).toEqual(since.map(() => MANY));
    expect(since.length).toBeGreaterThan(0);
    await on.stop();
  });
});

describe("last good", () => {
  const BROKEN: Readonly<Record<string, readonly [text: string | Uint8Array, rejected: string]>> = {
    "a syntax error": ["spec: [", "web.yaml Syntax"],
    "an empty file": ["", "web.yaml Empty"],
    "a file of blanks and comments": ["  \n# gone?\n", "web.yaml Empty"],
    "a binary file": [new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 0xff]), "web.yaml Syntax"],
    "text that is not YAML's idea of a pod": ["hello", "web.yaml Invalid"],
    "an unknown field": [
      `${manifest("web")}      imagePullpolicy: Never\n`,
      "web.yaml UnknownField spec.containers[0].imagePullpolicy",
    ],
    "a misspelt name": [manifest("Web"), "web.yaml Invalid metadata.name"],
    "a misspelt kind": [manifest("web").replace("Pod", "Podd"), "web.yaml Invalid kind"],
    "an invalid edit of a renamed pod": [
      manifest("web2", '""'),
      "web.yaml Required spec.containers[0].image",
    ],
    "a YAML bomb": [
      `a: &a [${"x,".repeat(1000)}]\nb: &b [${"*a,".repeat(1000)}]`,
      "web.yaml Syntax",
    ],
    "ten megabytes": ["#".repeat(10_000_000), "web.yaml TooLarge"],
  };
  test.each(Object.keys(BROKEN))("%s keeps the pod running and is visible", async (sentence) => {
    const [content, rejected] = BROKEN[sentence] ?? ["", ""];
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    const saved = on.store.saved.length;
    writeFileSync(on.path("web.yaml"), content);
    await on.clock.advance(RESCAN);
    expect(on.now()).toEqual({ ready: true, pods: ["web busybox:1"], rejected: [rejected] });
    expect(on.store.saved).toHaveLength(saved);
    await on.move("web.yaml", manifest("web", "busybox:2"));
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:2"] });
    await on.stop();
  });

  test.each(["a FIFO", "a symlink loop", "a symlink to a manifest", "a directory"])(
    "%s in place of the file keeps the pod running and is visible",
    async (what) => {
      using on = new ManifestDirectory();
      await on.start();
      await on.move("web.yaml", manifest("web"));
      writeFileSync(`${on.root}/other`, manifest("other"));
      rmSync(on.path("web.yaml"));
      if (what === "a FIFO") execFileSync("mkfifo", [on.path("web.yaml")]);
      else if (what === "a directory") mkdirSync(on.path("web.yaml"));
      else symlinkSync(what === "a symlink loop" ? "web.yaml" : "../other", on.path("web.yaml"));
      await on.hint({ type: "Deleted", name: "web.yaml" }, { type: "Created", name: "web.yaml" });
      await on.clock.advance(RESCAN);
      expect(on.now()).toEqual({
        ready: true,
        pods: ["web busybox:1"],
        rejected: ["web.yaml NotAFile"],
      });
      await on.stop();
    },
  );

  test("is kept for each object: its neighbours change, a removed document removes its pod", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("all.yaml", [manifest("a"), manifest("b"), manifest("c")].join("---\n"));
    await on.move("all.yaml", [manifest("a", "busybox:2"), manifest("b", '""')].join("---\n"));
    expect(on.now()).toEqual({
      ready: true,
      pods: ["a busybox:2", "b busybox:1"],
      rejected: ["all.yaml Required spec.containers[0].image"],
    });
    await on.stop();
  });

  const SERVICE = "apiVersion: v1\nkind: Service\nmetadata: { name: web }\n";
  const SPROCKET = "apiVersion: example.com/v1\nkind: Sprocket\nmetadata: { name: web }\n";

  test("a kind that one node does not run stops nothing beside it", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", `${SERVICE}---\n${manifest("web")}---\n${SPROCKET}`);
    const rejected = ["web.yaml Ignored kind", "web.yaml Ignored kind"];
    expect(on.now()).toEqual({ ready: true, pods: ["web busybox:1"], rejected });
    await on.stop();
  });

  test("a file with nothing but such kinds declares no pod: what it declared before stops", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    await on.move("web.yaml", SERVICE);
    expect(on.now()).toEqual({ ready: true, pods: [], rejected: ["web.yaml Ignored kind"] });
    await on.stop();
  });

  test("a pod that is given to another node stops", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    await on.move("web.yaml", `${manifest("web")}  nodeName: pi-2\n`);
    expect(on.now()).toEqual({
      ready: true,
      pods: [],
      rejected: ["web.yaml NotForThisNode spec.nodeName"],
    });
    await on.stop();
  });
});

describe("another node", () => {
  test("a pod that moves away stops, also beside a document that cannot be told", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("all.yaml", `${manifest("a")}---\n${manifest("b")}`);
    await on.move("all.yaml", `${manifest("a")}  nodeName: pi-2\n---\n${manifest("B")}`);
    expect(on.now()).toEqual({
      ready: true,
      pods: ["b busybox:1"],
      rejected: ["all.yaml Invalid metadata.name", "all.yaml NotForThisNode spec.nodeName"],
    });
    await on.stop();
  });
});

describe("duplicates", () => {
  test("the first file by path wins, both places are named, and the other takes over", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("b.yaml", manifest("web", "busybox:2"));
    await on.move("a.yaml", manifest("web", "busybox:1"));
    expect(on.now()).toEqual({
      ready: true,
      pods: ["web busybox:1"],
      rejected: ["b.yaml DuplicatePod metadata.name"],
    });
    const message = on.snapshots.at(-1)?.rejected[0]?.message ?? "";
    expect([message.includes("a.yaml#0"), message.includes("b.yaml#0")]).toEqual([true, true]);
    await on.remove("a.yaml");
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:2"] });
    await on.stop();
  });

  test("inside one file the first document wins", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", `${manifest("web")}---\n${manifest("web", "busybox:2")}`);
    expect(on.now()).toEqual({
      ready: true,
      pods: ["web busybox:1"],
      rejected: ["a.yaml DuplicatePod metadata.name"],
    });
    await on.stop();
  });
});

describe("deleting", () => {
  test("a deleted file stops its pod", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    await on.remove("web.yaml");
    expect(on.now()).toEqual({ ...READY, pods: [] });
    expect(on.store.keys()).toEqual([]);
    await on.stop();
  });

  test("a file that is away for a moment is not deleted", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    const before = on.snapshots.length;
    renameSync(on.path("web.yaml"), on.path("web.yaml~"));
    await on.hint({ type: "MovedOut", name: "web.yaml" });
    await on.clock.advance(50);
    renameSync(on.path("web.yaml~"), on.path("web.yaml"));
    await on.hint({ type: "MovedIn", name: "web.yaml" });
    await on.clock.advance(RESCAN);
    expect(on.snapshots.slice(before).every(({ pods }) => pods.length === 1)).toBe(true);
    await on.stop();
  });

  test("a file removed and added again as it was, at once, ends a life and begins one", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    const before = on.snapshots.length;
    rmSync(on.path("web.yaml"));
    await on.hint({ type: "Deleted", name: "web.yaml" });
    await on.clock.advance(5);
    await on.move("web.yaml", manifest("web"));
    await on.clock.advance(RESCAN);
    expect(on.snapshots.slice(before).map(({ pods }) => pods.length)).toEqual([0, 1]);
    await on.stop();
  });

  test("a file removed and added again with a new comment is an edit", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    const before = on.snapshots.length;
    rmSync(on.path("web.yaml"));
    await on.hint({ type: "Deleted", name: "web.yaml" });
    await on.clock.advance(5);
    await on.move("web.yaml", `# why\n${manifest("web")}`);
    await on.clock.advance(RESCAN);
    expect(on.snapshots.slice(before).every(({ pods }) => pods.length === 1)).toBe(true);
    await on.stop();
  });

  test("a file renamed over itself as it was is no order at all", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    const before = on.snapshots.length;
    await on.move("web.yaml", manifest("web"));
    await on.clock.advance(RESCAN);
    expect(on.snapshots.slice(before).every(({ pods }) => pods.length === 1)).toBe(true);
    await on.stop();
  });

  test("a deleted directory stops nothing, also when it comes back empty", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    rmSync(on.directory, { recursive: true });
    await on.hint({ type: "Deleted", name: "web.yaml" });
    expect(on.now()).toEqual({
      ready: true,
      pods: ["web busybox:1"],
      rejected: ["DirectoryError"],
    });
    mkdirSync(on.directory);
    await on.clock.advance(3 * RESCAN);
    expect(on.now()).toEqual({
      ready: true,
      pods: ["web busybox:1"],
      rejected: ["web.yaml DirectoryReplaced"],
    });
    await on.move("new.yaml", manifest("new"));
    expect(on.now().pods).toEqual(["new busybox:1", "web busybox:1"]);
    await on.move("web.yaml", manifest("web"));
    await on.remove("web.yaml");
    expect(on.now()).toEqual({ ...READY, pods: ["new busybox:1"] });
    await on.stop();
  });

  test("a directory whose file system does not answer is not touched and stops nothing", async () => {
    using on = new ManifestDirectory();
    on.silence = "";
    await on.start();
    await on.move("web.yaml", manifest("web"));
    on.silence = "no answer within 10 s";
    await on.clock.advance(RESCAN);
    expect(on.now().pods).toEqual(["web busybox:1"]);
    expect(on.snapshots.at(-1)?.rejected).toMatchObject([
      {
        code: "DirectoryError",
        message: `${on.root} (nfs4) does not answer (no answer within 10 s): check the server or the program that serves it`,
      },
    ]);
    on.silence = "";
    await on.move("more.yaml", manifest("more"));
    await on.clock.advance(RESCAN);
    expect(on.now()).toEqual({ ...READY, pods: ["more busybox:1", "web busybox:1"] });
    await on.stop();
  });

  test("a directory that goes while a file settles is waited for without haste", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.append("web.yaml", manifest("web"));
    rmSync(on.directory, { recursive: true });
    await on.clock.advance(RESCAN);
    expect(on.now().rejected).toEqual(["DirectoryError"]);
    mkdirSync(on.directory);
    await on.move("web.yaml", manifest("web"));
    await on.clock.advance(RESCAN);
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:1"] });
    await on.stop();
  });

  test("a directory deleted and recreated behind its back, under the same inode, stops nothing", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    rmSync(on.directory, { recursive: true });
    mkdirSync(on.directory);
    await on.hint({ type: "Deleted", name: "web.yaml" });
    await on.hint({ type: "SelfGone" });
    await on.clock.advance(2 * RESCAN);
    expect(on.now().pods).toEqual(["web busybox:1"]);
    await on.move("new.yaml", manifest("new"));
    expect(on.now().pods).toEqual(["new busybox:1", "web busybox:1"]);
    await on.stop();
  });
});

describe("after a restart", () => {
  test("unchanged files speak at once, write nothing and keep their uid", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    const uid = on.snapshots.at(-1)?.pods[0]?.uid;
    await on.stop();
    await on.start();
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:1"] });
    expect([on.snapshots.at(-1)?.pods[0]?.uid, on.store.saved.length]).toEqual([uid, 1]);
    await on.stop();
  });

  test("a broken file runs its last good copy", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    await on.stop();
    writeFileSync(on.path("web.yaml"), "spec: [");
    await on.start();
    await on.clock.advance(250);
    expect(on.now()).toEqual({
      ready: true,
      pods: ["web busybox:1"],
      rejected: ["web.yaml Syntax"],
    });
    await on.stop();
  });

  test("a broken file without a last good copy keeps the files from speaking until it is repaired", async () => {
    using on = new ManifestDirectory();
    writeFileSync(on.path("web.yaml"), "spec: [");
    await on.start();
    await on.move("other.yaml", manifest("other"));
    await on.clock.advance(RESCAN);
    expect(on.now()).toEqual({
      ready: false,
      pods: ["other busybox:1"],
      rejected: ["web.yaml Syntax"],
    });
    await on.move("web.yaml", manifest("web"));
    expect(on.now()).toMatchObject(READY);
    truncateSync(on.path("web.yaml"), 0);
    await on.clock.advance(RESCAN);
    expect(on.now().ready).toBe(true);
    await on.stop();
  });

  test("a pod that was withdrawn is explained after a restart too, until a file declares it again", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("gone.yaml", manifest("gone"));
    await on.stop();
    const waits = (): readonly string[] =>
      on.now().rejected.filter((one) => one.endsWith("RemovalsWait"));
    writeFileSync(on.path("a.yaml"), "spec: [");
    await on.start();
    await on.clock.advance(RESCAN);
    expect(waits()).toEqual([]);
    await on.remove("gone.yaml");
    for (const _ of ["the same start", "the next"]) {
      expect([on.now().ready, waits()]).toEqual([false, ["a.yaml RemovalsWait"]]);
      await on.stop();
      await on.start();
      await on.clock.advance(RESCAN);
    }
    await on.move("back.yaml", manifest("gone"));
    expect([on.now().ready, waits()]).toEqual([false, []]);
    await on.remove("back.yaml");
    await on.remove("a.yaml");
    expect(on.now()).toEqual({ ready: true, pods: [], rejected: [] });
    await on.stop();
    await on.start();
    await on.clock.advance(RESCAN);
    expect(on.now()).toEqual({ ready: true, pods: [], rejected: [] });
    await on.stop();
  });

  test("a deleted file whose pod runs on is explained by the files that hold it up", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("gone.yaml", manifest("gone"));
    await on.move("other.yaml", manifest("other"));
    await on.stop();
    for (const name of ["b.yaml", "a.yaml"]) writeFileSync(on.path(name), "spec: [");
    await on.start();
    await on.clock.advance(RESCAN);
    await on.remove("gone.yaml");
    expect(on.now()).toMatchObject({ ready: false, pods: ["other busybox:1"] });
    const why = on.snapshots.at(-1)?.rejected.filter(isWarning);
    expect(why).toMatchObject([{ ref: on.path("a.yaml"), code: "RemovalsWait" }]);
    expect(why?.[0]?.message).toEndWith(`make it valid, or delete it; so do ${on.path("b.yaml")}`);
    const [deletion, ...others] = on.log.filter((line) => line.includes(on.path("gone.yaml")));
    expect(others).toEqual([]);
    expect(JSON.parse(deletion ?? "")).toMatchObject({
      level: "warn",
      waitsFor: on.path("a.yaml"),
    });
    await on.remove("a.yaml");
    expect(on.snapshots.at(-1)?.rejected.filter(isWarning)).toMatchObject([
      { ref: on.path("b.yaml") },
    ]);
    await on.move("b.yaml", manifest("b"));
    expect(on.now()).toEqual({ ...READY, pods: ["b busybox:1", "other busybox:1"] });
    await on.remove("other.yaml");
    expect(on.log.at(-1)).toContain('"msg":"manifest deleted"');
    await on.stop();
  });

  test("a file that may be half-written keeps the files from speaking until it rests", async () => {
    using on = new ManifestDirectory();
    writeFileSync(on.path("web.yaml"), manifest("web"));
    await on.start();
    for (let i = 0; i < 6; i++) {
      await on.append("web.yaml", "#");
      await on.clock.advance(200);
    }
    expect(on.now()).toEqual({ ready: false, pods: [], rejected: [] });
    await on.clock.advance(2000);
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:1"] });
    await on.stop();
  });

  test("a file deleted while the agent was away stops its pod", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    await on.stop();
    rmSync(on.path("web.yaml"));
    await on.start();
    await on.clock.advance(100);
    expect(on.snapshots).toHaveLength(1);
    expect(on.now()).toEqual({ ...READY, pods: [] });
    await on.stop();
  });

  test("a file edited while the agent was away never runs as it was", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", manifest("a"));
    await on.move("web.yaml", manifest("web"));
    await on.stop();
    writeFileSync(on.path("web.yaml"), manifest("web", "busybox:2"));
    await on.start();
    await on.clock.advance(250);
    expect(on.snapshots).toHaveLength(1);
    expect(on.now()).toEqual({ ...READY, pods: ["a busybox:1", "web busybox:2"] });
    await on.stop();
  });

  test("without its directory the last good pods run and the files have not spoken", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    await on.stop();
    renameSync(on.directory, `${on.root}/away`);
    await on.start();
    expect(on.now()).toEqual({
      ready: false,
      pods: ["web busybox:1"],
      rejected: ["DirectoryError"],
    });
    renameSync(`${on.root}/away`, on.directory);
    await on.clock.advance(RESCAN);
    expect(on.now()).toEqual({ ...READY, pods: ["web busybox:1"] });
    await on.stop();
  });
});

describe("quiet", () => {
  test("a touched file is read again and changes nothing", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("web.yaml", manifest("web"));
    const digest = on.source?.digest();
    utimesSync(on.path("web.yaml"), 1, 1);
    await on.clock.advance(RESCAN);
    expect([on.reads.length, on.store.saved.length, on.source?.digest()]).toEqual([2, 1, digest]);
    await on.move("web.yaml", `${manifest("web")}# comment\n`);
    expect([on.store.saved.length, on.source?.digest() === digest]).toEqual([1, false]);
    await on.stop();
  });

  test("a checkpoint that could not be written is written with the next change", async () => {
    using on = new ManifestDirectory();
    await on.start();
    on.store.failing = true;
    await on.move("web.yaml", manifest("web"));
    expect(on.now().pods).toEqual(["web busybox:1"]);
    on.store.failing = false;
    await on.move("b.yaml", manifest("b"));
    expect(
      on.store
        .load()
        .copies.map(({ name }) => name)
        .toSorted(),
    ).toEqual(["b", "web"]);
    await on.stop();
  });
});
