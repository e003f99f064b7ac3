// What a JSON Schema refuses of a value.

import { Ajv, type ErrorObject } from "ajv";

import type { JsonSchema } from "../../src/api/schema/type.ts";
import { formatPath } from "../../src/api/decode/field-path.ts";

/** The paths, as in errors of the agent, at which something is wrong; [] = the value is valid. Throws for an invalid schema. */
export function validatorOf(schema: JsonSchema): (value: unknown) => readonly string[] {
  const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true, ...LOOSE });
  const validate = ajv.compile(schema);
  return (value) => {
    if (validate(value)) return [];
    return [...new Set((validate.errors ?? []).map(placeOf))];
  };
}

/** Keywords of `if` and `not` stand without the type that is checked beside them. */
const LOOSE = { strictTypes: false, strictRequired: false } as const;

function placeOf({ instancePath, params }: ErrorObject): string {
  const steps = instancePath.split("/").slice(1).map(stepOf);
  const { additionalProperty, missingProperty, propertyName } = params;
  const below: unknown = additionalProperty ?? missingProperty ?? propertyName;
  return formatPath(typeof below === "string" ? [...steps, below] : steps);
}

function stepOf(written: string): string | number {
  const step = written.replaceAll("~1", "/").replaceAll("~0", "~");
  return /^\d+$/.test(step) ? Number(step) : step;
}
