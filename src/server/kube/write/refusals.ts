// Why an object is not written or deleted, as answers. k8s: apimachinery errors

import type { FieldError } from "../../../lib/result.ts";
import type { Declared } from "../../../node/node-view-options.ts";
import { declaration } from "../../delete.ts";
import type { Answer } from "../../http/exchange.ts";
import type { KubeResource } from "../kube-resource.ts";
import { refusal } from "../kube-status.ts";
import { causeOf, invalidMessage } from "./judge-object.ts";

/** What the client wants. */
type ChangeVerb = "create" | "replace" | "apply" | "delete";
type Named = Pick<KubeResource, "name" | "kind">;

export function invalidObject(kind: string, name: string, errors: readonly FieldError[]): Answer {
  return refusal(422, invalidMessage(kind, name, errors), {
    details: { name, kind, causes: errors.map(causeOf) },
  });
}

export function declaredElsewhere(
  resource: Named,
  { name, verb }: { readonly name: string; readonly verb: ChangeVerb },
  { source, sourceRef }: Pick<Declared, "source" | "sourceRef">,
): Answer {
  const about = `${resource.name} ${JSON.stringify(name)}`;
  if (source === "agent") return conflict(resource, name, `${about} is the node's own`);
  const { place, remedy } = declaration({ source, sourceRef });
  const todo = verb === "delete" ? remedy : `change it there, or ${remedy} first`;
  return conflict(resource, name, `${about} is declared by ${place}: ${todo}`, verb);
}

/** `why`: such as `was edited and has several objects`. */
export function foreignFile(
  resource: Named,
  { name, verb }: { readonly name: string; readonly verb: ChangeVerb },
  { path, why }: { readonly path: string; readonly why: string },
): Answer {
  const message = `${resource.name} ${JSON.stringify(name)}: ${path} ${why}: edit it there, or move the file away first`;
  return conflict(resource, name, message, verb);
}

/** kubectl explains a Conflict of an apply by managers of fields, which this is not. */
function conflict(
  { name: kind }: Named,
  name: string,
  message: string,
  verb: ChangeVerb = "delete",
): Answer {
  const reason = verb === "create" || verb === "apply" ? "AlreadyExists" : "Conflict";
  return refusal(409, message, { reason, details: { name, kind } });
}

export function alreadyExists({ name: kind }: Named, name: string): Answer {
  const message = `${kind} ${JSON.stringify(name)} already exists`;
  return refusal(409, message, { reason: "AlreadyExists", details: { name, kind } });
}

/** k8s: NewConflict */
export function outdated({ name: kind }: Named, name: string, why: string): Answer {
  const message = `Operation cannot be fulfilled on ${kind} ${JSON.stringify(name)}: ${why}`;
  return refusal(409, message, { details: { name, kind } });
}

export const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

/** Of a precondition. */
export function otherUID(asked: string, found: string): string {
  return `the UID in the precondition (${asked}) does not match the UID in record (${found}). The object might have been deleted and then recreated`;
}
