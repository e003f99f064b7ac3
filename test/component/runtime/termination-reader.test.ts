import { afterEach, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import { ContainerState, ContainerStatusSchema } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { containerConfig } from "../../../src/runtime/cri-config/container-config.ts";
import { RuntimeReader } from "../../../src/runtime/observe/runtime-reader.ts";
import { sandboxConfig } from "../../../src/runtime/cri-config/sandbox-config.ts";
import { readTerminationMessage } from "../../../src/runtime/observe/termination-reader.ts";
import { aContainer, aDesiredPod, aPod, UID } from "../../fakes/a-pod.ts";
import { containerFacts, sandboxFacts } from "../../fakes/config-facts.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";
import type { Container } from "../../../src/api/v1/container.ts";

const IMAGE = "local/busybox:1";
const directories: string[] = [];

function directory(): string {
  const made = mkdtempSync("/tmp/termination-");
  directories.push(made);
  return made;
}

afterEach(() => {
  for (const made of directories.splice(0)) rmSync(made, { recursive: true, force: true });
});

interface Left {
  readonly more?: Partial<Container>;
  readonly exitCode?: number;
  /** What stands in the termination log. */
  readonly file?: string | Uint8Array;
  /** CRI's log. */
  readonly log?: string;
}

/** A container that ran and died, with what it left. */
async function dead({ more = {}, exitCode = 1, file = "", log }: Left) {
  const root = directory();
  const container = aContainer("web", more);
  const desired = aDesiredPod(aPod({ containers: [container] }));
  const runtime = new FakeRuntime({ clock: new VirtualClock(), images: [IMAGE] });
  const config = sandboxConfig(desired, sandboxFacts({ podLogsDir: root }));
  const terminationLog = join(root, "last-words");
  const logPath = join(root, `default_web_${UID}`, "web", "0.log");
  mkdirSync(join(logPath, ".."), { recursive: true });
  writeFileSync(terminationLog, file);
  if (log !== undefined) writeFileSync(logPath, log);
  const sandboxId = await runtime.runPodSandbox({ config });
  const facts = containerFacts({ image: { ref: IMAGE, username: "" }, terminationLog });
  const made = containerConfig(desired, container, facts);
  const id = await runtime.createContainer({ sandboxId, config: made, sandboxConfig: config });
  await runtime.startContainer(id);
  runtime.exit(id, exitCode);
  const files = realFiles();
  const reader = new RuntimeReader({ cri: runtime, instance: "default", files });
  const look = async (before?: ObservedPod): Promise<ObservedPod> => {
    const seen = await reader.inspectPod(UID, before);
    if (seen === undefined) throw new Error("nothing there");
    return { ...seen, observedAt: 1 };
  };
  return { root, terminationLog, logPath, runtime, look, id };
}

async function messageOf(left: Left): Promise<string | undefined> {
  const { look } = await dead(left);
  return (await look()).containers[0]?.message;
}

const line = (words: string): string => `2026-11-21T08:00:00.1Z stdout F ${words}\n`;
const fallback = { terminationMessagePolicy: "FallbackToLogsOnError" } as const;

describe("the last words of a container", () => {
  const cases: Record<string, [Left, string]> = {
    "are what it wrote, after a good end too": [
      { file: "Sleep expired\n", exitCode: 0 },
      "Sleep expired\n",
    ],
    "are the last 4096 bytes of it": [{ file: `a${"b".repeat(5000)}` }, "b".repeat(4096)],
    "may be no text at all": [{ file: new Uint8Array([0xff, 0x41]) }, "\uFFFDA"],
    "are nothing if it wrote nothing": [{ log: line("panic") }, ""],
    "are the end of its log, if it wrote nothing and asked for that": [
      { more: fallback, log: line("one") + line("panic") },
      "one\npanic\n",
    ],
    "are not its log when it wrote something": [
      { more: fallback, file: "x", log: line("panic") },
      "x",
    ],
    "are not its log when it ended well": [{ more: fallback, exitCode: 0, log: line("fine") }, ""],
    "are nothing if there is no log": [{ more: fallback }, ""],
    "are found at a path of its own": [
      { more: { terminationMessagePath: "tmp/end" }, file: "bye" },
      "bye",
    ],
    "are nobody's without a path": [{ more: { terminationMessagePath: "" }, file: "bye" }, ""],
  };
  test.each(Object.entries(cases))("%s", async (_, [left, expected]) => {
    expect(await messageOf(left)).toBe(expected);
  });

  test("are read once, when it is dead", async () => {
    const { look, terminationLog, runtime } = await dead({ file: "first" });
    const before = await look();
    const calls = runtime.calls.length;
    writeFileSync(terminationLog, "second");
    const again = await look(before);
    expect(again.containers[0]?.message).toBe("first");
    // Two lists, and nothing closer.
    expect(runtime.calls.slice(calls).map(({ call }) => call)).toEqual([
      "listPodSandbox",
      "listContainers",
    ]);
  });

  test("are nobody's while it runs", async () => {
    const { look, runtime, id } = await dead({ file: "not yet" });
    const container = runtime.containers.get(id);
    if (container !== undefined) container.state = ContainerState.CONTAINER_RUNNING;
    expect((await look()).containers[0]).toMatchObject({ state: "Running", message: "" });
  });

  test("of a file that became a link to a secret, a directory or a FIFO are an error, and nobody waits", async () => {
    const { look, terminationLog, root } = await dead({ file: "x" });
    writeFileSync(join(root, "secret"), "password");
    const messages: string[] = [];
    const attempt = async (make: () => void): Promise<void> => {
      rmSync(terminationLog, { recursive: true, force: true });
      make();
      messages.push((await look()).containers[0]?.message ?? "");
    };
    await attempt(() => symlinkSync(join(root, "secret"), terminationLog));
    await attempt(() => mkdirSync(terminationLog));
    await attempt(() => void Bun.spawnSync(["mkfifo", terminationLog]));
    for (const message of messages) {
      expect(message).toStartWith(`Error on reading termination log ${terminationLog}: `);
      expect(message).not.toContain("password");
    }
    await attempt(() => undefined);
    expect(messages.at(-1)).toBe("");
  });

  test("of a log that cannot be read say so", async () => {
    const { look, logPath } = await dead({ more: fallback });
    mkdirSync(logPath);
    expect((await look()).containers[0]?.message).toStartWith(
      "Error on reading termination message from logs: ",
    );
  });

  test("come from the mount that is on top", () => {
    const root = directory();
    writeFileSync(join(root, "theirs"), "theirs");
    writeFileSync(join(root, "ours"), "ours");
    const status = create(ContainerStatusSchema, {
      annotations: { "io.kubernetes.container.terminationMessagePath": "/end" },
      mounts: ["theirs", "ours"].map((name) => ({
        containerPath: "/end",
        hostPath: join(root, name),
      })),
    });
    expect(readTerminationMessage(realFiles(), status)).toBe("ours");
  });
});
