// `agent install` and `agent uninstall` with the compiled binary, below a directory as for a mounted image. No test here asks
// systemctl for anything.

import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { agentBinary } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";

const temp = makeTempDirectory();
afterAll(() => temp.remove());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Machine {
  readonly root: string;

  constructor(name: string) {
    this.root = temp.directory(name);
    mkdirSync(this.root, { recursive: true });
  }

  install(...args: readonly string[]): Promise<Outcome> {
    return run([agentBinary(), "install", "--root", this.root, ...args], { timeout: 60_000 });
  }

  uninstall(...args: readonly string[]): Promise<Outcome> {
    return run([agentBinary(), "uninstall", "--root", this.root, ...args], { timeout: 60_000 });
  }

  at(path: string): string {
    return join(this.root, path);
  }

  text(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  mode(path: string): string {
    return (statSync(this.at(path)).mode & 0o7777).toString(8);
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.at(path), ".."), { recursive: true });
    writeFileSync(this.at(path), text);
  }

  /** Everything below its root. */
  paths(): readonly string[] {
    return readdirSync(this.root, { recursive: true, encoding: "utf8" }).toSorted();
  }
}

test("installs everything below a directory, and a second time nothing", async () => {
  const machine = new Machine("first");
  const dry = await machine.install("--dry-run");
  expect(dry).toMatchObject({ code: 0, stderr: "" });
  expect(dry.stdout).toContain(`would write the agent, ${machine.at("usr/local/bin/agent")}`);
  expect(machine.paths()).toEqual([]);
  const first = await machine.install();
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(readFileSync(machine.at("usr/local/bin/agent")).equals(readFileSync(agentBinary()))).toBe(
    true,
  );
  for (const [path, mode] of [
    ["usr/local/bin/agent", "755"],
    ["usr/local/lib/agent/agent-launch", "755"],
    ["etc/systemd/system/agent.service", "644"],
    ["etc/agent/manifests", "755"],
    ["etc/agent/images", "755"],
    ["etc/agent/trust.d", "755"],
    ["etc/agent/agent.yaml", "644"],
    ["etc/cni/net.d/10-agent.conflist", "644"],
    ["var/lib/agent", "700"],
  ] as const)
    expect([path, machine.mode(path)]).toEqual([path, mode]);
  expect(machine.text("usr/local/lib/agent/agent-launch")).not.toMatch(/@[A-Z]+@/);
  expect(machine.text("etc/systemd/system/agent.service")).toContain(
    "\nExecStart=/usr/local/lib/agent/agent-launch run\n",
  );
  expect(machine.text("etc/cni/net.d/10-agent.conflist")).toContain("10.88.0.0/16");
  const checked = await run([
    agentBinary(),
    "config",
    "print",
    "--config",
    machine.at("etc/agent/agent.yaml"),
  ]);
  expect(checked).toMatchObject({ code: 0 });
  const before = machine.paths().map((path) => statSync(machine.at(path)).ino);
  const again = await machine.install();
  expect(again).toEqual({
    code: 0,
    stdout: "the agent is installed: there is nothing to do\n",
    stderr: "",
  });
  expect(machine.paths().map((path) => statSync(machine.at(path)).ino)).toEqual(before);
});

test("what is damaged or older is replaced, and nothing else", async () => {
  const machine = new Machine("older");
  await machine.install();
  machine.write("etc/systemd/system/agent.service", "[Service]\n");
  chmodSync(machine.at("usr/local/bin/agent"), 0o644);
  expect((await machine.install()).stdout.split("\n").filter((line) => line !== "")).toEqual([
    `set the mode of ${machine.at("usr/local/bin/agent")} to 755`,
    `replaced its unit, ${machine.at("etc/systemd/system/agent.service")}`,
  ]);
});

test("flags become fields of the configuration, whose comments stay, and copies of files", async () => {
  const machine = new Machine("flags");
  machine.write(
    "etc/agent/agent.yaml",
    "# of the factory\nlogLevel: debug # for now\nmqtt:\n  # the old broker\n  url: mqtt://old\n  profile: metered\n",
  );
  for (const name of ["ca", "cert", "key"]) machine.write(`stick/${name}`, `${name}\n`);
  machine.write("stick/root.pub", "public\n");
  const named = ["ca", "cert", "key"].flatMap((name) => [`--${name}`, machine.at(`stick/${name}`)]);
  const flags = ["--broker", "mqtts://broker.example:8883", "--name", "${serial}"];
  flags.push("--trust", machine.at("stick/root.pub"), ...named);
  expect(await machine.install(...flags)).toMatchObject({ code: 0, stderr: "" });
  expect(machine.text("etc/agent/agent.yaml")).toBe(
    [
      "# of the factory",
      "logLevel: debug # for now",
      "mqtt:",
      "  # the old broker",
      "  url: mqtts://broker.example:8883",
      "  profile: metered",
      "  caFile: /etc/agent/tls/ca.crt",
      "  certFile: /etc/agent/tls/client.crt",
      "  keyFile: /etc/agent/tls/client.key",
      "nodeName: ${serial}",
      "",
    ].join("\n"),
  );
  expect(machine.text("etc/agent/tls/client.key")).toBe("key\n");
  expect(machine.mode("etc/agent/tls/client.key")).toBe("600");
  expect(machine.text("etc/agent/trust.d/root.pub")).toBe("public\n");
  expect((await machine.install(...flags)).stdout).toContain("there is nothing to do");
});

test("a network that is there stays alone, and podCIDR is the subnet of a new one", async () => {
  const machine = new Machine("network");
  machine.write("etc/cni/net.d/87-podman.conflist", "{}\n");
  await machine.install();
  expect(readdirSync(machine.at("etc/cni/net.d"))).toEqual(["87-podman.conflist"]);
  const other = new Machine("subnet");
  other.write("etc/agent/agent.yaml", "podCIDR: 10.99.0.0/24\n");
  await other.install();
  expect(other.text("etc/cni/net.d/10-agent.conflist")).toContain("10.99.0.0/24");
});

test("refuses what is no YAML, and a file that is not there, and changes nothing", async () => {
  const machine = new Machine("wrong");
  machine.write("etc/agent/agent.yaml", "a: [\n");
  const refused = await machine.install("--broker", "mqtt://b");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("it is no valid YAML, correct it first");
  expect(refused.stderr).toContain(machine.at("etc/agent/agent.yaml"));
  expect(existsSync(machine.at("usr"))).toBe(false);
  const other = new Machine("missing");
  const missing = await other.install("--ca", "/nonexistent");
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(missing.stderr).toContain("/nonexistent");
  expect(other.paths()).toEqual([]);
});

test("uninstall keeps configuration and state, unless they are purged", async () => {
  const machine = new Machine("gone");
  await machine.install();
  expect(await machine.uninstall()).toMatchObject({ code: 1 });
  const dry = await machine.uninstall("--dry-run");
  expect(dry.stdout).toContain("the pods run on: the container runtime keeps them");
  expect(existsSync(machine.at("usr/local/bin/agent"))).toBe(true);
  expect(await machine.uninstall("--yes")).toMatchObject({ code: 0 });
  expect(existsSync(machine.at("usr/local/bin/agent"))).toBe(false);
  expect(existsSync(machine.at("etc/systemd/system/agent.service"))).toBe(false);
  expect(existsSync(machine.at("etc/agent/agent.yaml"))).toBe(true);
  expect(await machine.uninstall("--yes", "--purge")).toMatchObject({ code: 0 });
  expect(existsSync(machine.at("etc/agent"))).toBe(false);
  expect(existsSync(machine.at("var/lib/agent"))).toBe(false);
});

for (const part of ["launcher", "openrc", "sysv"])
  test(`the ${part} script is one for every shell`, async () => {
    const { stdout } = await run([agentBinary(), "install", "--print", part]);
    const script = join(temp.directory("scripts"), part);
    mkdirSync(join(script, ".."), { recursive: true });
    writeFileSync(script, stdout);
    for (const shell of [["dash"], ["bash", "--posix"]])
      expect(await run([...shell, "-n", script])).toEqual({ code: 0, stdout: "", stderr: "" });
  });

for (const shell of ["dash", "bash"])
  test(`the sysv script keeps its log small, and stops under ${shell} what it has started`, async () => {
    const directory = temp.directory(`sysv-${shell}`);
    mkdirSync(directory, { recursive: true });
    const { stdout } = await run([agentBinary(), "install", "--print", "sysv"]);
    const [launcher, pidFile] = [join(directory, "launch"), join(directory, "pid")];
    const log = join(directory, "log");
    writeFileSync(log, Buffer.alloc(11_000_000, "before\n"));
    writeFileSync(launcher, `#!/bin/sh\necho $$ >${directory}/agent\nexec sleep 1000\n`, {
      mode: 0o755,
    });
    const script = join(directory, "init");
    const text = stdout
      .replace("/usr/local/lib/agent/agent-launch", launcher)
      .replace("/run/agent.pid", pidFile)
      .replace("/var/log/agent.log", log);
    writeFileSync(script, text);
    expect(await run([shell, script, "start"])).toMatchObject({ code: 0 });
    const pid = await eventually("the agent runs", () =>
      // The shell makes the file before it writes the number.
      /^\d+(?=\n)/.exec(readFileSync(join(directory, "agent"), "utf8"))?.at(0),
    );
    expect(await run([shell, script, "status"])).toMatchObject({ code: 0 });
    await eventually("the log was emptied", () => statSync(log).size < 100);
    expect(readFileSync(`${log}.1`, "utf8")).toStartWith("before\nbefore\n");
    expect(await run([shell, script, "stop"])).toMatchObject({ code: 0 });
    await eventually("the agent has ended", () => !existsSync(`/proc/${pid}`), {
      timeout: 20_000,
    });
    expect(await run([shell, script, "status"])).toMatchObject({ code: 3 });
  });

test("data under pods that run is not purged, and a key that would not be read is refused", async () => {
  const purge = await run([agentBinary(), "uninstall", "--purge", "--dry-run"]);
  expect(purge).toMatchObject({ code: 2, stdout: "" });
  expect(purge.stderr).toContain("add --drain");
  const machine = new Machine("trust");
  machine.write("stick/key.pem", "public\n");
  const trust = await machine.install("--trust", machine.at("stick/key.pem"));
  expect(trust).toMatchObject({ code: 2, stdout: "" });
  expect(trust.stderr).toContain("*.pub");
  expect(existsSync(machine.at("etc"))).toBe(false);
});

test("systemd accepts the unit, which gets no mount namespace of its own", async () => {
  const { stdout: unit } = await run([
    agentBinary(),
    "install",
    "--print",
    "unit",
    "--prefix",
    "/usr",
  ]);
  for (const word of [
    "PrivateTmp",
    "ProtectSystem",
    "ProtectHome",
    "ReadOnlyPaths",
    "ProtectKernel",
  ])
    expect(unit).not.toContain(`${word}=`);
  const directory = temp.directory("unit");
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "agent.service");
  // What is not on this machine would be an error of its own.
  writeFileSync(path, unit.replace(/^ExecStart=.*$/m, "ExecStart=/bin/true"));
  const verified = await run(["systemd-analyze", "verify", "--man=no", path], { timeout: 60_000 });
  const own = verified.stderr.split("\n").filter((line) => line.includes("agent.service"));
  expect(own).toEqual([]);
  const score = await run(["systemd-analyze", "security", "--offline=true", path], {
    timeout: 60_000,
  });
  console.log(score.stdout.trim().split("\n").at(-1));
  expect(score.stdout).toContain("Overall exposure level");
});
