// Writes docs/pod-spec.md: bun test/pod-spec/generate.ts

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { podSpecDocument } from "./document.ts";

writeFileSync(join(import.meta.dir, "../../docs/pod-spec.md"), podSpecDocument());
