// Performs: the table of the checks of `agent check`. A new check is a row: it collects facts and has them judged.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { NODE_KEY, SECRET_KEY } from "../../store/secret-key.ts";
import type { AgentConfig } from "../../config/config.ts";
import { realFiles } from "../../host/real-files.ts";
import { readTrustDirectory } from "../../host/root-keys.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { certificateExpiries } from "../../mqtt/parse-certificates.ts";
import { MANIFEST_NAME } from "../../source/file/manifest-entry.ts";
import { CliError } from "../exit-codes.ts";
import { LocalClient } from "../local-client.ts";
import { provision } from "../../provision/provision.ts";
import type { Terminal } from "../process-io.ts";
import { lookOptions } from "../provision/starting-config.ts";
import { errorLine } from "../terminal-text.ts";
import { judgePaths } from "../validate/validate.ts";
import { broken, doubtful, fine, type Finding } from "./finding.ts";
import { judgeBroker, judgeLogin } from "./judge-broker.ts";
import {
  judgeCertificate,
  judgeDecidingFile,
  judgeManifests,
  judgeProvisioning,
  judgeSecretFile,
  judgeTrust,
} from "./judge-files.ts";
import {
  judgeCgroups,
  judgeDisk,
  judgeKernel,
  judgeLibraries,
  judgeTime,
} from "./judge-machine.ts";
import { judgeKubelet, judgeNetwork, judgeRuntime, judgeSandbox } from "./judge-runtime.ts";
import { askBroker } from "./probe-broker.ts";
import { logIn } from "./probe-login.ts";
import {
  cgroupSight,
  diskRooms,
  fileFacts,
  kernelFacts,
  libraryFacts,
  processes,
  timeFacts,
} from "./probe-machine.ts";
import { CriError } from "../../cri/cri-error.ts";
import {
  imageDirectories,
  networkFacts,
  runtimeAnswer,
  runtimeConfig,
  sandboxFacts,
} from "./probe-runtime.ts";
import { socketOf } from "./socket-path.ts";

export interface CheckContext {
  /** That of the file, or the defaults if it is not valid. */
  readonly config: AgentConfig;
  /** Of the configuration; undefined = there is none, and the defaults hold. */
  readonly configFile: string | undefined;
  /** Why the configuration is not valid. */
  readonly configError: string | undefined;
  readonly clock: Clock;
  readonly environment: Terminal["environment"];
}

export interface Check {
  readonly name: string;
  readonly run: (context: CheckContext, signal: AbortSignal) => Promise<readonly Finding[]>;
  /** Longest time that it may take; absent = ten seconds. */
  readonly limitMs?: number;
}

/** In the order in which they are printed. */
export const CHECKS: readonly Check[] = [
  { name: "configuration", run: async (context) => [configuration(context)] },
  { name: "kernel", run: async () => judgeKernel(await kernelFacts()) },
  { name: "cgroups", run: async () => judgeCgroups(cgroupSight()) },
  { name: "libraries", run: async () => judgeLibraries(await libraryFacts()) },
  { name: "time", run: async ({ clock }) => judgeTime(timeFacts(clock.now())) },
  { name: "disk", run: disk },
  { name: "runtime", run: runtime },
  {
    name: "kubelet",
    run: async ({ config }) =>
      judgeKubelet(await processes(), socketOf(config.containerRuntimeEndpoint)),
  },
  { name: "sandbox image", run: sandbox },
  { name: "network", run: network },
  { name: "permissions", run: permissions },
  { name: "trust", run: async (context) => trust(context) },
  { name: "manifests", run: manifests },
  { name: "provisioning", run: async (context) => provisioning(context) },
  { name: "certificates", run: certificates },
  { name: "broker", run: broker },
  { name: "agent", run: agent },
];

function configuration({ configFile, configError }: CheckContext): Finding {
  if (configError !== undefined)
    return broken(
      `${configError} (the other checks use the defaults)`,
      `correct ${configFile ?? "it"}, and print what is in force with agent config print`,
    );
  return fine(
    configFile === undefined ? "there is no file, the defaults hold" : `${configFile} is valid`,
  );
}

async function disk(
  { config, clock }: CheckContext,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const endpoint = config.imageServiceEndpoint;
  // The check of the runtime reports that it does not answer.
  const images = await imageDirectories({ endpoint, clock, signal }).catch(() => []);
  return (await diskRooms(config, images)).map(judgeDisk);
}

async function runtime(
  { config, clock }: CheckContext,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const endpoint = config.containerRuntimeEndpoint;
  const answer = await runtimeAnswer({ endpoint, clock, signal });
  return judgeRuntime(answer, await runtimeConfig(endpoint, await processes()));
}

async function sandbox(
  { config, clock }: CheckContext,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const endpoint = config.containerRuntimeEndpoint;
  return ifItAnswers(async () => [judgeSandbox(await sandboxFacts({ endpoint, clock, signal }))]);
}

async function network(
  { config, clock }: CheckContext,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const endpoint = config.containerRuntimeEndpoint;
  return ifItAnswers(async () => judgeNetwork(await networkFacts({ endpoint, clock, signal })));
}

/** The check of the runtime has the error. */
async function ifItAnswers(ask: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof CriError)) throw error;
    return [
      doubtful(
        "unknown, because the container runtime does not answer",
        "correct the runtime first",
      ),
    ];
  }
}

async function permissions({ config, configFile }: CheckContext): Promise<readonly Finding[]> {
  const { staticPodPath, stateDir, trustPath, registryAuthFile, mqtt } = config;
  const user = process.geteuid?.() ?? 0;
  const manifestFiles: Readonly<Record<string, string>> = Object.fromEntries(
    (await manifestNames(staticPodPath)).map((name): readonly [string, string] => [
      `manifest ${name}`,
      join(staticPodPath, name),
    ]),
  );
  const deciding = {
    configuration: configFile,
    staticPodPath,
    stateDir,
    trustPath,
    ...manifestFiles,
  };
  const secret = {
    registryAuthFile,
    "mqtt.passwordFile": mqtt?.passwordFile,
    "mqtt.keyFile": mqtt?.keyFile,
    "the key of stored Secrets": join(stateDir, SECRET_KEY),
    "the node's own key": join(stateDir, NODE_KEY),
  };
  const judged = async (
    files: Readonly<Record<string, string | undefined>>,
    judge: typeof judgeSecretFile,
  ): Promise<readonly Finding[]> => {
    const found = await Promise.all(
      Object.entries(files).map(async ([what, path]) =>
        path === undefined ? undefined : fileFacts(what, path),
      ),
    );
    return found.flatMap((file) => (file === undefined ? [] : judge(file, user)));
  };
  const all = [
    ...(await judged(deciding, judgeDecidingFile)),
    ...(await judged(secret, judgeSecretFile)),
  ];
  const wrong = all.filter(({ level }) => level !== "ok");
  return wrong.length > 0 ? wrong : [fine(`${all.length} files and directories are safe`)];
}

/** None if it is a file, or not there. */
async function manifestNames(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => MANIFEST_NAME.test(name));
}

function trust({ config: { trustPath: path, mqtt } }: CheckContext): readonly Finding[] {
  const { keys, problems } = readTrustDirectory(realFiles(), path);
  const mustBeSigned = mqtt?.requireSignature === true;
  return judgeTrust({ path, keys: keys.length, problems, mustBeSigned });
}

async function manifests({ config: { staticPodPath: path } }: CheckContext) {
  if ((await fileFacts("staticPodPath", path)) === undefined)
    return [
      doubtful(
        `there is no ${path}`,
        `make it (mkdir -p ${path}): its files are what this node runs`,
      ),
    ];
  const { judgement, files } = judgePaths([path]);
  const lines = (found: typeof judgement.errors): readonly string[] =>
    found.map(({ ref, ...finding }) => errorLine({ file: ref, ...finding }));
  return judgeManifests({
    path,
    files,
    errors: lines(judgement.errors),
    warnings: lines(judgement.warnings),
  });
}

async function certificates({ config: { mqtt }, clock }: CheckContext) {
  const files = Object.entries({
    "mqtt.caFile": mqtt?.caFile,
    "mqtt.certFile": mqtt?.certFile,
  });
  const judged = await Promise.all(
    files.map(async ([field, path]) => {
      if (path === undefined) return [];
      const what = `${field} ${path}`;
      try {
        const expiries = certificateExpiries(await readFile(path, "utf8"));
        return [judgeCertificate({ what, expiries }, clock.now())];
      } catch (error) {
        return [broken(`${what}: ${messageOf(error)}`, "put a certificate in PEM there")];
      }
    }),
  );
  const all = judged.flat();
  return all.length > 0 ? all : [fine("no certificate is configured")];
}

function provisioning({ config, configFile, configError, environment }: CheckContext) {
  // Nothing is taken over before it is corrected.
  if (configError !== undefined) return [];
  const flags = configFile === undefined ? {} : { config: configFile };
  const options = lookOptions({ config, flags, environment });
  return judgeProvisioning(options.directories, provision({ ...options, isDry: true }));
}

async function broker(
  { config: { mqtt }, clock }: CheckContext,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (mqtt === undefined) return [fine("no broker is configured (mqtt.url)")];
  const answer = await askBroker(mqtt, signal);
  const reached = judgeBroker(answer, clock.now());
  return answer.type === "Failed" ? reached : [...reached, judgeLogin(await logIn(mqtt, signal))];
}

async function agent({ config: { socket }, clock }: CheckContext): Promise<readonly Finding[]> {
  const client = new LocalClient({ socket, clock, timeoutMs: 5_000 });
  try {
    const version = await client.version();
    const problems = await client.health();
    if (problems.length === 0) return [fine(`the agent ${version} runs and is healthy`)];
    return problems.map((problem) =>
      broken(`the agent runs and reports: ${problem}`, "look at its log (journalctl -u agent)"),
    );
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [doubtful(error.message, "start it (systemctl start agent)")];
  }
}
