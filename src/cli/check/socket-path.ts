// The path of a runtime's socket.

/** Of `unix:///run/containerd/containerd.sock`. */
export function socketOf(endpoint: string): string {
  return endpoint.replace(/^unix:\/\//, "");
}
