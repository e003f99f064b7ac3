// A Service → a name of this node, and the one warning that tells what of it does not work.

import { NOTHING_DECODED, type DecodeContext, type DecodedObject } from "./decode-context.ts";
import { decodedItem, rejections } from "./decoded-item.ts";
import { locatedError } from "./field-errors.ts";
import { leftOut, SERVICE_IS_NAME } from "./other-kinds.ts";
import { readService, type ReadService } from "../v1/object/service.ts";
import type { JsonObject } from "../../lib/json.ts";

/** Refuses nothing: what cannot be understood is left out. */
export function decodeService(value: JsonObject, context: DecodeContext): DecodedObject {
  const { source, sourceRef, locate } = context;
  const read = readService(value);
  const notice = locatedError(
    { path: ["kind"], code: "Ignored", message: messageOf(read) },
    locate,
  );
  const ignoredKinds = rejections(value, context, [notice]);
  if (read.type !== "Name") return { ...NOTHING_DECODED, ignoredKinds };
  const desired = { ...read.service, source, sourceRef };
  return { ...NOTHING_DECODED, services: [decodedItem(desired, value, context)], ignoredKinds };
}

function messageOf(read: ReadService): string {
  switch (read.type) {
    case "Name":
      return SERVICE_IS_NAME;
    case "NoName":
      return leftOut("Service");
    case "Malformed":
      return `${leftOut("Service")}; it is no name either: ${read.why}`;
  }
}
