// Serves a FUSE file system by answering nothing: `bun hangs-until-killed.ts DIRECTORY`.

import { closeSync, openSync } from "node:fs";
import { mount } from "../../src/host/libc.ts";

/** A caller that hangs although it should not gets an error by then, so that its test fails instead of waiting for ever. */
const AT_MOST_MS = 60_000;

const fd = openSync("/dev/fuse", "r+");
const options = `fd=${fd},rootmode=40000,user_id=0,group_id=0`;
const errno = mount("hung", process.argv[2] ?? "", { type: "fuse", options });
if (errno !== 0) process.exit(1);
process.stdout.write("mounted\n");
setTimeout(() => {
  closeSync(fd);
  process.exit(0);
}, AT_MOST_MS);
