// Deliberate bugs, one edit of src/ each: a simulation that does not find them would not find others like them.
// docs/testing.md has the table of which seed finds which; mutate.ts performs them.

import { CONFIG_MUTATIONS } from "./mutations-config.ts";
import { JOB_MUTATIONS } from "./mutations-jobs.ts";
import { PRESSURE_MUTATIONS } from "./mutations-pressure.ts";
import { SHUTDOWN_MUTATIONS } from "./mutations-shutdown.ts";
import { PULL_MUTATIONS } from "./mutations-pulls.ts";
import { LOG_MUTATIONS } from "./mutations-logs.ts";
import { IMAGE_MUTATIONS } from "./mutations-images.ts";
import { ROOM_MUTATIONS } from "./mutations-room.ts";
import { TRUST_MUTATIONS } from "./mutations-trust.ts";

export interface Mutation {
  readonly name: string;
  /** Which simulation finds it; absent = that of the whole agent. */
  readonly simulation?: "jobs";
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly search: string;
  readonly replacement: string;
}

/** Where the virtual wall clock begins, less where the virtual monotonic one does. */
const WALL = "(Date.UTC(2026, 10, 21, 8) - 10_000)";

const POD_MUTATIONS: readonly Mutation[] = [
  {
    name: "grace period is zero",
    file: "src/runtime/grace-period.ts",
    search: "return Math.min(this.#asked ?? written ?? DEFAULT_SECONDS, this.#limit);",
    replacement: "return Math.min(0, written ?? DEFAULT_SECONDS);",
  },
  {
    name: "preStop hook is skipped",
    file: "src/runtime/kill-pod.ts",
    search: "await this.#preStop(stop, facts, budget);",
    replacement: "",
  },
  {
    name: "a container that was only made hides the end of the one before it",
    file: "src/podworkers/pod-sync-state.ts",
    search: "const ended = newestStarted(observed, container);",
    replacement: "const ended = newestContainer(observed, container);",
  },
  {
    name: "restart back-off is skipped",
    file: "src/runtime/decide/crash-loop-backoff.ts",
    search: "return memory.exit.seenAt + memory.backoff.delay;",
    replacement: "return memory.exit.seenAt;",
  },
  {
    name: "a container is killed by an old look",
    file: "src/podworkers/pod-syncer.ts",
    search: 'if (isCached && actions.some(({ type }) => type === "KillContainer")) {',
    replacement: "if (isCached && actions.length < 0) {",
  },
  {
    name: "a sidecar starts again by an old look",
    file: "src/podworkers/pod-syncer.ts",
    search: "observed: await this.#options.lifecycle.look(desired.uid) });",
    replacement: "observed: await Promise.resolve(this.#options.cache.get(desired.uid)) });",
  },
  {
    name: "a replacement starts before the old pod has ended",
    file: "src/podworkers/pod-replacement.ts",
    search: "await Promise.race([Promise.all(ending.map(({ gone }) => gone)), aborted(signal)]);",
    replacement: "void aborted;",
  },
  {
    name: "exit events are ignored",
    file: "src/pleg/pod-lifecycle.ts",
    search:
      "this.#exits.add(event.id, event.exit);\n        this.#onExit(cache.ownerOf(event.id));",
    replacement: "",
  },
  {
    name: "relist runs once an hour",
    file: "src/pleg/pod-lifecycle.ts",
    search: "await clock.sleep(jitter(random, RELIST_MS, 0.1), signal);",
    replacement: "await clock.sleep(jitter(random, 60 * RELIST_MS, 0.1), signal);",
  },
  {
    name: "an old look brings back a pod that is gone",
    file: "src/pleg/pod-cache.ts",
    search: "?? this.#gone.get(uid) ?? 0;",
    replacement: "?? 0;",
  },
  {
    name: "removals are not persisted",
    file: "src/store/sqlite/memory-table.ts",
    search: "for (const row of changed) this.#table.put(row);",
    replacement: 'for (const row of changed) if (!("why" in row)) this.#table.put(row);',
  },
  {
    name: "pod failures are not persisted",
    file: "src/store/sqlite/memory-table.ts",
    search: "for (const row of changed) this.#table.put(row);",
    replacement: 'for (const row of changed) if (!("reason" in row)) this.#table.put(row);',
  },
  {
    name: "accepted documents are not persisted",
    file: "src/store/document/documents.ts",
    search: "        this.#write(next);\n",
    replacement: "        if (before === undefined) this.#write(next);\n",
  },
  {
    name: "the newest instance is chosen by creation time, not attempt",
    file: "src/runtime/observe/runtime-reader.ts",
    search: "compareText(a.name, b.name) || b.attempt - a.attempt;",
    replacement: "compareText(a.name, b.name) || b.createdAt - a.createdAt;",
  },
  {
    name: "a source without a document counts as synced",
    file: "src/source/document/document-source.ts",
    search: "ready: this.#ready,",
    replacement: "ready: true,",
  },
  {
    name: "a recreated pod keeps its old failure",
    file: "src/podworkers/pod-terminator.ts",
    search: "store.failures.forget(removal.uid);",
    replacement: "",
  },
  {
    name: "a recreated pod keeps its old status",
    file: "src/agent/build-pods.ts",
    search: "if (isGone) publisher.forget(uid);",
    replacement: "if (isGone) prober.forget(uid);",
  },
  {
    name: "no relist after an action without an answer",
    file: "src/podworkers/perform-actions.ts",
    search: "syncState.unsure = true;",
    replacement: "",
  },
  {
    name: "back-off uses the wall clock",
    file: "src/podworkers/pod-sync-state.ts",
    search: "const exit = { id: newest.id, seenAt: this.#options.clock.monotonic() };",
    replacement: `const exit = { id: newest.id, seenAt: this.#options.clock.now() - ${WALL} };`,
  },
  {
    name: "activeDeadlineSeconds uses the wall clock",
    file: "src/podworkers/pod-sync-state.ts",
    search: "this.#activeSince = written ?? this.#activeSince ?? this.#options.clock.monotonic();",
    replacement: `this.#activeSince = written ?? this.#activeSince ?? this.#options.clock.now() - ${WALL};`,
  },
  {
    name: "app containers do not wait for init containers",
    file: "src/runtime/decide/compute-pod-actions.ts",
    search: "if (!init.isInitialized) return [...clean, ...init.actions];",
    replacement: "",
  },
  {
    name: "a failed init container counts as completed",
    file: "src/runtime/decide/init-actions.ts",
    search: 'if (instance?.state !== "Exited" || instance.exitCode !== 0) return false;',
    replacement:
      'if (instance?.state !== "Exited") return false;\n    if (instance.exitCode !== 0) return true;',
  },
  {
    name: "the startup probe of a sidecar is ignored",
    file: "src/runtime/decide/init-actions.ts",
    search: "return instance !== undefined && hasStarted(container, instance, facts.context);",
    replacement:
      "const { startupProbe: _, ...unprobed } = container;\n  return instance !== undefined && hasStarted(unprobed, instance, facts.context);",
  },
  {
    name: "sidecars stop before app containers",
    file: "src/runtime/decide/stop-order.ts",
    search: 'return role.type === "Sidecar" ? role.position : Number.POSITIVE_INFINITY;',
    replacement: 'return role.type === "Sidecar" ? 1_000 + role.position : 0;',
  },
  {
    name: "a probe result of the previous instance is applied to the new one",
    file: "src/prober/probe-manager.ts",
    search: `          (worker) => worker.kind === kind && worker.containerId === target.instance.id,
        );
        if (same !== undefined) old.delete(same);
        workers.push(
          same === undefined
            ? this.#start(probed, { kind, probe, target }, firstLook)
            : Object.assign(same, { target, probe }),
        );
      }
    for (const worker of old) this.#stop(worker);
    probed.workers = workers;`,
    replacement: `          (worker) => worker.kind === kind && worker.target.container.name === target.container.name,
        );
        if (same !== undefined) old.delete(same);
        if (same !== undefined) Object.assign(same, { containerId: target.instance.id });
        workers.push(
          same === undefined
            ? this.#start(probed, { kind, probe, target }, firstLook)
            : Object.assign(same, { target, probe }),
        );
      }
    probed.workers = [...workers, ...old];`,
  },
  {
    name: "failureThreshold is ignored",
    file: "src/prober/probe-thresholds.ts",
    search: "const outcome = run >= needed ? result : state.outcome;",
    replacement: "const outcome = result;",
  },
  {
    name: "a container with restartPolicy Never restarts after a reboot",
    file: "src/api/pod/restart-policy.ts",
    search: 'case "Never":\n      return false;',
    replacement: 'case "Never":\n      return exitCode === 255;',
  },
  {
    name: "garbage collection removes the newest dead containers",
    file: "src/runtime/decide/dead-containers.ts",
    search: "if (before <= maxPerPodContainer || isRecord || isTooNew(container)) kept.add(id);",
    replacement: "if (before < 0 && isRecord) kept.add(id);",
  },
  {
    name: "pods of other agent instances are adopted",
    file: "src/api/pod/labels.ts",
    search: `  if (labels[LABEL.managed] !== "true" || labels[LABEL.instance] !== instance) return undefined;
  const uid = labels[LABEL.podUID];
  const namespace = labels[LABEL.podNamespace];
  const name = labels[LABEL.podName];
  if (uid === undefined || namespace === undefined || name === undefined) return undefined;
  return { uid, namespace, name };
}

/** The label selector of everything that this agent created. */
export function ourSelector(instance: string): Record<string, string> {
  return { [LABEL.managed]: "true", [LABEL.instance]: instance };`,
    replacement: `  if (instance === undefined) return undefined;
  const uid = labels[LABEL.podUID];
  const namespace = labels[LABEL.podNamespace];
  const name = labels[LABEL.podName];
  if (uid === undefined || namespace === undefined || name === undefined) return undefined;
  return { uid, namespace, name };
}

/** The label selector of everything that this agent created. */
export function ourSelector(instance: string): Record<string, string> {
  return instance === undefined ? {} : { [LABEL.managed]: "true" };`,
  },
  {
    name: "dependencies do not delay a start",
    file: "src/podworkers/pod-replacement.ts",
    search: "if (this.#mustWait(own)) return false;",
    replacement: "",
  },
  {
    name: "dependencies delay a pod that has already started",
    file: "src/podworkers/pod-replacement.ts",
    search: "if (desired === undefined || hasBegun(pods.cache.get(own.uid), bootId)) return false;",
    replacement:
      "if (desired === undefined || hasBegun(pods.cache.get(own.uid), bootId + this)) return false;",
  },
  {
    name: "a superseded message that a full disk keeps is sent again",
    file: "src/store/outbox/outbox.ts",
    search: "AND id = (SELECT max(id) FROM outbox WHERE topic = row.topic AND ${OF_TOPIC}))",
    replacement: ")",
  },
  {
    name: "messages that a full disk rejects stay in flight",
    file: "src/upstream/publisher.ts",
    search: "        this.#strikeOut(drain, ids);\n        this.wake();\n",
    replacement: "        this.wake();\n",
  },
  {
    name: "a full disk crashes the publisher",
    file: "src/upstream/publisher.ts",
    search: "this.#giveBack(() => this.#options.outbox.released());",
    replacement: "this.#options.outbox.released();",
  },
  {
    name: "the loss of a sandbox is not persisted",
    file: "src/podworkers/pod-syncer.ts",
    search: "    failures.put(uid, failure);\n",
    replacement: "    if (failure !== SANDBOX_LOST) failures.put(uid, failure);\n",
  },
  {
    name: "a replacement does not wait for its dependencies",
    file: "src/podworkers/pod-replacement.ts",
    search: "return this.#workers.exists(own) && !this.#mustWait(own);",
    replacement: "return this.#workers.exists(own);",
  },
  {
    name: "a dependency that ran before the reboot counts as running",
    file: "src/podworkers/dependencies.ts",
    search:
      'return phase === "Running" && containerStatuses.some(({ state: { running } }) => running);',
    replacement: 'return phase === "Running" && containerStatuses !== undefined;',
  },
  {
    name: "a container that never started counts as a restart",
    file: "src/status/container-statuses.ts",
    search: 'if (newest.state !== "Created") return newest.attempt;',
    replacement: "return newest.attempt;",
  },
  {
    name: "attempts whose names are reserved count as restarts",
    file: "src/status/container-statuses.ts",
    search: "older?.attempt ?? previous?.restartCount ?? ",
    replacement: "older?.attempt ?? ",
  },
  {
    name: "kill records are not removed after the restart",
    file: "src/podworkers/pod-sync-state.ts",
    search: "rows.settle(uid, settled);",
    replacement: "rows.settle(uid, settled.slice(0, 0));",
  },
  {
    name: "that a wanted pod has failed is swept",
    file: "src/node/housekeeping.ts",
    search: "if (!isInUse(uid)) rows.forget(uid);",
    replacement: "rows.forget(uid);",
  },
  {
    name: "kill records outlive their pod",
    file: "src/podworkers/pod-terminator.ts",
    search: "store.killed.forget(removal.uid);",
    replacement: "",
  },
];

export const MUTATIONS: readonly Mutation[] = [
  ...POD_MUTATIONS,
  ...CONFIG_MUTATIONS,
  ...LOG_MUTATIONS,
  ...IMAGE_MUTATIONS,
  ...ROOM_MUTATIONS,
  ...JOB_MUTATIONS,
  ...PRESSURE_MUTATIONS,
  ...SHUTDOWN_MUTATIONS,
  ...PULL_MUTATIONS,
  ...TRUST_MUTATIONS,
];
