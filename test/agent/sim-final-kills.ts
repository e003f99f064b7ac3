// What must be left in the books of containers that were ended to be replaced, when every trouble has ended: nothing of
// pods that are gone, and nothing of instances that others have followed.

import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { SimAgent } from "./sim-agent.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";
import type { SimWorld } from "./sim-world.ts";

interface Row {
  readonly uid: string;
  readonly container: string;
  readonly id: string;
}

const SICK_MS = 60_000;
const LOOK_MS = 250;

/** Somebody, if anybody may, falls ill and is written down: the end of its pod may come right then. */
export async function beginsToReplace(world: SimWorld, agent: SimAgent): Promise<void> {
  const sick = world
    .desired()
    .find((spec) => spec.containers.some((own) => mayBeKilled(spec, own)));
  if (sick === undefined) return;
  await world.perform({ type: "Health", name: sick.name, healthy: false, pause: 0 });
  for (let ms = 0; ms < SICK_MS && agent.store.killed.pods().length === 0; ms += LOOK_MS)
    await world.machine.clock.advance(LOOK_MS);
}

/** Also its own end could be its last: only then something has to be remembered. */
function mayBeKilled(spec: SimSpec, own: SimContainer): boolean {
  const isLive = own.probes.some(({ type }) => type === "liveness");
  return own.role === "app" && isLive && (own.restartPolicy ?? spec.restartPolicy) === "OnFailure";
}

/** `open`: names under which an old pod may run on. */
export function wrongKills(
  world: SimWorld,
  agent: SimAgent,
  open: ReadonlySet<string>,
): string | undefined {
  const { database, killed } = agent.store;
  // The table itself: what the process remembers of it is the other half.
  const rows = database.query<[], Row>("SELECT uid, container, id FROM killed").all();
  const known = killed.pods().flatMap((uid) => [...killed.get(uid).values()].map(({ id }) => id));
  const written = rows.map(({ id }) => id);
  if (known.toSorted().join() !== written.toSorted().join())
    return `killed containers are written down as ${written.join()}, and known as ${known.join()}`;
  for (const row of rows) {
    const wrong = wrongRow(world, row, open);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function wrongRow(
  world: SimWorld,
  { uid, container, id }: Row,
  open: ReadonlySet<string>,
): string | undefined {
  const { ledger } = world.judge;
  const spec = ledger.spec(uid);
  if (spec !== undefined && open.has(spec.name)) return undefined;
  const name = `${ledger.key(uid)}/${container}`;
  if (spec === undefined || !world.desired().includes(spec)) {
    // Rows of pods that only an agent before this one knew are swept when every source has spoken.
    const isSilent = world.setup.protocolVersion !== undefined && world.authority.generation === 0;
    return isSilent ? undefined : `${name} is gone and still recorded as killed: ${id}`;
  }
  const newest = ledger
    .containersOf(uid)
    .find(
      ({ config, state }) =>
        config.metadata?.name === container && state !== ContainerState.CONTAINER_CREATED,
    );
  if (newest?.id === id) return undefined;
  return `${name} is still recorded as killed: ${id}, though ${newest?.id} is the newest`;
}
