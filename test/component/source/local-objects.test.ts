import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../store/open-store.ts";
import { ManifestDirectory, RESCAN, manifest, objectManifest } from "./manifest-directory.ts";

const config = (value: string, more = ""): string =>
  objectManifest(["ConfigMap", "web"], value, more);
const secret = (value: string, more = ""): string => objectManifest(["Secret", "web"], value, more);
const claim =
  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n";
const IMMUTABLE = "immutable: true\n";
const BROKEN = "dataa: {}\n";

describe("objects of manifest files", () => {
  test("are there beside the pods, follow an edit, and go with their file", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", [config("1"), manifest("web"), secret("2"), claim].join("---\n"));
    expect(on.now()).toEqual({ ready: true, pods: ["web busybox:1"], rejected: [] });
    expect(on.objects()).toEqual([
      "ConfigMap web a=1",
      "Secret web a=2",
      "PersistentVolumeClaim data",
    ]);
    const [first] = on.snapshots.at(-1)?.objects ?? [];
    expect(first).toMatchObject({ source: "file", sourceRef: `${on.path("a.yaml")}#0` });
    await on.move("a.yaml", config("3"));
    expect([on.now().pods, on.objects()]).toEqual([[], ["ConfigMap web a=3"]]);
    await on.remove("a.yaml");
    expect([on.objects(), on.store.keys()]).toEqual([[], []]);
    await on.stop();
  });

  test("keep their last good version while the file is broken, object by object", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", [config("1"), secret("1"), manifest("web")].join("---\n"));
    await on.move("a.yaml", [config("2"), secret("2", BROKEN), manifest("web")].join("---\n"));
    expect(on.objects()).toEqual(["ConfigMap web a=2", "Secret web a=1"]);
    expect(on.now()).toEqual({
      ready: true,
      pods: ["web busybox:1"],
      rejected: ["a.yaml UnknownField dataa"],
    });
    await on.move("a.yaml", "kind: [\n");
    expect(on.objects()).toEqual(["ConfigMap web a=2", "Secret web a=1"]);
    await on.move("a.yaml", config("3"));
    expect([on.objects(), on.now().rejected]).toEqual([["ConfigMap web a=3"], []]);
    await on.stop();
  });

  test("a broken object keeps nothing of another kind that was taken out", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", [config("1"), secret("1"), manifest("web")].join("---\n"));
    await on.move("a.yaml", objectManifest(["Secret", "renamed"], "1", BROKEN));
    expect([on.objects(), on.now().pods]).toEqual([["Secret web a=1"], []]);
    await on.stop();
  });

  test("an object whose kind is misspelt keeps everything that may be it", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", [config("1"), manifest("web")].join("---\n"));
    await on.move("a.yaml", config("2").replace("ConfigMap", "ConfigMop"));
    expect([on.objects(), on.now().pods]).toEqual([["ConfigMap web a=1"], ["web busybox:1"]]);
    await on.stop();
  });

  test("of one name: the first file by path wins, and both places are named", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("b.yaml", config("b"));
    expect(on.objects()).toEqual(["ConfigMap web a=b"]);
    await on.move("a.yaml", [config("a"), secret("a"), secret("again")].join("---\n"));
    expect(on.objects()).toEqual(["ConfigMap web a=a", "Secret web a=a"]);
    expect(on.now().rejected).toEqual([
      "a.yaml DuplicateObject metadata.name",
      "b.yaml DuplicateObject metadata.name",
    ]);
    const messages = on.snapshots.at(-1)?.rejected.map(({ message }) => message) ?? [];
    expect(messages[1]).toBe(
      `ConfigMap default/web is declared twice, in ${on.path("a.yaml")}#0 and in ${on.path("b.yaml")}#0; ${on.path("a.yaml")}#0 counts, the other is left out`,
    );
    await on.remove("a.yaml");
    expect([on.objects(), on.now().rejected]).toEqual([["ConfigMap web a=b"], []]);
    await on.stop();
  });

  test("stay when their directory goes", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", config("1"));
    rmSync(on.directory, { recursive: true });
    await on.hint({ type: "SelfGone" });
    await on.clock.advance(RESCAN);
    expect([on.objects(), on.now().rejected.length]).toEqual([["ConfigMap web a=1"], 1]);
    mkdirSync(on.directory);
    await on.clock.advance(RESCAN);
    expect(on.objects()).toEqual(["ConfigMap web a=1"]);
    await on.stop();
  });
});

describe("after a restart", () => {
  test("the last good objects count until the files are read, and an unchanged file is not written again", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", [config("1"), secret("1"), manifest("web")].join("---\n"));
    await on.stop();
    const saved = on.store.saved.length;
    await on.start();
    expect(on.objects()).toEqual(["ConfigMap web a=1", "Secret web a=1"]);
    await on.clock.advance(RESCAN);
    expect([on.objects().length, on.store.saved.length]).toEqual([2, saved]);
    await on.stop();
  });

  test("a file that broke meanwhile still has its last good objects", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", secret("1"));
    await on.stop();
    await on.move("a.yaml", secret("2", BROKEN));
    await on.start();
    await on.clock.advance(RESCAN);
    expect([on.objects(), on.now().ready]).toEqual([["Secret web a=1"], true]);
    await on.stop();
  });
});

describe("a Service", () => {
  const service = (app: string): string =>
    `apiVersion: v1\nkind: Service\nmetadata: {name: data}\nspec: {selector: {app: ${app}}}\n`;

  test("survives a restart with a broken file, follows an edit, and goes with its file", async () => {
    using on = new ManifestDirectory();
    using store = openStore(on.root);
    on.lastGood = store.lastGood;
    const selectors = (): readonly unknown[] =>
      (on.snapshots.at(-1)?.services ?? []).map(({ name, selector }) => [name, selector]);
    await on.start();
    await on.move("a.yaml", [manifest("web"), service("a"), service("twice")].join("---\n"));
    expect(selectors()).toEqual([["data", { app: "a" }]]);
    expect(on.now()).toMatchObject({ ready: true, pods: ["web busybox:1"] });
    expect(new Set(on.now().rejected)).toEqual(
      new Set(["a.yaml Ignored kind", "a.yaml Ignored metadata.name"]),
    );
    await on.stop();
    await on.move("a.yaml", "kind: [\n");
    await on.start();
    await on.clock.advance(RESCAN);
    expect(selectors()).toEqual([["data", { app: "a" }]]);
    expect(on.now()).toMatchObject({ ready: true, pods: ["web busybox:1"] });
    await on.move("a.yaml", [manifest("web"), service("b")].join("---\n"));
    expect(selectors()).toEqual([["data", { app: "b" }]]);
    await on.remove("a.yaml");
    expect([selectors(), store.lastGood.load()]).toEqual([[], { copies: [], lost: [] }]);
    await on.stop();
  });

  test("beside a pod that was never valid does not make its file one that holds no other pod", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", manifest("web"));
    await on.move("b.yaml", [service("a"), manifest("db").replace("spec", "spek")].join("---\n"));
    await on.stop();
    await on.start();
    await on.clock.advance(RESCAN);
    expect(on.snapshots.at(-1)?.services).toHaveLength(1);
    expect(on.now().ready).toBe(false);
    await on.stop();
  });
});

describe("an immutable object", () => {
  test.each([
    ["ConfigMap", config],
    ["Secret", secret],
  ] as const)("%s: an edit in place is refused in Kubernetes' words", async (kind, written) => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", written("1", IMMUTABLE));
    await on.move("a.yaml", written("2", IMMUTABLE));
    const refused = (): readonly (readonly [string, string])[] =>
      (on.snapshots.at(-1)?.rejected ?? []).map(({ path, message }) => [path, message]);
    const message = "Forbidden: field is immutable when `immutable` is set";
    expect([on.objects(), refused()]).toEqual([[`${kind} web a=1`], [["data", message]]]);
    await on.move("a.yaml", written("1"));
    expect([on.objects(), refused()]).toEqual([[`${kind} web a=1`], [["immutable", message]]]);
    await on.stop();
    await on.start();
    await on.clock.advance(RESCAN);
    expect([on.objects(), refused()]).toEqual([[`${kind} web a=1`], [["immutable", message]]]);
    // A comment or a label is no edit of the content.
    await on.move("a.yaml", `# note\n${written("1", IMMUTABLE)}`);
    expect(refused()).toEqual([]);
    await on.stop();
  });

  test("deleted and added again is a new one, also at once", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", config("1", IMMUTABLE));
    await on.remove("a.yaml");
    await on.move("a.yaml", config("2", IMMUTABLE));
    expect(on.objects()).toEqual(["ConfigMap web a=2"]);
    await on.hint({ type: "Deleted", name: "a.yaml" });
    await on.move("a.yaml", config("3", IMMUTABLE));
    expect([on.objects(), on.now().rejected]).toEqual([["ConfigMap web a=3"], []]);
    await on.stop();
  });

  test("in another file is another one", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", config("1", IMMUTABLE));
    await on.remove("a.yaml");
    await on.move("b.yaml", config("2"));
    expect([on.objects(), on.now().rejected]).toEqual([["ConfigMap web a=2"], []]);
    await on.stop();
  });
});

describe("a lost key", () => {
  async function filled(): Promise<ManifestDirectory> {
    const on = new ManifestDirectory();
    await on.start();
    await on.move("a.yaml", [config("1"), secret("1"), manifest("web")].join("---\n"));
    await on.stop();
    on.store.loseKey();
    return on;
  }

  test("harms nothing while the file is valid: the Secret is read and kept anew", async () => {
    using on = await filled();
    await on.start();
    await on.clock.advance(RESCAN);
    expect([on.objects(), on.now()]).toEqual([
      ["ConfigMap web a=1", "Secret web a=1"],
      { ready: true, pods: ["web busybox:1"], rejected: [] },
    ]);
    expect([on.store.lost.size, on.store.keys().length]).toEqual([0, 3]);
    await on.stop();
  });

  test("keeps the files from speaking while the file is broken, until it is repaired", async () => {
    using on = await filled();
    await on.move("a.yaml", [config("1"), secret("2", BROKEN), manifest("web")].join("---\n"));
    await on.start();
    await on.clock.advance(RESCAN);
    expect(on.objects()).toEqual(["ConfigMap web a=1"]);
    expect(on.now()).toEqual({
      ready: false,
      pods: ["web busybox:1"],
      rejected: ["a.yaml LastGoodLost", "a.yaml UnknownField dataa"],
    });
    // Whoever finds the key again finds the copy.
    expect(on.store.keys()).toHaveLength(3);
    await on.move("a.yaml", [config("1"), secret("2"), manifest("web")].join("---\n"));
    expect([on.objects(), on.now().ready, on.now().rejected]).toEqual([
      ["ConfigMap web a=1", "Secret web a=2"],
      true,
      [],
    ]);
    await on.stop();
  });

  test("is forgotten with its file", async () => {
    using on = await filled();
    rmSync(on.path("a.yaml"));
    await on.start();
    await on.clock.advance(RESCAN);
    expect([on.objects(), on.now().ready, on.store.keys()]).toEqual([[], true, []]);
    await on.stop();
  });

  test("keeps the files from speaking while their directory is away", async () => {
    using on = await filled();
    renameSync(on.directory, `${on.directory}-away`);
    await on.start();
    await on.clock.advance(RESCAN);
    expect([on.now().ready, on.now().pods]).toEqual([false, ["web busybox:1"]]);
    await on.stop();
  });
});

test("with the real store: nothing of a Secret stands in the log, and it survives the loss of its key", async () => {
  const VALUE = "correct-horse-battery-staple";
  using on = new ManifestDirectory();
  const stateDir = join(on.root, "state");
  {
    using store = openStore(stateDir);
    on.lastGood = store.lastGood;
    await on.start();
    await on.move("a.yaml", secret(VALUE, IMMUTABLE));
    await on.move("a.yaml", secret(`${VALUE}-2`, `${IMMUTABLE}data: {b: "${VALUE}"}\n`));
    await on.move("a.yaml", secret(VALUE).replace(`"${VALUE}"`, `[${VALUE}]`));
    await on.move("a.yaml", secret(VALUE, `type: kubernetes.io/tls\n`));
    for (const sign of ["|", ">2", "*", "!", "[", "@", '"x" '])
      await on.move("a.yaml", secret(VALUE).replace(`"${VALUE}"`, `${sign}${VALUE}`));
    expect(on.objects()).toEqual([`Secret web a=${VALUE}`]);
    await on.stop();
  }
  rmSync(join(stateDir, "secret.key"));
  {
    using store = openStore(stateDir);
    on.lastGood = store.lastGood;
    await on.start();
    await on.clock.advance(RESCAN);
    expect([on.objects(), on.now().ready]).toEqual([[], false]);
    await on.move("a.yaml", secret(VALUE));
    expect([on.objects(), on.now().ready]).toEqual([[`Secret web a=${VALUE}`], true]);
    await on.stop();
    expect(store.lastGood.load().lost).toEqual([]);
  }
  expect(on.log.filter((line) => line.includes(VALUE))).toEqual([]);
  expect(on.log.some((line) => line.includes("sealed with the key"))).toBe(true);
});
