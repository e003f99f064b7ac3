// A PersistentVolumeClaim as written → a claim: a local directory, whose size and modes are for showing. k8s: ValidatePersistentVolumeClaimSpec

import type { WrittenMetadata } from "../../v1/metadata.ts";
import { quantityField } from "../container/decode-resources.ts";
import {
  checkFields,
  choiceField,
  invalid,
  isUnwritten,
  objectField,
  placeOf,
  required,
  stringList,
  unsupported,
  type Node,
} from "../field-reader.ts";
import type { PersistentVolumeClaim } from "../../v1/local-object.ts";
import { CLAIM_RESOURCES, CLAIM_SPEC } from "../../schema/local-objects.ts";

const ALONE = "ReadWriteOncePod";
const ACCESS_MODES: readonly string[] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ALONE];

export function decodeClaim(root: Node, metadata: WrittenMetadata): PersistentVolumeClaim {
  const kind = "PersistentVolumeClaim";
  const spec = objectField(root, "spec");
  if (spec === undefined) {
    if (isUnwritten(root, "spec")) required(root, "spec");
    return { kind, metadata, accessModes: [] };
  }
  checkFields(spec, CLAIM_SPEC);
  choiceField(spec, "volumeMode", ["Block", "Filesystem"]);
  const storage = storageField(spec);
  return {
    kind,
    metadata,
    accessModes: accessModes(spec),
    ...(storage === undefined ? {} : { storage }),
  };
}

function accessModes(spec: Node): readonly string[] {
  const modes = stringList(spec, "accessModes");
  const key = "accessModes";
  if (modes.length === 0 && Array.isArray(spec.value[key] ?? []))
    required(spec, key, "at least 1 access mode is required");
  for (const text of modes)
    if (!ACCESS_MODES.includes(text))
      unsupported(placeOf(spec, key), { text, choices: ACCESS_MODES });
  if (modes.includes(ALONE) && modes.some((mode) => mode !== ALONE)) {
    const message = `Forbidden: may not use ${ALONE} with other access modes`;
    spec.findings.fail([...spec.path, key], "Invalid", message);
  }
  return modes;
}

/** Nothing is done with them, but what is no quantity is a slip of the pen. */
function judgeAmounts(
  node: Node | undefined,
  isOther: (key: string) => boolean = () => true,
): void {
  if (node === undefined) return;
  for (const key of Object.keys(node.value)) if (isOther(key)) quantityField(node, key);
}

function storageField(spec: Node): string | undefined {
  const resources = objectField(spec, "resources");
  if (resources !== undefined) checkFields(resources, CLAIM_RESOURCES);
  const requests = resources === undefined ? undefined : objectField(resources, "requests");
  judgeAmounts(requests, (key) => key !== "storage");
  judgeAmounts(resources === undefined ? undefined : objectField(resources, "limits"));
  if ((requests?.value["storage"] ?? null) === null) {
    const path = [...spec.path, "resources", "requests", "storage"];
    spec.findings.fail(path, "Required", "Required value");
    return undefined;
  }
  const storage = requests === undefined ? undefined : quantityField(requests, "storage");
  if (storage === "0" && requests !== undefined)
    invalid(requests, "storage", "must be greater than zero");
  return storage;
}
