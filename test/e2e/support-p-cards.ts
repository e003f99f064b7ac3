// A provisioning directory as a person fills it, and what the node tells of it.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import type { eventList } from "../../src/node/events-list.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";

type EventsOfNode = ReturnType<typeof eventList>;

export interface Card {
  readonly path: string;
  put(name: string, content: string | Uint8Array): void;
  remove(name: string): void;
}

export function cardOf(temp: TempDirectory, name: string): Card {
  const path = temp.directory(`card-${name}`);
  return {
    path,
    put: (file, content) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), content);
    },
    remove: (file) => rmSync(join(path, file)),
  };
}

export async function eventsOf(agent: AgentProcess): Promise<EventsOfNode> {
  return (await (await agent.api("/api/v1/events")).json()) as EventsOfNode;
}

/** Of the events with this reason, one on a line. */
export function eventMessages({ items }: EventsOfNode, reason: string): string {
  return items
    .filter((event) => event.reason === reason)
    .map(({ message }) => message)
    .join("\n");
}
