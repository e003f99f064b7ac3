// kubectl's `--field-selector`: which values an object must have.

import { failed, ok, type Result } from "../../lib/result.ts";
import type { V1Object } from "../../node/v1-shape.ts";
import type { KubeResource } from "./kube-resource.ts";
import { valueAt } from "./object-meta.ts";

export interface FieldRequirement {
  readonly path: string;
  readonly isEqual: boolean;
  readonly value: string;
}

const REQUIREMENT = /^([\w.]+)(==|=|!=)(.*)$/;
const META = ["metadata.name", "metadata.namespace"];

/** `status.phase=Running,metadata.name!=web`; every part must hold. Empty = no requirement. */
export function parseFieldSelector(
  written: string,
  { name, selectable }: Pick<KubeResource, "name" | "selectable">,
): Result<readonly FieldRequirement[]> {
  if (written.trim() === "") return ok([]);
  const supported = [...META, ...selectable];
  const requirements: FieldRequirement[] = [];
  for (const part of written.split(",").map((one) => one.trim())) {
    const [, path = "", operator = "", value = ""] = REQUIREMENT.exec(part) ?? [];
    if (path === "")
      return refuse(
        `cannot read "${part}" of the field selector; write FIELD=VALUE or FIELD!=VALUE`,
      );
    if (!supported.includes(path))
      return refuse(`field label not supported: ${path}; ${name} have ${supported.join(", ")}`);
    requirements.push({ path, isEqual: operator !== "!=", value });
  }
  return ok(requirements);
}

function refuse(message: string): Result<readonly FieldRequirement[]> {
  return failed([{ path: "fieldSelector", message, code: "Invalid" }]);
}

/** An absent field is "". */
export function matchesFields(object: V1Object, selector: readonly FieldRequirement[]): boolean {
  return selector.every(({ path, isEqual, value }) => {
    const found = valueAt(object, path);
    const text = typeof found === "string" || typeof found === "number" ? String(found) : "";
    return (text === value) === isEqual;
  });
}
