// Exchanges two paths for as long as it lives, as a hostile pod does: `bun swaps-until-killed.ts ONE OTHER`.

import { dlopen, ptr } from "bun:ffi";

const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;

const { symbols } = dlopen("libc.so.6", {
  renameat2: { args: ["i32", "ptr", "i32", "ptr", "u32"], returns: "i32" },
});
const [one = "", other = ""] = process.argv.slice(2).map((path) => Buffer.from(`${path}\0`));
const exchange = (): number =>
  symbols.renameat2(
    AT_FDCWD,
    ptr(Buffer.from(one)),
    AT_FDCWD,
    ptr(Buffer.from(other)),
    RENAME_EXCHANGE,
  );

if (exchange() !== 0) process.exit(1);
process.stdout.write("swapping\n");
for (;;) exchange();
