// Performs: the entry: as small as possible, so that `agent version` and the thin verbs never load the agent itself.

import { version as packageVersion } from "../package.json" with { type: "json" };

/** Set by the build: the package's version and the commit. */
declare const AGENT_VERSION: string | undefined;

const version = typeof AGENT_VERSION === "string" ? AGENT_VERSION : packageVersion;

const argv = process.argv.slice(2);

if (argv.length === 1 && (argv[0] === "version" || argv[0] === "--version")) {
  process.stdout.write(`agent ${version}\n`);
} else if (argv.length === 1 && argv[0] === "volume-helper") {
  // Hidden: the agent starts itself for calls on file systems that may hang.
  const { runVolumeHelper } = await import("./agent/volume-helper.ts");
  await runVolumeHelper();
} else if (argv[0] === "self-test") {
  // Hidden: the agent tests another version of itself before it is started.
  const [{ runSelfTest }, { loadConfig }] = await Promise.all([
    import("./agent/self-test.ts"),
    import("./cli/load-config.ts"),
  ]);
  const config = argv[argv.indexOf("--config") + 1];
  const flags = argv.includes("--config") ? { config } : {};
  process.exit(await runSelfTest(version, () => loadConfig(flags, process.env)));
} else {
  const { runCli } = await import("./cli/program.ts");
  const { processTerminal } = await import("./cli/process-io.ts");
  const terminal = processTerminal(argv);
  const loadAgent = () => import("./agent/run-agent.ts");
  const loadFleet = () => import("./fleet/fleet-verbs.ts");
  const code = await runCli({ argv, version, terminal, loadAgent, loadFleet });
  await terminal.flushed();
  // Not `exitCode`: a kept-alive connection to the socket would hold the process.
  process.exit(code);
}
