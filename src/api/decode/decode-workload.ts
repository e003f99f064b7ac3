// A Deployment, DaemonSet or StatefulSet → the one pod that it runs on this node, and its claims.

import {
  mergeDecoded,
  NOTHING_DECODED,
  type DecodeContext,
  type DecodedItem,
  type DecodedObject,
} from "./decode-context.ts";
import { decodedItem, notices, podItem, rejected } from "./decoded-item.ts";
import { decodePod } from "./decode-pod.ts";
import { Findings } from "./field-errors.ts";
import type { Locate } from "./field-path.ts";
import { unknownFieldsOf } from "../pod/pod-annotations.ts";
import type { DesiredObject } from "../v1/object/local-object.ts";
import { CLAIM } from "../v1/object/claim.ts";
import { replicatedOf, type Replicated } from "../workload/replicated.ts";
import { locateIn, placeInTemplate, podOf, type Owner } from "../workload/template-pod.ts";
import { claimOf, setPlan } from "../workload/stateful-set.ts";
import { replicaName, versionOf, type WorkloadKind } from "../workload/workload-kinds.ts";
import { applyRewrites } from "../yaml/apply-rewrites.ts";
import type { JsonObject } from "../../lib/json.ts";
import { failed, ok, type Result } from "../../lib/result.ts";

const TEMPLATE = ["spec", "template"] as const;

export function decodeWorkload(
  value: JsonObject,
  kind: WorkloadKind,
  context: DecodeContext,
): DecodedObject {
  const { locate, lenient = false, budget } = context;
  const findings = new Findings({ locate, lenient, budget, unknownFields: unknownFieldsOf(value) });
  const workload = replicatedOf(kind, { findings, path: [], value });
  if (workload === undefined || workload.metadata.name === "")
    return rejected(value, context, findings.errors);
  const { replicas } = workload;
  if (replicas > 1)
    findings.warn(["spec", "replicas"], "Ignored", `1 of ${replicas} replicas runs on this node`);
  const owner: Owner = { apiVersion: versionOf(kind), kind, ...workload.metadata };
  const pod = decodeReplica(workload, owner, context);
  const claims = (workload.set?.claims ?? []).map((claim, index) =>
    decodeClaim(claim, index, { workload, context }),
  );
  const errors = [
    ...(lenient ? [] : findings.errors),
    ...(pod.ok ? [] : pod.errors),
    ...claims.flatMap((claim) => (claim.ok ? [] : claim.errors)),
  ];
  if (errors.length > 0 || !pod.ok) return rejected(value, context, errors);
  const warnings = [...findings.warnings, ...pod.warnings];
  return mergeDecoded([
    {
      ...NOTHING_DECODED,
      pods: replicas === 0 ? [] : [pod.value],
      objects: claims.flatMap((claim) => (claim.ok ? [claim.value] : [])),
      notices: notices(value, context, warnings),
    },
  ]);
}

function decodeReplica(
  workload: Replicated,
  owner: Owner,
  context: DecodeContext,
): Result<DecodedPod> {
  const name = replicaName(owner.name, workload.set?.ordinal);
  const plan = workload.set === undefined ? { name } : setPlan(name, owner, workload.set);
  const within = { ...context, locate: locateIn(context.locate, TEMPLATE) };
  const decoded = decodePod(podOf(workload.template, owner, plan), within);
  if (decoded.ok) return ok(podItem(decoded.value, context), placed(decoded.warnings));
  return failed(placed(decoded.errors));
}
type DecodedPod = DecodedObject["pods"][number];

function placed<E extends Parameters<typeof placeInTemplate>[0]>(
  errors: readonly E[],
): ReturnType<typeof placeInTemplate>[] {
  return errors.map((error) => placeInTemplate(error, TEMPLATE.join(".")));
}

interface ClaimContext {
  readonly workload: Replicated;
  readonly context: DecodeContext;
}

/** A claim template, as a claim with the name that the pod uses. */
function decodeClaim(
  template: JsonObject,
  index: number,
  { workload, context }: ClaimContext,
): Result<DecodedItem<DesiredObject>> {
  const path = ["spec", "volumeClaimTemplates", index];
  const locate: Locate | undefined =
    context.locate && ((below) => context.locate?.([...path, ...below]));
  const { lenient = false, budget, source, sourceRef } = context;
  const findings = new Findings({ locate, lenient, budget });
  const value = claimOf(template, workload);
  const object = CLAIM.read({ findings, path: [], value });
  const isUsable = lenient ? object?.metadata.name !== "" : findings.errors.length === 0;
  if (object === undefined || !isUsable)
    return failed(
      findings.errors.map((error) => placeInTemplate(error, `spec.volumeClaimTemplates[${index}]`)),
    );
  const desired = { object, source, sourceRef };
  return ok(decodedItem(desired, applyRewrites(value, findings), context));
}
