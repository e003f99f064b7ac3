// Performs: asks the kernel to end the agent last when memory runs out. kubelet: oomScoreAdj

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";

/** kubelet: KubeletOOMScoreAdj */
const SCORE = -999;

/** Never throws: what cannot be set is a warning and a condition. `root` = "/" except in tests. */
export function protectFromOom(log: Logger, root = "/"): readonly NodeCondition[] {
  try {
    // r+: a file that the kernel lacks must not be created.
    writeFileSync(join(root, "proc/self/oom_score_adj"), String(SCORE), { flag: "r+" });
    return [];
  } catch (error) {
    const message = `the kernel may end the agent when memory runs out, because its oom_score_adj cannot be set to ${SCORE} (${messageOf(error)}): give it CAP_SYS_RESOURCE, or set OOMScoreAdjust=${SCORE} in its unit`;
    log.warn("the agent is not protected from the OOM killer", { why: messageOf(error) });
    return [{ type: "OOMUnprotected", status: "True", reason: "CannotSetScore", message }];
  }
}
