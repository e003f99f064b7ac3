// The command line of the emulator: a small arm64 machine, without a network device unless it shall have one.

export interface Machine {
  readonly kernel: string;
  readonly initrd: string;
  /** Of `-drive`: where the disk is, and its cache. */
  readonly disk: string;
  /** Further words of the kernel's command line. */
  readonly append?: string;
  readonly memoryMegabytes: number;
  /** A file that gets what the kernel and systemd say. */
  readonly console: string;
  /** A unix socket; the port "control" of the guest. */
  readonly control?: string;
  /** A directory that the guest may mount read-only, by the tag "payload". */
  readonly payload?: string;
  /** Of `-rtc base=`; absent = now. */
  readonly clock?: string;
  /** A network of its own with `HOST`; absent = no network device. */
  readonly uplink?: boolean;
}

/** On a guest's uplink: this machine's loopback. Without a default route it reaches nothing else. */
export const HOST = "10.0.2.2";

/** One option with its value in each row. */
export function emulator(machine: Machine): readonly string[] {
  const { clock, control, payload, uplink = false } = machine;
  const rows: readonly (readonly string[])[] = [
    ["-nodefaults", "-no-user-config", "-no-reboot"],
    ["-display", "none"],
    ...(uplink ? UPLINK : [["-nic", "none"]]),
    ["-M", "virt"],
    ["-cpu", "cortex-a72"],
    ["-smp", "2"],
    ["-m", String(machine.memoryMegabytes)],
    ["-accel", "tcg,thread=multi,tb-size=256"],
    ["-kernel", machine.kernel],
    ["-initrd", machine.initrd],
    ["-append", `console=ttyAMA0 loglevel=5 panic=-1 ${machine.append ?? ""}`.trim()],
    ["-drive", `if=none,id=disk,${machine.disk}`],
    ["-device", "virtio-blk-pci,drive=disk"],
    ["-device", "virtio-rng-pci"],
    ["-serial", `file:${machine.console}`],
    clock === undefined ? [] : ["-rtc", `base=${clock}`],
    ...(control === undefined ? [] : controlPort(control)),
    payload === undefined ? [] : ["-virtfs", shared(payload)],
  ];
  return ["qemu-system-aarch64", ...rows.flat()];
}

const UPLINK: readonly (readonly string[])[] = [
  ["-netdev", "user,id=uplink,ipv6=off"],
  // Nothing is booted from it: no ROM.
  ["-device", "virtio-net-pci,netdev=uplink,romfile="],
];

function controlPort(socket: string): readonly (readonly string[])[] {
  return [
    ["-device", "virtio-serial-pci"],
    ["-chardev", `socket,id=control,path=${socket},server=on,wait=off`],
    ["-device", "virtserialport,chardev=control,name=control"],
  ];
}

function shared(directory: string): string {
  return `local,path=${directory},mount_tag=payload,security_model=none,readonly=on`;
}
