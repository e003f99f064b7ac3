// The groups that a node is in: a group's document reaches all its members (MQTT.md §1, §2).

/** One membership. Of two groups' words on one name that of the higher priority counts. */
export interface GroupMember {
  readonly name: string;
  readonly priority: number;
}

/** Where nothing is said. */
export const DEFAULT_GROUP_PRIORITY = 0;
/** For a configuration and a document alike. */
export const GROUP_NAME_RULE =
  'must be lower-case letters, digits, "." and "-", at most 63, with a letter or digit at both ends';

/** What the node is to the fleet, beside its name. */
export interface FleetFacts {
  /** Of the node document; the configuration's own go before. */
  readonly labels: Readonly<Record<string, string>>;
  /** Those that the node is in, in the order in which they count. */
  readonly groups: readonly GroupMember[];
}

export const NO_FLEET_FACTS: FleetFacts = { labels: {}, groups: [] };
