// Why a node without an API server refuses a field: the reasons that several fields share.

import type { Refusal } from "../decode/field-rules.ts";

export const NO_SERVICE_ACCOUNTS: Refusal = {
  code: "NeedsAPIServer",
  message: "needs a Kubernetes API server; leave it out or say default",
};

export const NO_SCHEDULER: Refusal = {
  code: "Unsupported",
  message: "needs a Kubernetes API server and scheduler; leave it out",
};

export const NO_WINDOWS: Refusal = {
  code: "Unsupported",
  message: "this node runs Linux containers only",
};

/** Something that only an API server hands out. */
export function needsAPIServer(what: string, instead: string): Refusal {
  return {
    code: "NeedsAPIServer",
    message: `${what} needs a Kubernetes API server; use ${instead}`,
  };
}
