// `mqtt.groups` of a configuration: which groups this node is in by its own word.

import { integer, say, type Check } from "./config-fields.ts";
import type { FieldReader } from "./config-reader.ts";
import { DEFAULT_GROUP_PRIORITY, GROUP_NAME_RULE, type GroupMember } from "../protocol/groups.ts";
import { isTopicName } from "../protocol/mqtt-topics.ts";

const KEYS = ["mqtt", "groups"];
const INT32_MAX = 2 ** 31 - 1;

const groupName: Check<string> = (written) =>
  typeof written === "string" && isTopicName(written)
    ? { ok: true, value: written }
    : { ok: false, message: `${GROUP_NAME_RULE}, not ${say(written)}` };

/** undefined = the file says nothing. How many of them count is decided with those of the node document. */
export function readGroups(
  reader: FieldReader,
  written: unknown,
): readonly GroupMember[] | undefined {
  if (written === undefined || written === null) return undefined;
  if (!Array.isArray(written)) {
    const message = `must be a list such as [{name: kiosks, priority: 10}], not ${say(written)}`;
    reader.refuse(KEYS, "Invalid", message);
    return undefined;
  }
  const groups: GroupMember[] = [];
  for (const [index, entry] of written.entries()) {
    const group = readGroup(reader, entry, index);
    if (group === undefined) continue;
    if (groups.some(({ name }) => name === group.name))
      reader.refuse(
        [...KEYS, String(index), "name"],
        "Duplicate",
        `${group.name} is there already`,
      );
    else groups.push(group);
  }
  return groups;
}

function readGroup(reader: FieldReader, written: unknown, index: number): GroupMember | undefined {
  const keys = [...KEYS, String(index)];
  const errors = reader.errors.length;
  const entry = reader.mapping(written, keys, KEYS.join("."));
  const name = reader.value(entry, [...keys, "name"], groupName);
  const priority = reader.value(
    entry,
    [...keys, "priority"],
    integer({ min: -INT32_MAX, max: INT32_MAX }),
  );
  if (name === undefined && reader.errors.length === errors)
    reader.refuse([...keys, "name"], "Required", GROUP_NAME_RULE);
  return name === undefined ? undefined : { name, priority: priority ?? DEFAULT_GROUP_PRIORITY };
}
