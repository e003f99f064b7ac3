// Performs: runs the probes of every running container and keeps their verdicts. kubelet: prober.Manager,
// prober/results

import type { Edges } from "../edges.ts";
import { containerEvent, type RecordEvent } from "../api/v1/events.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { type Probe, NO_VERDICTS, type ProbeKind, type ProbeVerdicts } from "../api/v1/probe.ts";
import { podName, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { ProbeEdge } from "../host/probe/probe-edge.ts";
import { sameValue } from "../lib/compare.ts";
import { runProbe, type ProbeExec } from "./run-probe.ts";
import { resultEvent, type ProbeResult } from "./probe-result.ts";
import {
  afterResult,
  initialState,
  isGated,
  whileTerminating,
  type ProbeState,
} from "./probe-thresholds.ts";
import {
  firstProbe,
  giveUpAt,
  mayHaveRunBefore,
  nextProbe,
  type FirstProbe,
} from "./probe-timing.ts";
import {
  hasProbes,
  instanceAddress,
  PROBE_KINDS,
  probedInstances,
  probeOf,
  type ProbedInstance,
} from "./probed-instances.ts";
import { Alarm } from "../lib/alarm.ts";
import { aborted, type Monotonic } from "../lib/clock.ts";
import { FairPlaces } from "../lib/fair-places.ts";

interface ProbeManagerOptions extends Pick<Edges, "clock" | "random" | "log" | "meter"> {
  readonly edge: ProbeEdge;
  readonly exec: ProbeExec;
  /** Whether the pod is declared by the node itself, not by a document. */
  readonly isStatic: (uid: PodUID) => boolean;
  /** A result changed a verdict. Not called for changes by `update` itself: the caller reads them after it. */
  readonly onChange: (uid: PodUID) => void;
  readonly record: RecordEvent;
  /** Address of pods on the host's network; undefined = the loopback. */
  readonly hostIP: () => string | undefined;
}

/** kubelet: the results of prober_probe_total. */
const RESULTS = {
  Success: "successful",
  Warning: "successful",
  Failure: "failed",
  Error: "unknown",
} as const;

/** One probe of one instance; a new instance gets a new worker. kubelet: prober.worker */
interface Worker {
  readonly pod: ProbedPod;
  readonly containerId: string;
  readonly kind: ProbeKind;
  readonly first: FirstProbe;
  target: ProbedInstance;
  probe: Probe;
  state: ProbeState;
  /** When to run the probe, or, while it runs, when to give up. */
  wakeAt: Monotonic;
  /** When the newest run was due. */
  due: Monotonic;
  /** Of the run in progress. */
  running: AbortController | undefined;
}

type Sight = Pick<Worker, "kind" | "probe" | "target">;

interface ProbedPod {
  pod: Pod;
  observed: ObservedPod | undefined;
  terminating: boolean;
  workers: readonly Worker[];
  verdicts: ProbeVerdicts;
}

const NEVER = Number.POSITIVE_INFINITY;
/**
 * Minimum between two wake-ups, and the most that a probe is delayed by it. 200 probes a second cost half the CPU time in
 * groups than one by one.
 */
const SPACING_MS = 50;
/** Of exec probes, whose answers have up to 1 MiB: for pods of files, and for others. */
const EXEC_PLACES = { places: 16, perOwner: 4 };

export class ProbeManager implements Disposable {
  readonly #options: ProbeManagerOptions;
  readonly #startedAt: Monotonic;
  readonly #pods = new Map<PodUID, ProbedPod>();
  readonly #workers = new Set<Worker>();
  /** Of pods of files: what documents declare cannot delay their probes. */
  readonly #staticPlaces = new FairPlaces(EXEC_PLACES);
  readonly #otherPlaces = new FairPlaces(EXEC_PLACES);
  /** One timer for all probes, set to the earliest; probes due within `SPACING_MS` run together. */
  readonly #wakeUp: Alarm;
  #ranAt: Monotonic = Number.NEGATIVE_INFINITY;

  constructor(options: ProbeManagerOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#wakeUp = new Alarm(options.clock, () => this.#tick());
  }

  /** Starts and stops workers so that they match the newest running instances. Idempotent, and cheap when nothing changed. */
  update(
    pod: Pod,
    observed: ObservedPod | undefined,
    { terminating }: { readonly terminating: boolean },
  ): void {
    const uid = pod.metadata.uid;
    const known = this.#pods.get(uid);
    if (known === undefined && !hasProbes(pod.spec)) return;
    if (known?.pod === pod && known.observed === observed && known.terminating === terminating)
      return;
    const probed = known ?? { pod, observed, terminating, workers: [], verdicts: NO_VERDICTS };
    this.#pods.set(uid, Object.assign(probed, { pod, observed, terminating }));
    this.#reconcile(probed, known === undefined);
    if (terminating) for (const worker of probed.workers) this.#terminate(worker);
    this.#refresh(probed);
  }

  /** Stops all probes of this pod and forgets their verdicts; results of runs in progress are dropped. */
  forget(uid: PodUID): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    for (const worker of known.workers) this.#stop(worker);
    this.#pods.delete(uid);
    this.#options.meter?.forget("prober_probe_total", { pod_uid: uid });
  }

  /** The same object as long as no verdict changes. */
  verdicts(uid: PodUID): ProbeVerdicts {
    return this.#pods.get(uid)?.verdicts ?? NO_VERDICTS;
  }

  [Symbol.dispose](): void {
    for (const uid of this.#pods.keys()) this.forget(uid);
    this.#wakeUp[Symbol.dispose]();
  }

  #reconcile(probed: ProbedPod, firstLook: boolean): void {
    const old = new Set(probed.workers);
    const workers: Worker[] = [];
    for (const target of probedInstances(probed.pod, probed.observed))
      for (const kind of PROBE_KINDS) {
        const probe = probeOf(target.container, kind);
        if (probe === undefined) continue;
        const same = probed.workers.find(
          (worker) => worker.kind === kind && worker.containerId === target.instance.id,
        );
        if (same !== undefined) old.delete(same);
        workers.push(
          same === undefined
            ? this.#start(probed, { kind, probe, target }, firstLook)
            : Object.assign(same, { target, probe }),
        );
      }
    for (const worker of old) this.#stop(worker);
    probed.workers = workers;
    for (const worker of workers) this.#plan(worker);
  }

  #start(pod: ProbedPod, sight: Sight, firstLook: boolean): Worker {
    const { kind, probe, target } = sight;
    const seen = this.#options.clock.monotonic();
    const ranBefore = firstLook && mayHaveRunBefore(seen - this.#startedAt);
    const random = ranBefore ? this.#options.random.next() : 0;
    const first = firstProbe({ kind, probe, seen, ranBefore, random });
    const worker: Worker = {
      ...sight,
      pod,
      containerId: target.instance.id,
      first,
      state: initialState(kind),
      wakeAt: NEVER,
      due: first.at,
      running: undefined,
    };
    this.#workers.add(worker);
    return worker;
  }

  #stop(worker: Worker): void {
    this.#workers.delete(worker);
    this.#silence(worker);
  }

  #silence(worker: Worker): void {
    worker.wakeAt = NEVER;
    const { running } = worker;
    worker.running = undefined;
    running?.abort();
  }

  #terminate(worker: Worker): void {
    worker.state = whileTerminating(worker.state);
    if (worker.state.final) this.#silence(worker);
    // A startup probe that counts as successful releases readiness.
    else this.#plan(worker);
  }

  /** Sets the time of the first run, once the startup probe releases it. */
  #plan(worker: Worker): void {
    const idle = worker.running === undefined && worker.wakeAt === NEVER;
    if (!idle || worker.state.final || isGated(worker.state, startupOf(worker))) return;
    worker.due = Math.max(worker.first.at, this.#options.clock.monotonic());
    worker.wakeAt = worker.due;
    this.#wakeUpBy(worker.wakeAt);
  }

  #wakeUpBy(at: Monotonic): void {
    this.#wakeUp.by(Math.max(at, this.#ranAt + SPACING_MS));
  }

  #tick(): void {
    const now = this.#options.clock.monotonic();
    this.#ranAt = now;
    for (const worker of this.#workers) {
      if (worker.wakeAt > now) continue;
      if (worker.running === undefined) this.#run(worker, now);
      else this.#giveUp(worker);
    }
    let next = NEVER;
    for (const worker of this.#workers) next = Math.min(next, worker.wakeAt);
    this.#wakeUpBy(next);
  }

  #run(worker: Worker, now: Monotonic): void {
    const running = new AbortController();
    worker.running = running;
    if (worker.probe.handler.type !== "exec") {
      void this.#perform(worker, running, now);
      return;
    }
    // Waiting for a place is no part of the probe: it begins when there is one.
    worker.wakeAt = NEVER;
    void this.#performInPlace(worker, running);
  }

  async #performInPlace(worker: Worker, running: AbortController): Promise<void> {
    const { isStatic } = this.#options;
    const { uid } = worker.pod.pod.metadata;
    const places = isStatic(uid) ? this.#staticPlaces : this.#otherPlaces;
    using place = await places.take(uid, running.signal);
    if (place === undefined || worker.running !== running) return;
    const performed = this.#perform(worker, running, this.#options.clock.monotonic());
    this.#wakeUpBy(worker.wakeAt);
    // A place that a broken edge never gives back is free when the probe is given up.
    await Promise.race([performed, aborted(running.signal)]);
  }

  async #perform(worker: Worker, running: AbortController, now: Monotonic): Promise<void> {
    const { pod, probe, containerId, target } = worker;
    worker.wakeAt = giveUpAt(probe, now);
    const podIP = pod.pod.spec.hostNetwork
      ? (this.#options.hostIP() ?? "127.0.0.1")
      : instanceAddress(pod.observed, containerId);
    const { signal } = running;
    const { container } = target;
    const result = await runProbe(this.#options, { probe, container, containerId, podIP, signal });
    this.#onResult(worker, running, result);
  }

  // Only for an edge that violates its deadline: it must not stop a probe for ever.
  #giveUp(worker: Worker): void {
    const { running } = worker;
    running?.abort();
    if (running !== undefined)
      this.#onResult(worker, running, { type: "Error", message: "the probe did not end" });
  }

  #onResult(worker: Worker, running: AbortController, result: ProbeResult): void {
    // Stopped, final or given up since: the result is obsolete.
    if (worker.running !== running) return;
    worker.running = undefined;
    const now = this.#options.clock.monotonic();
    const next = nextProbe(worker.probe, worker.due, now);
    worker.due = next.due;
    worker.wakeAt = next.at;
    const early = result.type === "Failure" && now < worker.first.failuresFrom;
    if (!early) this.#judge(worker, result);
    this.#wakeUpBy(worker.wakeAt);
  }

  #count({ pod, kind, target }: Worker, result: ProbeResult): void {
    const { namespace, name, uid } = pod.pod.metadata;
    this.#options.meter?.count("prober_probe_total", {
      probe_type: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
      result: RESULTS[result.type],
      container: target.container.name,
      pod: name,
      namespace,
      pod_uid: uid,
    });
  }

  #judge(worker: Worker, result: ProbeResult): void {
    const { pod, kind, target, state } = worker;
    this.#count(worker, result);
    const event = resultEvent(kind, result);
    if (event !== undefined)
      this.#options.record(containerEvent(pod.pod, target.container.name, event));
    if (result.type === "Error") return;
    worker.state = afterResult(
      state,
      result.type === "Failure" ? "Failure" : "Success",
      worker.probe,
    );
    if (worker.state.final) this.#silence(worker);
    if (worker.state.outcome === state.outcome) return;
    this.#options.log.debug("the verdict of a probe changed", {
      pod: podName(pod.pod),
      container: target.container.name,
      probe: kind,
      outcome: worker.state.outcome,
    });
    // The container has started: releases its other probes.
    if (kind === "startup") for (const other of pod.workers) this.#plan(other);
    this.#refresh(pod);
    this.#options.onChange(pod.pod.metadata.uid);
  }

  #refresh(probed: ProbedPod): void {
    const verdicts = verdictsOf(probed.workers);
    if (!sameValue(verdicts, probed.verdicts)) probed.verdicts = verdicts;
  }
}

function startupOf(worker: Worker): ProbeState["outcome"] | undefined {
  return worker.pod.workers.find(
    (other) => other.kind === "startup" && other.containerId === worker.containerId,
  )?.state.outcome;
}

function verdictsOf(workers: readonly Worker[]): ProbeVerdicts {
  const verdicts: Record<string, Partial<Record<ProbeKind, ProbeState["outcome"]>>> = {};
  for (const { containerId, kind, state } of workers)
    (verdicts[containerId] ??= {})[kind] = state.outcome;
  return verdicts;
}
