// The image of a container or a volume, and when it is pulled.

import { textField, oneOf } from "../schema/codec.ts";
import type { Field } from "../schema/type.ts";
import { textOf } from "../schema/values.ts";

const REFERENCE = textOf({
  check: (text) => (text === text.trim() ? undefined : "must not begin or end with white space"),
  schema: { pattern: "^\\S([\\s\\S]*\\S)?$" },
});

export function imageReference(about: string): Field<string> {
  return textField(REFERENCE)({ about, required: true });
}

export type PullPolicy = "Always" | "IfNotPresent" | "Never";

/** Its default depends on the image, which stands in another field of the object. */
export function pullPolicy(imageField: string): Field<PullPolicy> {
  const field = oneOf<PullPolicy>(["Always", "IfNotPresent", "Never"], {
    about:
      "When the image is pulled. Default: Always for the tag latest and for no tag, else IfNotPresent.",
  });
  return {
    ...field,
    read(node, key) {
      const image = node.value[imageField];
      return field.read(node, key) ?? defaultPullPolicy(typeof image === "string" ? image : "");
    },
  };
}

/** `:latest`, or neither tag nor digest, is looked up at each start; anything else only if it is missing. */
function defaultPullPolicy(image: string): PullPolicy {
  const [name = "", digest] = image.split("@", 2);
  const tag = /:([^/:]*)$/.exec(name)?.[1];
  if (digest !== undefined && tag === undefined) return "IfNotPresent";
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent";
}
