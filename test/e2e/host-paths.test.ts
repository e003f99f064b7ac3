// hostPaths of documents against a pod that swaps what they lead to, with the real runtime.

import { expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { runSync } from "../harness/run-command.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage } from "./support-b-stage.ts";
import { publishDesired } from "./support-b-upstream.ts";
import { answering, ends, goodPod, nextDocument } from "./support-g-answers.ts";

const stage = await openStage();
const { e2e, temp } = stage;

/** Pods that look at what they were given, over and over. */
const VICTIMS = 6;
/** Each start of a container resolves the path anew. */
const CONTAINERS = 5;
const STARTS = 40;

interface Contents {
  readonly script: string;
  readonly paths: Readonly<Record<string, string>>;
  readonly containers?: number;
  /** Of its mounts; absent = none. */
  readonly mountPropagation?: string;
}

function podOn(name: string, node: string, of: Contents): object {
  const volumes = Object.entries(of.paths).map(([key, path]) => ({
    name: key,
    hostPath: { path },
  }));
  const volumeMounts = Object.keys(of.paths).map((key) => ({
    name: key,
    mountPath: `/${key}`,
    mountPropagation: of.mountPropagation ?? "None",
  }));
  const command = ["sh", "-c", of.script];
  const containers = Array.from({ length: of.containers ?? 1 }, (_, index) => {
    return { name: `c${index}`, image: BUSYBOX_1.name, command, volumeMounts };
  });
  return plainPod(name, node, { containers, volumes, restartPolicy: "Always" });
}

e2e(
  "a pod that swaps a directory for a link gets no other pod anything of the node",
  async () => {
    const shared = temp.directory("hostile-shared");
    const outside = temp.directory("hostile-outside");
    const out = temp.directory("hostile-out");
    mkdirSync(join(shared, "dir"));
    writeFileSync(join(shared, "dir/mine"), "");
    writeFileSync(join(outside, "stolen"), "");
    const podPolicy = { profile: "privileged", hostPaths: [shared, out] };
    const node = await answering(stage, "hostile", { mqtt: { podPolicy } });
    const swap = `mv dir was; ln -s ${outside} dir; rm dir; mv was dir`;
    const swapper = podOn("swapper", node.name, {
      script: `cd /shared; while :; do ${swap}; done`,
      paths: { shared },
    });
    const look = 'if [ -e /it/stolen ]; then echo stolen >>"$F"; else echo mine >>"$F"; fi';
    const victims = Array.from({ length: VICTIMS }, (_, index) =>
      podOn(`victim-${index}`, node.name, {
        script: `F=/out/${index}; ${look}; exit 0`,
        containers: CONTAINERS,
        paths: { it: join(shared, "dir"), out },
      }),
    );
    const resources = [goodPod(node.name), swapper, ...victims];
    await publishDesired(node.broker, node.name, nextDocument(node.name, { resources }));
    const seen = (): readonly string[] =>
      victims.flatMap((_, index) => {
        const path = join(out, String(index));
        return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
      });
    // A power cut in the middle: what was held is held anew.
    await eventually("the first starts", () => seen().length >= STARTS / 4, { timeout: 60_000 });
    await node.restart();
    await eventually(`${STARTS} starts`, () => seen().length >= STARTS, { timeout: 150_000 });
    console.log(`${seen().length} containers were started on a path that is swapped`);
    expect(seen().filter((word) => word !== "mine")).toEqual([]);
    await ends(node);
  },
  240_000,
);

e2e(
  "a disk that is mounted below a held path later is seen by its container",
  async () => {
    const shared = temp.directory("later-shared");
    for (const command of [
      ["mount", "-t", "tmpfs", "tmpfs", shared],
      ["mount", "--make-shared", shared],
    ])
      expect(runSync(command).code).toBe(0);
    mkdirSync(join(shared, "disk"));
    const podPolicy = { profile: "privileged", hostPaths: [shared] };
    const node = await answering(stage, "later", { mqtt: { podPolicy } });
    const waits = podOn("waits", node.name, {
      script:
        "until [ -e /shared/disk/file ]; do sleep 0.1; done; echo seen >/shared/seen; sleep 1000000",
      paths: { shared },
      mountPropagation: "HostToContainer",
    });
    const resources = [goodPod(node.name), waits];
    await publishDesired(node.broker, node.name, nextDocument(node.name, { resources }));
    await node.upstream.ack("it runs", ({ generation, code }) => generation === 6 && code === 200);
    expect(runSync(["mount", "-t", "tmpfs", "tmpfs", join(shared, "disk")]).code).toBe(0);
    writeFileSync(join(shared, "disk/file"), "");
    await eventually("the container has seen it", () => existsSync(join(shared, "seen")));
    await ends(node);
    runSync(["umount", "-l", join(shared, "disk")]);
    runSync(["umount", "-l", shared]);
  },
  120_000,
);
