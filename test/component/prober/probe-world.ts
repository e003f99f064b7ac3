// A probe manager on virtual time with a network that a test bends.

import type { NewEvent } from "../../../src/api/v1/events.ts";
import type { ObservedContainer } from "../../../src/api/pod/observed-pod.ts";
import type { Probe, ProbeKind } from "../../../src/api/v1/probe.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { Meter } from "../../../src/lib/meter.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { ProbeExec } from "../../../src/prober/run-probe.ts";
import { ProbeManager } from "../../../src/prober/probe-manager.ts";
import { aContainer, anInstance, anObservedPod, aPod, aSandbox, UID } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeProbeEdge } from "../../fakes/fake-probe-edge.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";
import type { Container } from "../../../src/api/v1/container.ts";

export const PORTS: Readonly<Record<ProbeKind, number>> = {
  startup: 1,
  liveness: 2,
  readiness: 3,
};

/** Period 10 s, time-out 1 s, thresholds 1 and 3, tcpSocket on the port of its kind. */
export function aProbe(kind: ProbeKind, more: Partial<Probe> = {}): Probe {
  return {
    handler: { type: "tcpSocket", port: PORTS[kind] },
    initialDelaySeconds: 0,
    periodSeconds: 10,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
    ...more,
  };
}

export interface WorldOptions {
  readonly exec?: ProbeExec;
  readonly hostIP?: () => string | undefined;
  readonly isStatic?: (uid: string) => boolean;
  /** ms of the manager's life before the test looks; default a minute, so that nothing ran before. */
  readonly age?: number;
}

export class ProbeWorld {
  readonly clock = new VirtualClock();
  readonly edge = new FakeProbeEdge(this.clock);
  readonly changes: string[] = [];
  readonly events: NewEvent[] = [];
  readonly meter = new Meter();
  readonly manager: ProbeManager;

  private constructor({ exec, hostIP, isStatic }: WorldOptions) {
    this.manager = new ProbeManager({
      clock: this.clock,
      random: new Mulberry32(1),
      meter: this.meter,
      log: createLogger({ clock: this.clock, level: "debug", write: () => undefined }),
      edge: this.edge,
      exec: exec ?? (() => Promise.reject(new Error("nothing to run commands in"))),
      isStatic: isStatic ?? (() => true),
      hostIP: hostIP ?? (() => "192.0.2.1"),
      onChange: (uid) => this.changes.push(uid),
      record: (event) => this.events.push(event),
    });
  }

  static async make(options: WorldOptions = {}): Promise<ProbeWorld> {
    const world = new ProbeWorld(options);
    await world.clock.advance(options.age ?? 60_000);
    return world;
  }

  /** The pod as the agent sees it now. */
  see(pod: Pod, instances: readonly ObservedContainer[], { terminating = false } = {}): void {
    const observed = anObservedPod([aSandbox()], instances, { uid: pod.metadata.uid });
    this.manager.update(pod, observed, { terminating });
  }

  /** `liveness=Success readiness=Failure` of an instance. */
  said(id: string, uid = UID): string {
    const verdicts = this.manager.verdicts(uid)[id] ?? {};
    return (["liveness", "readiness", "startup"] as const)
      .flatMap((kind) => (verdicts[kind] === undefined ? [] : `${kind}=${verdicts[kind]}`))
      .join(" ");
  }

  /** Seconds after `since` at which a kind was asked. */
  asked(kind: ProbeKind, since: number): readonly number[] {
    return this.edge.asked
      .filter(({ to }) => to.endsWith(`:${PORTS[kind]}`))
      .map(({ at }) => (at - since) / 1000);
  }

  behave(kind: ProbeKind, behaviour: Parameters<FakeProbeEdge["behave"]>[1]): void {
    this.edge.behave(`10.88.0.2:${PORTS[kind]}`, behaviour);
  }

  messages(): readonly string[] {
    return this.events.map(({ reason, message }) => `${reason}: ${message}`);
  }
}

/** A pod of one container `a` with probes of these kinds. */
export function aProbedPod(
  probes: Readonly<Partial<Record<ProbeKind, Partial<Probe>>>>,
  more: Partial<Container> = {},
): Pod {
  return aPod({ containers: [aContainer("a", { ...probesOf(probes), ...more })] });
}

export function probesOf(
  probes: Readonly<Partial<Record<ProbeKind, Partial<Probe>>>>,
): Partial<Container> {
  const { liveness, readiness, startup } = probes;
  return {
    ...(liveness === undefined ? {} : { livenessProbe: aProbe("liveness", liveness) }),
    ...(readiness === undefined ? {} : { readinessProbe: aProbe("readiness", readiness) }),
    ...(startup === undefined ? {} : { startupProbe: aProbe("startup", startup) }),
  };
}

export const running = (attempt = 0, name = "a") => anInstance(name, { attempt });
