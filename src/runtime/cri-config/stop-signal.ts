// How CRI spells the signal that a container's spec wants to be stopped with. kubelet: KEP-4960

import type { ContainerConfigInit } from "../../cri/cri-client.ts";
import { Signal } from "../../cri/gen/runtime/v1/api_pb.ts";
import { AgentError } from "../../lib/errors.ts";
import { unsupported } from "./features.ts";
import type { Container } from "../../api/v1/container.ts";

/** Throws AgentError `UnsupportedByRuntime` where the runtime would not hear of it. */
export function stopSignalOf(
  { name, lifecycle: { stopSignal } }: Container,
  isSupported: boolean,
): Pick<ContainerConfigInit, "stopSignal"> {
  if (stopSignal === undefined) return {};
  if (!isSupported)
    throw unsupported(
      `container "${name}" asks for stopSignal ${stopSignal}, which this container runtime would ignore; remove it and set STOPSIGNAL in the image`,
    );
  const signal = criSignal(stopSignal);
  if (signal === undefined) {
    const message = `container "${name}" asks for stopSignal ${stopSignal}, which is no signal`;
    throw new AgentError({ reason: "CreateContainerConfigError", message });
  }
  return { stopSignal: signal };
}

/** `SIGUSR1`, `SIGRTMIN+3` as CRI numbers them; undefined = no such signal. */
export function criSignal(name: string): Signal | undefined {
  const key = name.replace("+", "PLUS").replace("-", "MINUS");
  return Object.entries(Signal).find(([known]) => known === key && key !== "RUNTIME_DEFAULT")?.[1];
}
