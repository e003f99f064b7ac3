// The node's condition `CgroupLimited`: which limits this machine cannot set, why, and what helps.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { CgroupController, CgroupFacts, CgroupFailure } from "../../host/cgroups.ts";

/** The machine, with what helps where its memory cannot be limited. */
type Machine = Pick<CgroupFacts, "controllers" | "mountPoint"> & {
  readonly memoryRemedy: string | undefined;
};

/** Failures shown one by one. */
const SHOWN = 3;

/** None while everything can be set. */
export function cgroupConditions(
  failures: readonly CgroupFailure[],
  machine: Machine,
): readonly NodeCondition[] {
  if (failures.length === 0) return [];
  const isMissing = ({ value }: CgroupFailure): boolean =>
    !machine.controllers.includes(value.controller);
  const missing = [...new Set(failures.filter(isMissing).map(({ value }) => value.controller))];
  const unwritable = failures.filter((failure) => !isMissing(failure));
  const sentences = [
    ...missing.map((controller) => missingText(controller, machine)),
    ...unwritableText(unwritable),
  ];
  return [
    {
      type: "CgroupLimited",
      status: "True",
      reason: unwritable.length === 0 ? "ControllerMissing" : "CannotWrite",
      message: `limits are not in force: ${sentences.join("; ")}`,
    },
  ];
}

function missingText(controller: CgroupController, { memoryRemedy, mountPoint }: Machine): string {
  const remedy = controller === "memory" ? memoryRemedy : undefined;
  return (
    remedy ??
    `the kernel has no ${controller} cgroup: enable the controller in the kernel, or mount it below ${mountPoint}`
  );
}

function unwritableText(failures: readonly CgroupFailure[]): readonly string[] {
  if (failures.length === 0) return [];
  const shown = failures.slice(0, SHOWN).map(({ message }) => message);
  const more = failures.length > SHOWN ? [`${failures.length - SHOWN} more`] : [];
  return [
    `${[...shown, ...more].join(", ")} (the agent needs a writable cgroup file system, and cgroups that exist)`,
  ];
}
