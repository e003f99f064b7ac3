// Performs: both ends of the process that uses a file system that may hang: the agent's questions, and the hidden verb that
// answers them. A volume is set up by the same code as any other.

import { writeSync } from "node:fs";
import { FILE_LIMITS } from "../api/yaml/text-limits.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import { ALIVE } from "../host/helper-process.ts";
import { realMounts } from "../host/mounts.ts";
import { realFiles } from "../host/real-files.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { AskDirectory } from "../source/file/file-source.ts";
import { hostPathError } from "../source/policy/host-path-links.ts";
import type { HostPathConfig } from "../source/policy/host-paths-and-devices.ts";
import type { AskHelper, VolumeAnswer, VolumeRequest } from "../volume/remote-volumes.ts";
import { prepareSubPath } from "../volume/sub-path.ts";
import { Volumes } from "../volume/volume-manager.ts";

interface HelperConfig extends HostPathConfig {
  readonly claimRoot?: string | undefined;
  readonly claimRootMustBeMount: boolean;
}

const STDOUT = 1;

/** Written by the agent, read by its own binary. */
type Question =
  | { readonly type: "Volume"; readonly config: HelperConfig; readonly request: VolumeRequest }
  /** Whether the files in a directory can be read. */
  | { readonly type: "Directory"; readonly path: string };

export function askVolumeHelper(
  { runHelper }: Pick<Edges, "runHelper">,
  config: AgentConfig,
): AskHelper {
  const { staticPodPath, stateDir, trustPath, socket, containerRuntimeEndpoint } = config;
  const { claimRoot, claimRootMustBeMount } = config;
  const hostPaths = config.mqtt?.podPolicy?.hostPaths;
  const own: HelperConfig = {
    staticPodPath,
    stateDir,
    trustPath,
    socket,
    containerRuntimeEndpoint,
    claimRoot,
    claimRootMustBeMount,
    ...(hostPaths === undefined ? {} : { mqtt: { podPolicy: { hostPaths } } }),
  };
  return async (request, signal) => {
    const question: Question = { type: "Volume", config: own, request };
    const caller = { isOfFile: request.claimUser === "File", mountPoint: request.mountPoint };
    return JSON.parse(await runHelper(JSON.stringify(question), caller, signal)) as VolumeAnswer;
  };
}

/** Resolves to why a directory on a file system that may hang cannot be read; undefined = it answers. Never rejects. */
export function askDirectory({ runHelper }: Pick<Edges, "runHelper">): AskDirectory {
  return async (path, mountPoint, signal) => {
    const question: Question = { type: "Directory", path };
    try {
      await runHelper(JSON.stringify(question), { isOfFile: true, mountPoint }, signal);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  };
}

/** The verb: reads a question from standard input and writes its answer to standard output. */
export async function runVolumeHelper(): Promise<void> {
  const question = JSON.parse(await Bun.stdin.text()) as Question;
  writeSync(STDOUT, JSON.stringify(answerTo(question)));
}

function answerTo(question: Question): VolumeAnswer {
  try {
    if (question.type === "Volume") return { path: pathFor(question.request, question.config) };
    readAll(question.path);
    return { path: question.path };
  } catch (error) {
    return { error: { reason: reasonOf(error, "FailedMount"), message: messageOf(error) } };
  }
}

function pathFor(request: VolumeRequest, config: HelperConfig): string {
  const { pod, claimUser, unsignedUsers, isJudged, part } = request;
  const files = realFiles();
  const mounts = realMounts(() => new Map());
  const { claimRoot, ...more } = config;
  if (part !== undefined) return prepareSubPath({ ...more, files, mounts }, part);
  const judge = hostPathError(files, config);
  const volumes = new Volumes({
    ...more,
    ...(claimRoot === undefined ? {} : { claimRoot }),
    files,
    mounts,
    objects: () => DECLARED,
    claimUser: () => claimUser,
    unsignedUsers: () => unsignedUsers,
    hostPathError: () => (isJudged ? judge : undefined),
  });
  for (const _ of volumes.shareLargeClaims(pod)) writeSync(STDOUT, ALIVE);
  const [path] = volumes.setUp(pod).values();
  if (path === undefined) throw new Error("the volume has no path");
  // A path that is used as written was not looked at.
  files.target(path);
  return path;
}

/** What is wrong with a file is reported by its reader. */
function readAll(directory: string): void {
  const files = realFiles();
  for (const { kind, name } of files.list(directory)) {
    writeSync(STDOUT, ALIVE);
    if (kind === "file") files.readFrom(`${directory}/${name}`, 0, FILE_LIMITS.bytes);
  }
}

/** The agent has found the claim among its objects. */
const DECLARED: LocalObjects = {
  configMap: () => undefined,
  secret: () => undefined,
  claim: (namespace, name) => ({
    kind: "PersistentVolumeClaim",
    metadata: { namespace, name, labels: {}, annotations: {} },
    accessModes: [],
  }),
};
