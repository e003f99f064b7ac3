// A device: an emulated arm64 machine with its own disk, started, asked, rebooted, and cut from its power.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Mulberry32 } from "../fakes/mulberry32.ts";
import { spawnDaemon } from "../harness/daemon.ts";
import { eventually, Hopeless } from "../harness/eventually.ts";
import { output, type CommandResult } from "../harness/run-command.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";
import type { BaseImage } from "./base-image.ts";
import { ControlPort, GuestGone } from "./control-port.ts";
import { emulator } from "./emulator.ts";
import { LossyDisk, type Lost } from "./lossy-disk.ts";

const DISK = "disk.raw";
const BOOT_TIMEOUT = 600_000;
const SCRIPT_SECONDS = 240;

/** The device may appear after the first program of the boot runs. */
const MOUNT_PAYLOAD = `mkdir -p /run/payload
for try in 1 2 3 4 5 6 7 8 9 10; do
  mount -t 9p -o ro,trans=virtio,version=9p2000.L payload /run/payload && exit 0
  sleep 3
done
exit 1`;

/** No default route: it reaches the host's loopback, and nothing else. */
const UPLINK = `for try in 1 2 3 4 5 6 7 8 9 10; do
  for device in /sys/class/net/e*; do
    ip address replace 10.0.2.15/24 dev "\${device##*/}" && ip link set "\${device##*/}" up && exit 0
  done
  sleep 3
done
exit 1`;

export interface GuestOptions {
  readonly image: BaseImage;
  readonly temp: TempDirectory;
  readonly name: string;
  readonly memoryMegabytes?: number;
  /** Mounted read-only at /payload. */
  readonly payload?: string;
  /** What the clock says at each start, e.g. `1970-01-01T00:00:10`; absent = now. */
  readonly clock?: string;
  /** Begins with the disk of another guest, as it is now; absent = with the base image. */
  readonly copyOf?: Guest;
  /** Whether it reaches the host's loopback, at emulator.ts' `HOST`; absent = it has no network device. */
  readonly uplink?: boolean;
  /** Of the chances at a power cut. */
  readonly seed?: number;
}

export class Guest {
  readonly #disk: LossyDisk;
  readonly #options: GuestOptions;
  readonly #directory: string;
  #clock: string | undefined;
  #boots = 0;
  #child: Bun.Subprocess | undefined;
  #port = new ControlPort();

  private constructor(options: GuestOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#directory = options.temp.directory(options.name);
    this.#disk = new LossyDisk(this.diskFile, new Mulberry32(options.seed ?? 1));
  }

  /** Makes its disk; starts nothing. */
  static async make(options: GuestOptions): Promise<Guest> {
    const { copyOf, image, temp, name } = options;
    const source = copyOf === undefined ? image.disk : copyOf.diskFile;
    if (copyOf !== undefined) copyOf.#disk.flush();
    const file = join(temp.directory(name), DISK);
    await output(["cp", "--sparse=always", "--reflink=auto", source, file], BOOT_TIMEOUT);
    return new Guest(options);
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null;
  }

  /** Counts the starts of the emulator. */
  get boots(): number {
    return this.#boots;
  }

  /** From the next start on. */
  setClock(clock: string | undefined): void {
    this.#clock = clock;
  }

  /** Switches it on; returns when its root shell answers. */
  async start(): Promise<void> {
    this.switchOn();
    await this.waitShell();
  }

  /** Switches it on and returns at once. */
  switchOn(): void {
    this.#boots += 1;
    const control = join(this.#directory, "control.sock");
    rmSync(control, { force: true });
    const { image, payload, memoryMegabytes = 1024, uplink = false } = this.#options;
    const diskSocket = join(this.#directory, "disk.sock");
    this.#disk.listen(diskSocket);
    const disk = `file.driver=nbd,file.server.type=unix,file.server.path=${diskSocket},driver=raw,cache=none`;
    const command = emulator({
      kernel: image.kernel,
      initrd: image.initrd,
      disk,
      memoryMegabytes,
      console: this.consoleFile,
      control,
      uplink,
      ...(payload === undefined ? {} : { payload }),
      ...(this.#clock === undefined ? {} : { clock: this.#clock }),
    });
    this.#child = spawnDaemon(command, {
      temp: this.#options.temp,
      logFile: join(this.#directory, "emulator.log"),
    });
    this.#port = new ControlPort();
  }

  async waitShell(): Promise<void> {
    await this.#port.connect(join(this.#directory, "control.sock"));
    const hello = this.#port.exec("echo hello", 60);
    const answer = await Promise.race([hello, this.#endOf(), Bun.sleep(BOOT_TIMEOUT)]);
    if (answer?.stdout !== "hello\n")
      throw new Error(`the guest did not boot\n${this.consoleTail()}`);
    if (this.#options.payload !== undefined) await this.sh(MOUNT_PAYLOAD);
    if (this.#options.uplink === true) await this.sh(UPLINK);
  }

  /** Runs a shell script as root, to its end. */
  async exec(script: string, seconds = SCRIPT_SECONDS): Promise<CommandResult> {
    return this.#port.exec(script, seconds);
  }

  /** The standard output of a script; throws when it fails. */
  async sh(script: string, seconds?: number): Promise<string> {
    const { code, stdout, stderr } = await this.exec(script, seconds);
    if (code === 0) return stdout;
    throw new Error(
      `in the guest, ${script}\nended with ${code}: ${stderr}${stdout}`.slice(0, 4_000),
    );
  }

  /** Whole or not at all: temp name, fsync, rename. */
  async writeFile(path: string, content: string, mode = "644"): Promise<void> {
    const text = Buffer.from(content).toString("base64");
    const temp = `${path.replace(/[^/]*$/, "")}.written-by-the-test`;
    await this.sh(
      `mkdir -p "$(dirname '${path}')" && base64 -d >'${temp}' <<'END' && chmod ${mode} '${temp}' && sync '${temp}' && mv '${temp}' '${path}' && sync "$(dirname '${path}')"\n${text}\nEND`,
    );
  }

  /** The emulator is killed at once; what the guest had not flushed to its disk is lost in part. */
  async powerCut(): Promise<Lost> {
    this.#child?.kill("SIGKILL");
    await this.#child?.exited;
    this.#port.close();
    return this.#disk.cutPower();
  }

  /** Its disk stops at that flush from now on; `powerCut` has to follow. */
  async diskDiesAtFlush(flushes: number): Promise<void> {
    return this.#disk.dieAtFlush(flushes);
  }

  /** An orderly end of the guest's system. */
  async powerOff(verb: "poweroff" | "reboot" = "poweroff"): Promise<void> {
    // The answer may not come: the shell is ended too.
    await this.exec(`systemctl ${verb} --no-block`).catch((thrown: unknown) => {
      if (!(thrown instanceof GuestGone)) throw thrown;
    });
    await eventually("the guest has switched itself off", () => !this.running, {
      timeout: BOOT_TIMEOUT,
      explain: () => this.consoleTail(),
    });
    this.#port.close();
    this.#disk.flush();
  }

  async reboot(): Promise<void> {
    await this.powerOff("reboot");
    await this.start();
  }

  /** Waits until a script succeeds in the guest, and gives its output. */
  async until(what: string, script: string, timeout = 300_000): Promise<string> {
    const look = async (): Promise<string> => {
      if (!this.running) throw new Hopeless(`the guest has gone\n${this.consoleTail()}`);
      return (await this.sh(script)) || "\n";
    };
    return eventually(what, look, { timeout, interval: 5_000 });
  }

  /** Its disk; the guest is switched off while others use it. */
  get diskFile(): string {
    return join(this.#directory, DISK);
  }

  get consoleFile(): string {
    return join(this.#directory, `console-${this.#boots}.log`);
  }

  consoleTail(lines = 30): string {
    const log = this.consoleFile;
    const text = existsSync(log) ? readFileSync(log, "utf8") : "";
    return `the last lines of its console:\n${text.trimEnd().split("\n").slice(-lines).join("\n")}`;
  }

  async #endOf(): Promise<undefined> {
    await this.#child?.exited;
  }
}
