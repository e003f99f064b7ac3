// A systemd-logind on a bus of its own, beside a systemd that pretends to shut down: nothing reaches the machine's own.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const LOGIND = ["/usr/lib/systemd/systemd-logind", "/lib/systemd/systemd-logind"];
const SYSTEMD = "org.freedesktop.systemd1";
const SYSTEMD_PATH = "/org/freedesktop/systemd1";
const MANAGER = `${SYSTEMD}.Manager`;
const JOB = `${SYSTEMD_PATH}/job/1`;

const CONFIGURATION = (path: string): string => `<!DOCTYPE busconfig PUBLIC
 "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=${path}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
    <allow user="*"/>
  </policy>
</busconfig>
`;

/** Why it cannot run here; undefined = it can. */
export function whyNoLogind(): string | undefined {
  const needed = ["dbus-daemon", "busctl", "systemd-inhibit"].filter(
    (name) => Bun.which(name) === null,
  );
  const mock = Bun.spawnSync(["/usr/bin/python3", "-c", "import dbusmock"]);
  if (mock.exitCode !== 0) needed.push("python3-dbusmock");
  return needed.length === 0 ? undefined : `needs ${needed.join(", ")}`;
}

export class PrivateBus implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "agent-bus-"));
  readonly #children: Bun.Subprocess[] = [];
  /** Of `DBUS_SYSTEM_BUS_ADDRESS`. */
  readonly address = `unix:path=${this.#directory}/bus`;

  static async started(): Promise<PrivateBus> {
    const bus = new PrivateBus();
    await bus.#start();
    return bus;
  }

  async #start(): Promise<void> {
    const file = join(this.#directory, "bus.conf");
    writeFileSync(file, CONFIGURATION(join(this.#directory, "bus")));
    this.#spawn(["dbus-daemon", `--config-file=${file}`, "--nofork", "--nopidfile"]);
    await this.#until(["list"]);
    const mock = ["-m", "dbusmock", "--system", SYSTEMD, SYSTEMD_PATH, MANAGER];
    this.#spawn(["/usr/bin/python3", ...mock]);
    await this.#until(["introspect", SYSTEMD, SYSTEMD_PATH]);
    const add = (name: string, from: string, to: string, code: string): void =>
      this.#mock("AddMethod", "sssss", MANAGER, name, from, to, code);
    add("StartUnit", "ss", "o", `ret = dbus.ObjectPath("${JOB}")`);
    add("KillUnit", "ssi", "", "");
    const unit = `${SYSTEMD_PATH}/unit/poweroff_2etarget`;
    const loaded = ["1", "LoadState", "s", "loaded", "0"];
    this.#mock("AddObject", "ssa{sv}a(ssss)", unit, `${SYSTEMD}.Unit`, ...loaded);
    await this.startLogind();
  }

  async startLogind(): Promise<Bun.Subprocess> {
    const path = LOGIND.find((one) => Bun.file(one).size > 0) ?? "systemd-logind";
    const logind = this.#spawn([path]);
    const property = ["org.freedesktop.login1.Manager", "InhibitDelayMaxUSec"];
    await this.#until([
      "get-property",
      "org.freedesktop.login1",
      "/org/freedesktop/login1",
      ...property,
    ]);
    return logind;
  }

  powerOff(): void {
    const manager = ["/org/freedesktop/login1", "org.freedesktop.login1.Manager"];
    this.#call("call", "org.freedesktop.login1", ...manager, "PowerOff", "b", "false");
  }

  /** What systemd says when the target has been reached, or has not. */
  endJob(): void {
    const job = ["u", "1", "o", JOB, "s", "poweroff.target", "s", "done"];
    this.#mock("EmitSignal", "sssav", MANAGER, "JobRemoved", "uoss", "4", ...job);
  }

  /** What holds a lock. */
  inhibitors(): readonly string[] {
    const manager = ["/org/freedesktop/login1", "org.freedesktop.login1.Manager"];
    const text = this.#call(
      "call",
      "--json=short",
      "org.freedesktop.login1",
      ...manager,
      "ListInhibitors",
    );
    const { data } = JSON.parse(text) as { readonly data: readonly (readonly string[][])[] };
    return (data[0] ?? []).map(([what, who, , mode]) => `${what} ${who} ${mode}`);
  }

  #mock(method: string, signature: string, ...args: readonly string[]): void {
    const mock = [SYSTEMD, SYSTEMD_PATH, "org.freedesktop.DBus.Mock"];
    this.#call("call", ...mock, method, signature, ...args);
  }

  #call(...args: readonly string[]): string {
    const { exitCode, stdout, stderr } = this.#run(args);
    if (exitCode !== 0) throw new Error(`busctl ${args.join(" ")}: ${stderr.toString()}`);
    return stdout.toString();
  }

  #run(args: readonly string[]) {
    return Bun.spawnSync(["busctl", ...args], { env: this.#env, timeout: 10_000 });
  }

  async #until(args: readonly string[]): Promise<void> {
    for (let tries = 0; tries < 300; tries += 1) {
      if (this.#run(args).exitCode === 0) return;
      await Bun.sleep(50);
    }
    throw new Error(`no answer to busctl ${args.join(" ")}`);
  }

  get #env(): Readonly<Record<string, string>> {
    return { PATH: process.env["PATH"] ?? "", DBUS_SYSTEM_BUS_ADDRESS: this.address };
  }

  #spawn(command: readonly string[]): Bun.Subprocess {
    const child = Bun.spawn([...command], {
      env: this.#env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    this.#children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children.toReversed()) {
      child.kill();
      await child.exited;
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
