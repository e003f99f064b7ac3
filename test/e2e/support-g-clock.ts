// Run as a program: becomes another one whose kernel says of the clock what the test wants, whatever the machine's clock is.
// bun support-g-clock.ts (synchronised|adrift) PROGRAM [ARGUMENT]…
// A seccomp filter answers adjtimex for this process and its children only; nothing of the machine is changed.

import { dlopen, ptr } from "bun:ffi";

/** adjtimex and clock_adjtime; glibc asks the second. */
const CALLS = process.arch === "arm64" ? [171, 266] : [159, 305];
const PR_SET_SECCOMP = 22;
const SECCOMP_MODE_FILTER = 2n;
const LOAD_NUMBER = 0x20;
const JUMP_IF_EQUAL = 0x15;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
/** With errno 0 the call succeeds and fills nothing in: TIME_OK, no STA_UNSYNC. */
const FAIL_WITH = 0x00050000;
const EPERM = 1;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

function filter(errno: number): readonly Instruction[] {
  const [first = 0, second = 0] = CALLS;
  return [
    [LOAD_NUMBER, 0, 0, 0],
    [JUMP_IF_EQUAL, 2, 0, first],
    [JUMP_IF_EQUAL, 1, 0, second],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, FAIL_WITH | errno],
  ];
}

function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value, at + 4);
  }
  return bytes;
}

/** Never returns. */
function become(errno: number, command: readonly string[]): never {
  const { symbols: libc } = dlopen("libc.so.6", {
    prctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
    execv: { args: ["ptr", "ptr"], returns: "i32" },
  });
  const code = encode(filter(errno));
  const program = Buffer.alloc(16);
  program.writeUInt16LE(code.length / 8, 0);
  program.writeBigUInt64LE(BigInt(ptr(code)), 8);
  const words = command.map((word) => Buffer.from(`${word}\0`));
  const list = new BigUint64Array([...words.map((word) => BigInt(ptr(word))), 0n]);
  const [path] = words;
  if (path === undefined) throw new Error("no program is named");
  if (libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ptr(program)) !== 0)
    throw new Error("the kernel takes no filter");
  libc.execv(ptr(path), ptr(list));
  throw new Error(`${command.join(" ")} cannot be run`);
}

if (import.meta.main) {
  const [clock, ...command] = process.argv.slice(2);
  if (clock !== "synchronised" && clock !== "adrift") throw new Error("synchronised or adrift?");
  become(clock === "synchronised" ? 0 : EPERM, command);
}
