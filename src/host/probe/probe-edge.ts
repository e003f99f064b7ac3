// The network as probes and hooks use it: one request, one response, a deadline. It follows no redirects.

export interface HttpRequest {
  readonly scheme: "HTTP" | "HTTPS";
  readonly host: string;
  readonly port: number;
  /** Path and query, beginning with `/`. */
  readonly path: string;
  /** In order; a header may be repeated. `Host` replaces the default one. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

export interface HttpAnswer {
  readonly status: number;
  /** The header, "" = none. */
  readonly location: string;
  /** At most 10 KiB of it. */
  readonly body: string;
}

/** kubelet: grpc.health.v1 HealthCheckResponse.ServingStatus; the last three stand for other answers. */
export type GrpcHealth =
  "SERVING" | "NOT_SERVING" | "UNKNOWN" | "SERVICE_UNKNOWN" | "UNIMPLEMENTED" | "NOT_FOUND";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Every method rejects with AgentError: `Timeout` after `timeoutMs`, `ConnectionFailed` with the cause,
 * `Aborted` with the signal. Proxies of the environment are not used, certificates not verified, connections not reused.
 */
export interface ProbeEdge {
  httpGet(request: HttpRequest, options: ProbeCall): Promise<HttpAnswer>;
  /** Resolves when the connection is established. */
  tcpConnect(address: Address, options: ProbeCall): Promise<void>;
  grpcHealth(
    address: Address & { readonly service: string },
    options: ProbeCall,
  ): Promise<GrpcHealth>;
}

export interface ProbeCall {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}
