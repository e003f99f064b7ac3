// Pods of the scenarios.

const IMAGE = "local/busybox:1";
/** Ends at SIGTERM, which the first process of a container would ignore. */
const SLEEP = "trap 'exit 0' TERM; sleep 2147483647 & wait";

/** A web server with probes, behind a port of the machine. */
export function webPod(name: string, hostPort: number): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 2,
      containers: [
        {
          name: "web",
          image: IMAGE,
          command: ["httpd", "-f", "-p", "8080", "-h", "/www"],
          ports: [{ containerPort: 8080, hostPort }],
          readinessProbe: {
            httpGet: { port: 8080, path: "/" },
            timeoutSeconds: 20,
            periodSeconds: 5,
          },
          livenessProbe: {
            httpGet: { port: 8080, path: "/" },
            timeoutSeconds: 30,
            periodSeconds: 20,
            failureThreshold: 5,
          },
          resources: { limits: { memory: "32Mi" } },
        },
      ],
    },
  };
}

/** Sleeps; `version` stands in its command, so that a changed one is another pod. */
export function sleeper(
  name: string,
  version = "1",
  {
    container = {},
    ...spec
  }: { readonly container?: object; readonly [field: string]: unknown } = {},
): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      ...spec,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image: IMAGE,
          command: ["sh", "-c", `echo version ${version}; ${SLEEP}`],
          ...container,
        },
      ],
    },
  };
}

/** In the network of the machine, as an unprivileged user. */
export function hostPod(name: string): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsUser: 1000, runAsNonRoot: true },
      containers: [{ name: "main", image: IMAGE, command: ["sh", "-c", SLEEP] }],
    },
  };
}
