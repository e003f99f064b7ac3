// `DELETE …/persistentvolumeclaims/<name>?data=true`: removes what a claim holds, for good. The claim itself goes where
// it is declared, and its directory outlives it.

import { json, text, type Answer } from "./answer.ts";
import type { NamedClaim, ClaimOutcome } from "../volume/claim-data.ts";

const PARAMETER = "data";

export interface ClaimRequest {
  readonly claim: NamedClaim;
  readonly query: URLSearchParams;
}

export function answerForClaim(
  { claim, query }: ClaimRequest,
  remove: (claim: NamedClaim) => ClaimOutcome,
): Answer {
  const name = `${claim.namespace}/${claim.name}`;
  if (query.getAll(PARAMETER).join() !== "true")
    return text(
      400,
      `nothing was removed: this would remove everything in the directory of the claim ${name} for good; add ?${PARAMETER}=true if that is meant`,
    );
  const outcome = remove(claim);
  switch (outcome.type) {
    case "Removed":
      return json(success(claim));
    case "InUse":
      return text(
        409,
        `the claim ${name} is used by ${outcome.pods.join(", ")}: remove these pods first and wait until they are gone`,
      );
    case "NotFound":
      return text(
        404,
        `persistentvolumeclaims "${claim.name}" in namespace "${claim.namespace}" has no data on this node`,
      );
    case "Failed":
      return text(500, `the data of the claim ${name} could not be removed: ${outcome.message}`);
  }
}

/** k8s: metav1.Status */
function success({ namespace, name }: NamedClaim): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    message: `the data of the claim ${namespace}/${name} is gone`,
    details: { name, kind: "persistentvolumeclaims" },
    code: 200,
  };
}
