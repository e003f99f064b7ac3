// What is read beside a binary before it is used.

import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Download } from "../../../src/host/http/download-edge.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { versionsOf } from "../../../src/host/versions/version-directory.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { readRelease, type FetchOptions } from "../../../src/self-update/fetch-binary.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { NO_KEYS } from "./updater-stage.ts";

const temp = makeTempDirectory();
afterAll(() => temp.remove());
const never = new AbortController().signal;

function optionsWith(download: Download): FetchOptions {
  const clock = new VirtualClock();
  const log = createLogger({ clock, level: "error", write: () => undefined });
  const versions = versionsOf({
    AGENT_LAUNCH_DIR: join(temp.path, "self-update"),
    AGENT_LAUNCH_INSTALLED: "/nonexistent",
  });
  if (versions === undefined) throw new Error("the launcher's words are not understood");
  return {
    edges: { clock, log, files: realFiles(), download, sha256 },
    edge: { versions, downloadFile: () => Promise.resolve() },
    trust: { look: () => NO_KEYS, verify: () => false },
    node: "pi-1",
    platform: "linux-arm64",
  };
}

const NOTHING: Download = () => Promise.resolve({ type: "Status", status: 404 });
const ORDER = { origin: "Operator", retry: false, allowUnsigned: true } as const;

test("a signature of more than 64 KiB is not read", async () => {
  const source = join(temp.path, "agent");
  writeFileSync(`${source}.sig`, "x".repeat(64 * 1024 + 1));
  const read = readRelease({ ...ORDER, source }, optionsWith(NOTHING), never);
  expect(read).rejects.toThrow("agent.sig");
  writeFileSync(`${source}.sig`, "x".repeat(64 * 1024));
  expect(await readRelease({ ...ORDER, source }, optionsWith(NOTHING), never)).toMatchObject({
    isSigned: false,
  });
});

test("a signature is asked for beside the binary, and bounded", async () => {
  const asked: unknown[] = [];
  const download: Download = ({ url, maxBytes }) => {
    asked.push([url, maxBytes]);
    return NOTHING({ url, headers: {}, maxBytes }, never);
  };
  await readRelease({ ...ORDER, source: "http://h/a?key=x" }, optionsWith(download), never);
  expect(asked).toEqual([["http://h/a.sig?key=x", 64 * 1024]]);
});

test("a server that does not say whether there is one is no server without one", async () => {
  const download: Download = () => Promise.resolve({ type: "Status", status: 500 });
  const read = readRelease({ ...ORDER, source: "http://h/a?key=x" }, optionsWith(download), never);
  expect(read).rejects.toThrow("http://h/a.sig cannot be read: the server answers with status 500");
});
