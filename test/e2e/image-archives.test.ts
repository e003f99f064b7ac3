// Images without a network: archives in the directory and by hand, into a containerd that has none; right and wrong ones.

import { afterAll, expect } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { endOfArchive, fileHeader, padding } from "../../src/image/archive/tar-writer.ts";
import { agentBinary, AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import {
  AMD64,
  ARM64,
  HERE,
  layerOf,
  ociEntries,
  ociImage,
  ociIndex,
  sha256,
  topOf,
} from "../harness/image-archives.ts";
import { busyboxLayer, dockerArchive } from "../harness/images.ts";
import {
  isUnavailable,
  startPrivateContainerd,
  type PrivateContainerd,
} from "../harness/private-containerd.ts";
import { readText } from "../harness/processes.ts";
import { output, run } from "../harness/run-command.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { tar } from "../harness/tar.ts";
import { READY, untilPod } from "./support-c-views.ts";

const MEBIBYTE = 1024 * 1024;
/** The registry of this name is away: nothing listens there. */
const AWAY = "127.0.0.1:9/local/plain:1";

const temp = makeTempDirectory();
const started = await startPrivateContainerd(temp);
const e2e = testWhenAvailable(started);

afterAll(() => temp.remove(), 180_000);

function containerd(): PrivateContainerd {
  if (isUnavailable(started)) throw new Error(started.unavailable);
  return started;
}

/** Of a containerd that has nothing of `images`. */
async function left(...images: readonly string[]) {
  const lines = async (...args: readonly string[]): Promise<readonly string[]> =>
    (await containerd().ctr(...args)).trim().split("\n");
  return {
    images: (await lines("images", "list", "-q")).filter((name) =>
      images.some((image) => name.includes(image)),
    ),
    // A pull that has failed keeps what has arrived, under a lease of its own.
    leases: (await lines("leases", "list", "-q")).filter((name) => name.includes("agent-archive-")),
    ingests: (await lines("content", "active")).slice(1),
    content: (await lines("content", "list", "-q")).length,
  };
}

function pod(name: string, image: string, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image,
          command: ["sh", "-c", "trap 'exit 0' TERM; cat /etc/image-version; sleep 3600 & wait"],
          ...more,
        },
      ],
    },
  };
}

function busybox(name: string, version: string): Uint8Array {
  return dockerArchive({ name, version });
}

/** As `cp` to another name and `mv` do. */
function put(agent: AgentProcess, name: string, bytes: Uint8Array): void {
  const hidden = join(agent.paths.images, `.${name}`);
  writeFileSync(hidden, bytes);
  renameSync(hidden, join(agent.paths.images, name));
}

function newAgent(name: string): AgentProcess {
  const { endpoint, cgroupRoot } = containerd();
  const agent = new AgentProcess(temp, { name, instance: name, endpoint, cgroupRoot });
  mkdirSync(agent.paths.images);
  return agent;
}

const imported = (agent: AgentProcess): readonly string[] =>
  agent
    .logLines()
    .filter(({ msg }) => msg === "imported image archive")
    .map((line) => String(line["file"]).split("/").at(-1) ?? "");

e2e(
  "boots without a network and without images, and runs what the directory has",
  async () => {
    const agent = newAgent("cold");
    const layer = busyboxLayer("multi");
    const own = ociImage([layer], HERE);
    const other = HERE === AMD64 ? ARM64 : AMD64;
    const index = ociIndex([
      [ociImage([layerOf("other")], other), other],
      [own, HERE],
    ]);
    put(agent, "docker.tar", busybox(AWAY, "plain"));
    put(agent, "docker.tar.gz", gzipSync(busybox("local/gzip:1", "gzip")));
    put(agent, "docker.tar.zst", zstdCompressSync(busybox("local/zstd:1", "zstd")));
    put(agent, "oci.tar", tar(ociEntries([{ image: index, name: "registry.example/multi:1" }])));
    put(agent, "broken.tar", busybox("local/broken:1", "broken").subarray(0, 700_000));
    put(agent, "ignored.tar.bak", busybox("local/ignored:1", "ignored"));
    const images = {
      plain: AWAY,
      gzip: "local/gzip:1",
      zstd: "local/zstd:1",
      multi: "registry.example/multi:1",
      digest: `registry.example/multi@${topOf(index).digest}`,
    };
    for (const [name, image] of Object.entries(images))
      agent.writeManifest(`${name}.yaml`, pod(name, image));
    agent.writeManifest("always.yaml", pod("always", images.plain, { imagePullPolicy: "Always" }));
    agent.writeManifest("never.yaml", pod("never", images.zstd, { imagePullPolicy: "Never" }));
    await agent.startReady();
    for (const name of [...Object.keys(images), "always", "never"])
      await untilPod(agent, name, READY);
    expect(await left("local/broken", "local/ignored")).toMatchObject({
      images: [],
      leases: [],
      ingests: [],
    });
    const refused = agent.logLines().find(({ msg }) => msg === "image archive refused");
    expect(refused).toMatchObject({ error: expect.stringContaining("ends early") as string });

    const facts = (await (await agent.api("/node")).json()) as object;
    const { version } = containerd();
    expect(JSON.stringify(facts)).toContain(`containerd://${version.replace(/^v/, "")}`);

    // A second start reads none of them again.
    const before = imported(agent).length;
    expect(before).toBe(4);
    const accessed = join(agent.paths.images, "docker.tar");
    const { atimeMs } = statSync(accessed);
    await agent.restart();
    await untilPod(agent, "plain", READY);
    expect([imported(agent).length, statSync(accessed).atimeMs]).toEqual([before, atimeMs]);
    await agent.kill();
  },
  120_000,
);

e2e(
  "imports what is added or changed while it runs, and again what was removed from containerd",
  async () => {
    const agent = newAgent("warm");
    await agent.startReady();
    agent.writeManifest("late.yaml", pod("late", "local/late:1", { imagePullPolicy: "Never" }));
    await eventually("the pod waits for its image", async () =>
      (await (await agent.api("/pods")).text()).includes("ErrImageNeverPull"),
    );
    put(agent, "late.tar.gz", gzipSync(busybox("local/late:1", "one")));
    await untilPod(agent, "late", READY);

    // Written in place, slowly: read once it is complete.
    const two = busybox("local/late:1", "two");
    const half = Math.floor(two.length / 2);
    const path = join(agent.paths.images, "second.tar");
    writeFileSync(path, two.subarray(0, half));
    writeFileSync(path, two.subarray(half), { flag: "a" });
    await eventually("the second archive is imported", () =>
      imported(agent).includes("second.tar"),
    );
    agent.writeManifest("newer.yaml", pod("newer", "local/late:1"));
    await untilPod(agent, "newer", READY);

    // What a pod or an archive needs stays, also against an order.
    const order = async (...args: readonly string[]) =>
      run([agentBinary(), "images", ...args, "--socket", agent.paths.socket], { timeout: 60_000 });
    expect(await order("rm", "local/late:1")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("default/newer") as string,
    });
    put(agent, "spare.tar", busybox("local/spare:1", "spare"));
    await eventually("the spare archive is imported", () => imported(agent).includes("spare.tar"));
    expect(await order("rm", "local/spare:1", "--force")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("spare.tar brings it; delete the archive first") as string,
    });
    rmSync(join(agent.paths.images, "spare.tar"));
    await eventually("the unused image goes once its archive is gone", async () =>
      (await order("prune")).stdout.includes("removed docker.io/local/spare:1"),
    );
    expect((await left("local/spare")).images).toEqual([]);

    agent.removeManifest("late.yaml");
    agent.removeManifest("newer.yaml");
    await eventually("the pods are gone", async () => {
      const { items } = (await (await agent.api("/pods")).json()) as { items: unknown[] };
      return items.length === 0;
    });
    for (const name of (await left("local/late")).images)
      await containerd().ctr("images", "rm", "--sync", name);
    agent.writeManifest("again.yaml", pod("again", "local/late:1", { imagePullPolicy: "Never" }));
    await untilPod(agent, "again", READY);
    await agent.kill();
  },
  120_000,
);

e2e(
  "a kill in the middle of an import leaves nothing that the next start does not take back",
  async () => {
    const agent = newAgent("killed");
    const noise = Buffer.concat(
      Array.from({ length: 60 }, () =>
        Buffer.from(crypto.getRandomValues(new Uint8Array(65_536 * 16)).buffer),
      ),
    );
    const layers = [noise];
    const config = Buffer.from(
      JSON.stringify({
        ...HERE,
        config: {},
        rootfs: { type: "layers", diff_ids: [`sha256:${sha256(noise)}`] },
      }),
    );
    const big = tar([
      { type: "file", path: "layer.tar", mode: 0o644, data: layers[0]! },
      { type: "file", path: "config", mode: 0o644, data: config },
      {
        type: "file",
        path: "manifest.json",
        mode: 0o644,
        data: Buffer.from(
          JSON.stringify([{ Config: "config", RepoTags: ["local/big:1"], Layers: ["layer.tar"] }]),
        ),
      },
    ]);
    put(agent, "big.tar", big);
    const { content } = await left();
    await agent.startReady();
    // Looked up on the disk: a call of ctr may take longer than the whole import.
    const ingests = join(containerd().root, "io.containerd.content.v1.content/ingest");
    await eventually("the import has begun", () => readdirSync(ingests).length > 0, {
      interval: 1,
    });
    await agent.kill("SIGKILL");
    expect((await left("local/big")).images).toEqual([]);
    rmSync(join(agent.paths.images, "big.tar"));
    await agent.startReady();
    await eventually("everything of the import is gone", async () => {
      const now = await left("local/big");
      // Less when containerd has collected what another test left.
      return (
        now.leases.length + now.ingests.length + now.images.length === 0 && now.content <= content
      );
    });
    await agent.kill();
  },
  120_000,
);

e2e(
  "memory does not grow with the archive",
  async () => {
    const directory = temp.directory("large");
    const config = join(directory, "agent.yaml");
    writeFileSync(config, JSON.stringify({ containerRuntimeEndpoint: containerd().endpoint }));
    /** Of the whole process, in MiB. */
    const peakOf = async (file: string): Promise<number> => {
      const command = [agentBinary(), "images", "import", "--config", config, file];
      const child = Bun.spawn(command, { stdout: "ignore", stderr: "inherit" });
      let peak = 0;
      while (child.exitCode === null) {
        const status = readText(`/proc/${child.pid}/status`) ?? "";
        peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024);
        await Bun.sleep(5);
      }
      expect([file, child.exitCode]).toEqual([file, 0]);
      return peak;
    };
    const small = join(directory, "small.tar");
    writeFileSync(small, busybox("local/small:1", "small"));
    const large = join(directory, "large.tar");
    writeLargeArchive(large, 160);
    await output(["sh", "-c", `gzip -1 -c ${large} > ${large}.gz`]);
    const least = await peakOf(small);
    expect((await peakOf(large)) - least).toBeLessThan(50);
    expect((await peakOf(`${large}.gz`)) - least).toBeLessThan(50);
    expect((await left("local/large")).images).toContain("docker.io/local/large:1");
    for (const name of (await left("local/large")).images)
      await containerd().ctr("images", "rm", "--sync", name);
  },
  120_000,
);

/** A docker-archive whose layer has so many MiB; its content is no file system, which only a container would notice. */
function writeLargeArchive(path: string, mebibytes: number): void {
  const block = new Uint8Array(MEBIBYTE);
  const hash = new Bun.CryptoHasher("sha256");
  const file = openSync(path, "w");
  writeSync(file, fileHeader("layer.tar", mebibytes * MEBIBYTE));
  for (let number = 0; number < mebibytes; number += 1) {
    block.fill(number);
    hash.update(block);
    writeSync(file, block);
  }
  const layer = `sha256:${hash.digest("hex")}`;
  const image = { ...HERE, config: {}, rootfs: { type: "layers", diff_ids: [layer] } };
  const manifest = [{ Config: "config", RepoTags: ["local/large:1"], Layers: ["layer.tar"] }];
  for (const [name, value] of Object.entries({ config: image, "manifest.json": manifest })) {
    const bytes = Buffer.from(JSON.stringify(value));
    writeSync(file, fileHeader(name, bytes.length));
    writeSync(file, bytes);
    writeSync(file, padding(bytes.length));
  }
  writeSync(file, endOfArchive());
  closeSync(file);
}

e2e(
  "agent images export writes what import and containerd read",
  async () => {
    const directory = temp.directory("export");
    const config = join(directory, "agent.yaml");
    writeFileSync(config, JSON.stringify({ containerRuntimeEndpoint: containerd().endpoint }));
    const cli = async (...args: readonly string[]) =>
      run([agentBinary(), "images", ...args, "--config", config], { timeout: 60_000 });
    const names = ["docker.io/local/out:1", "docker.io/local/out:2"];
    for (const name of names) {
      writeFileSync(join(directory, "in.tar"), busybox(name, name));
      expect(await cli("import", join(directory, "in.tar"))).toMatchObject({ code: 0 });
    }
    const out = join(directory, "out.tar");
    const short = names.map((name) => name.replace("docker.io/", ""));
    expect(await cli("export", ...short, "-o", out)).toEqual({ code: 0, stdout: "", stderr: "" });
    const digests = async (): Promise<readonly string[]> => {
      const lines = (await containerd().ctr("images", "list")).split("\n");
      return lines
        .filter((line) => line.includes("local/out:"))
        .map((line) => line.split(/\s+/)[2] ?? "");
    };
    const remove = async (): Promise<void> => {
      for (const name of (await left("local/out")).images)
        await containerd().ctr("images", "rm", "--sync", name);
      expect(await digests()).toEqual([]);
    };
    const before = await digests();
    expect(before).toHaveLength(2);
    await remove();
    expect(await cli("import", out)).toMatchObject({ code: 0 });
    expect(await digests()).toEqual(before);
    await remove();
    await containerd().ctr("images", "import", "--snapshotter", containerd().snapshotter, out);
    expect(await digests()).toEqual(before);

    const piped = await run(
      [
        "sh",
        "-c",
        `${agentBinary()} images export ${names[0]} -o - --config ${config} | tar -tf -`,
      ],
      { timeout: 60_000 },
    );
    expect(piped).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("index.json") as string,
    });
    const none = join(directory, "none.tar");
    expect(await cli("export", "local/none:1", "-o", none)).toMatchObject({ code: 1 });
    expect(existsSync(none) || existsSync(`${none}.part`)).toBe(false);
    expect(await cli("export", "UPPER", "-o", none)).toMatchObject({ code: 2 });
    expect(await cli("export", "local/out:1")).toMatchObject({ code: 2 });
  },
  120_000,
);

e2e(
  "agent images import reads a file or standard input, without an agent",
  async () => {
    const directory = temp.directory("by-hand");
    const config = join(directory, "agent.yaml");
    writeFileSync(config, JSON.stringify({ containerRuntimeEndpoint: containerd().endpoint }));
    const cli = async (file: string, ...more: readonly string[]) =>
      run([agentBinary(), "images", "import", "--config", config, file, ...more], {
        timeout: 60_000,
      });
    const file = (name: string, bytes: Uint8Array): string => {
      writeFileSync(join(directory, name), bytes);
      return join(directory, name);
    };
    const good = busybox("local/hand:1", "hand");
    const first = await cli(file("good.tar", good));
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^imported docker.io\/local\/hand:1 \(sha256:/) as string,
    });
    const piped = await run(
      [
        "sh",
        "-c",
        `gzip -c ${join(directory, "good.tar")} | ${agentBinary()} images import --config ${config} -`,
      ],
      { timeout: 60_000 },
    );
    expect(piped).toEqual({ ...first });

    const before = await left("local/evil");
    const untagged = file(
      "untagged.tar",
      tar(ociEntries([{ image: ociImage([layerOf("x")]), refName: "7" }])),
    );
    expect(await cli(untagged)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no image in it has a name") as string,
    });
    const evil: Readonly<Record<string, Uint8Array>> = {
      cut: busybox("local/evil:1", "evil").subarray(0, 900_000),
      "cut.gz": gzipSync(busybox("local/evil:1", "evil")).subarray(0, 600_000),
      "cut.zst": zstdCompressSync(busybox("local/evil:1", "evil")).subarray(0, 600_000),
      text: Buffer.from("this is no archive\n".repeat(100)),
      empty: new Uint8Array(),
      bomb: gzipSync(Buffer.alloc(200_000_000)),
      wrong: tar(
        ociEntries([{ image: ociImage([layerOf("evil")]), name: "local/evil:1" }]).map((entry) =>
          entry.path.startsWith("blobs/sha256/") &&
          entry.type === "file" &&
          entry.data.length > 1024
            ? { ...entry, data: Buffer.concat([entry.data.subarray(1), Buffer.from("!")]) }
            : entry,
        ),
      ),
    };
    for (const [name, bytes] of Object.entries(evil)) {
      const outcome = await cli(file(name, bytes));
      expect({ name, ...outcome }).toMatchObject({ name, code: 2, stdout: "" });
      expect([name, await left("local/evil")]).toEqual([name, before]);
    }
    expect(await cli(untagged, "--name", "local/named")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("docker.io/local/named:7") as string,
    });
    expect(await cli(join(directory, "missing"))).toMatchObject({ code: 2 });
    const listed = await run([agentBinary(), "images", "ls", "--config", config]);
    expect(listed.stdout).toMatch(/^IMAGE +ID +SIZE\n/);
    expect(listed.stdout).toMatch(/^docker\.io\/local\/hand:1 +[0-9a-f]{13} +\d+\.\d MiB$/m);
    expect(listed.stdout).not.toContain("local/evil");
  },
  180_000,
);
