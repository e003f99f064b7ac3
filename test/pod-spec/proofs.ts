// Which test shows that a supported field works; `proofs-of-fields.test.ts` requires one for each.

import type { Proof } from "./proof.ts";
import { CONTAINER_PROOFS } from "./proofs-container.ts";
import { IDENTITY_PROOFS } from "./proofs-identity.ts";
import { LIFE_PROOFS } from "./proofs-life.ts";
import { NODE_PROOFS } from "./proofs-node.ts";
import { OBJECT_PROOFS } from "./proofs-objects.ts";
import { SECURITY_PROOFS } from "./proofs-security.ts";
import { VOLUME_PROOFS } from "./proofs-volumes.ts";

export const PROOFS: readonly Proof[] = [
  ...IDENTITY_PROOFS,
  ...CONTAINER_PROOFS,
  ...LIFE_PROOFS,
  ...SECURITY_PROOFS,
  ...NODE_PROOFS,
  ...VOLUME_PROOFS,
  ...OBJECT_PROOFS,
];
