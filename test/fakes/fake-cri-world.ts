// The things inside the fake runtime, and the errors containerd has for them.

import { create } from "@bufbuild/protobuf";
import { CriError } from "../../src/cri/cri-error.ts";
import type { ContainerConfigInit, PodSandboxConfigInit } from "../../src/cri/cri-client.ts";
import {
  ContainerConfigSchema,
  type ContainerState,
  ContainerStatusSchema,
  ContainerSchema,
  NamespaceMode,
  PodSandboxConfigSchema,
  PodSandboxSchema,
  PodSandboxState,
  PodSandboxStatusSchema,
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  type ContainerStatus,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxStatus,
} from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

export interface FakeSandbox {
  readonly id: string;
  /** What containerd reserves: name, namespace, uid and attempt. */
  readonly reserved: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAt: bigint;
  readonly ip: string;
  ready: boolean;
}

/** What the program in a container does. */
export interface Program {
  /** Exits by itself so long after its start; absent = never. */
  readonly exitsAfterMs?: number;
  /** Exit code of its own exit; default 0. */
  readonly exitCode?: number;
  /** How long it takes to stop; Infinity = ignores the stop signal; default 0. */
  readonly stopsAfterMs?: number;
  /** Exit code when it is told to stop; default 143. */
  readonly stopCode?: number;
  /** StartContainer fails with these words. */
  readonly startError?: string;
}

export interface FakeContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly reserved: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly createdAt: bigint;
  program: Program;
  state: ContainerState;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  reason: string;
  message: string;
}

export interface FakeImage {
  readonly id: string;
  readonly name: string;
  readonly size: bigint;
  readonly username: string;
  readonly uid: bigint | undefined;
}

export function sandboxConfigOf(init: PodSandboxConfigInit): PodSandboxConfig {
  return create(PodSandboxConfigSchema, init);
}

export function containerConfigOf(init: ContainerConfigInit): ContainerConfig {
  return create(ContainerConfigSchema, init);
}

export function sandboxName(config: PodSandboxConfig): string {
  const { name, namespace, uid, attempt } = config.metadata!;
  return [name, namespace, uid, attempt].join("_");
}

export function containerName(config: ContainerConfig, sandbox: PodSandboxConfig): string {
  const { name, namespace, uid } = sandbox.metadata!;
  return [config.metadata!.name, name, namespace, uid, config.metadata!.attempt].join("_");
}

export function usesHostNetwork(config: PodSandboxConfig): boolean {
  return config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
}

export function notFound(call: string, what: string): CriError {
  return new CriError({
    call,
    code: GrpcCode.NOT_FOUND,
    details: `an error occurred when try to find ${what}: not found`,
  });
}

export function refused(call: string, details: string): CriError {
  return new CriError({ call, code: GrpcCode.UNKNOWN, details });
}

export function listedSandbox(sandbox: FakeSandbox): PodSandbox {
  const { id, config, createdAt, runtimeHandler } = sandbox;
  const { labels, annotations, metadata } = config;
  const state = stateOfSandbox(sandbox);
  return create(PodSandboxSchema, {
    id,
    metadata: { ...metadata! },
    state,
    createdAt,
    labels,
    annotations,
    runtimeHandler,
  });
}

export function statusOfSandbox(sandbox: FakeSandbox): PodSandboxStatus {
  const { config, ip } = sandbox;
  const status = create(PodSandboxStatusSchema, {
    network: { ip: sandbox.ready ? ip : "" },
    linux: { namespaces: {} },
  });
  const options = config.linux?.securityContext?.namespaceOptions;
  if (options !== undefined) status.linux!.namespaces!.options = options;
  const { $typeName: _, ...listed } = listedSandbox(sandbox);
  return Object.assign(status, listed);
}

export function listedContainer(container: FakeContainer): Container {
  const { id, sandboxId, config, state, createdAt, imageId } = container;
  const { labels, annotations, metadata, image } = config;
  return create(ContainerSchema, {
    id,
    podSandboxId: sandboxId,
    metadata: { ...metadata! },
    image: { ...image! },
    imageRef: imageId,
    state,
    createdAt,
    labels,
    annotations,
  });
}

export function statusOfContainer(container: FakeContainer, logDirectory: string): ContainerStatus {
  const { $typeName: _, podSandboxId: __, ...listed } = listedContainer(container);
  const { startedAt, finishedAt, exitCode, reason, message, config } = container;
  const logPath = config.logPath === "" ? "" : `${logDirectory}/${config.logPath}`;
  const more = { startedAt, finishedAt, exitCode, reason, message, logPath, mounts: config.mounts };
  return create(ContainerStatusSchema, { ...listed, ...more });
}

export function matchesSandbox(filter: PodSandboxFilter, sandbox: FakeSandbox): boolean {
  return (
    (filter.id === "" || filter.id === sandbox.id) &&
    (filter.state === undefined || filter.state.state === stateOfSandbox(sandbox)) &&
    hasLabels(sandbox.config.labels, filter.labelSelector)
  );
}

export function matchesContainer(filter: ContainerFilter, container: FakeContainer): boolean {
  return (
    (filter.id === "" || filter.id === container.id) &&
    (filter.podSandboxId === "" || filter.podSandboxId === container.sandboxId) &&
    (filter.state === undefined || filter.state.state === container.state) &&
    hasLabels(container.config.labels, filter.labelSelector)
  );
}

export function hasLabels(
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

function stateOfSandbox(sandbox: FakeSandbox): PodSandboxState {
  return sandbox.ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}
