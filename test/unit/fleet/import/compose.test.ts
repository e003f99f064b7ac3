import { describe, expect, test } from "bun:test";

import { importCompose } from "../../../../src/fleet/import/compose-file.ts";
import { objectsOf } from "../../../../src/fleet/import/pods.ts";
import type { Imported, Service } from "../../../../src/fleet/import/service.ts";
import { memberOf, type JsonObject } from "../../../../src/lib/json.ts";

const FILES: Readonly<Record<string, string>> = { "./a.conf": "x", "./run.sh": "exec a" };

function compose(value: JsonObject): Imported {
  const files = {
    read: (path: string) => FILES[path],
    isExecutable: (path: string) => path.endsWith(".sh"),
    resolve: (path: string) => path.replace(/^~/, "/home/me").replace(/^\.\//, "/desk/"),
    variable: () => undefined,
  };
  return importCompose({ value, variables: {}, files });
}

/** A file with one service, `web`. */
function serviceWith(fields: JsonObject, file: JsonObject = {}): Imported {
  return compose({ services: { web: { image: "a:1", ...fields } }, ...file });
}

const told = ({ remarks }: Pick<Imported, "remarks">): readonly string[] =>
  remarks.map(
    ({ place, message, isError }) => `${isError === true ? "error: " : ""}${place}: ${message}`,
  );

describe("a service", () => {
  const cases: readonly (readonly [string, JsonObject, Partial<Service>, readonly string[]])[] = [
    [
      "has truth values also as text, as variables give them",
      { privileged: "true", read_only: "yes", tty: "0", stdin_open: "maybe" },
      { isPrivileged: true, isReadOnly: true, tty: false, stdin: false },
      ["error: web: stdin_open: maybe is neither true nor false"],
    ],
    [
      "names amounts that cannot be read, and takes 0 for none",
      { mem_limit: "lots", cpus: "0", mem_reservation: "64m" },
      { limits: {}, requests: { memory: "64Mi" } },
      ["web: resources: lots is no amount, and was left out"],
    ],
    [
      "names keys inside deploy that are not read",
      {
        deploy: {
          resources: {
            limits: { cpus: "1", pids: 5 },
            reservations: { devices: [{ capabilities: ["gpu"] }] },
          },
          restart_policy: { condition: "any", max_attempts: 3 },
        },
      },
      { limits: { cpu: "1000m" }, restart: "Always" },
      [
        "web: deploy.restart_policy: max_attempts: not known here, and left out",
        "web: resources: pids: not known here, and left out",
        "web: resources: devices: not known here, and left out",
      ],
    ],
    [
      "has a check without the start period, and names what of it is not read",
      {
        healthcheck: {
          test: "true",
          start_period: "1m",
          interval: "often",
          retries: "few",
          start: 1,
          disable: "false",
        },
      },
      {
        probe: {
          command: ["sh", "-c", "true"],
          periodSeconds: 30,
          timeoutSeconds: 30,
          failureThreshold: 3,
        },
      },
      [
        "web: healthcheck: start: not known here, and left out",
        "web: healthcheck: few is no number of retries; it is 3",
        "web: healthcheck: often is no time; it is 30 s",
      ],
    ],
    [
      "has the user root by its number",
      { user: "root:root", group_add: ["root"] },
      { runAsUser: 0, runAsGroup: 0, groups: [0] },
      [],
    ],
    [
      "has devices, short and long, and those of CDI",
      {
        devices: [
          "/dev/dri",
          "/dev/a:/dev/b:r",
          { source: "/dev/c", target: "/dev/d", permissions: "rw" },
          "vendor.com/gpu=all",
          "tty",
        ],
      },
      { devices: ["/dev/dri", "/dev/a:/dev/b:r", "/dev/c:/dev/d:rw", "vendor.com/gpu=all"] },
      ["error: web: devices: tty is no path of a device"],
    ],
    [
      "has ports with an empty address, and names what of the long form is not read",
      {
        ports: [":8080:80", { target: 53, published: 53, host_ip: "::", x: 1, y: 2 }],
        expose: ["http"],
      },
      {
        ports: [
          { container: 80, host: 8080, protocol: "TCP" },
          { container: 53, host: 53, protocol: "TCP" },
        ],
      },
      ["web: ports: x, y: not known here, and left out", "web: expose: http is no port"],
    ],
    [
      "in the network of the node publishes nothing",
      { network_mode: "host", ports: ["8080:80", "81:81"], expose: [82] },
      { hostNetwork: true, ports: [{ container: 81, host: 81, protocol: "TCP" }] },
      ["web: ports: mean nothing in the network of the node, where the container has its own"],
    ],
    [
      "has the memory of /dev/shm",
      { shm_size: "128mb" },
      {
        mounts: [
          { type: "empty", inMemory: true, target: "/dev/shm", isReadOnly: false, size: "128Mi" },
        ],
      },
      [],
    ],
    [
      "names options of tmpfs and of mounts that mean nothing here",
      { tmpfs: "/run:size=1m,mode=1777,exec", volumes: ["/a:/a:ro,Z", "/b:/b:rslave,cached"] },
      {},
      [
        "web: volumes: z and Z: only SELinux needs them; label paths of the node for containers yourself",
        "web: volumes: /b: rslave: not known here, and left out",
        "web: tmpfs: /run: mode=1777: an emptyDir in memory has only a size",
      ],
    ],
    [
      "has an empty command of the image, and says so",
      { entrypoint: [], command: 5 },
      { args: ["5"] },
      ["web: entrypoint: is empty: the pod has that of the image"],
    ],
    [
      "names a restart policy, a process namespace and a text that are not known",
      { restart: "sometimes", pid: "service:db", hostname: true },
      { restart: "Never", hostPID: false },
      [
        "web: restart: sometimes is not known; it is no",
        "web: hostname: true is no text, and was left out",
        "web: pid: service:db has no counterpart: write shareProcessNamespace into one pod",
      ],
    ],
    [
      "does not count failures, and says so",
      { restart: "on-failure:5" },
      { restart: "OnFailure" },
      ["web: restart: on-failure:5: the container starts again however often it fails"],
    ],
    [
      "names what has another shape than Compose reads",
      {
        ports: "80:80",
        deploy: { resources: { limits: "1g" } },
        depends_on: "db",
        extra_hosts: ["gateway"],
      },
      { ports: [], limits: {}, dependsOn: {} },
      [
        "error: web: deploy.resources.limits: must be a map, and is left out",
        "error: web: ports: must be a list, and is left out",
        "error: web: depends_on: must be a list or a map, and is left out",
        "web: extra_hosts: gateway is no name with an address",
      ],
    ],
    [
      "that extends another one is an error, because much may be missing",
      { extends: { service: "base" } },
      {},
      ["error: web: extends: is not followed: write the service out"],
    ],
  ];

  test.each(cases)("%s", (_, fields, service, remarks) => {
    const result = serviceWith(fields);
    expect(told(result)).toEqual([...remarks]);
    expect(result.services[0]).toMatchObject(service);
  });
});

describe("volumes", () => {
  const mountsOf = (volumes: readonly unknown[], declared: JsonObject = {}) => {
    const result = serviceWith({ volumes }, { volumes: declared });
    return { mounts: result.services[0]?.mounts, told: told(result) };
  };
  const at = { target: "/d", isReadOnly: false } as const;

  test("that are bound by the driver are paths, others with options are named", () => {
    const bound = { driver_opts: { type: "none", o: "bind", device: "/srv/d" } };
    expect(mountsOf(["v:/d"], { v: bound })).toEqual({
      mounts: [{ type: "path", path: "/srv/d", ...at }],
      told: [],
    });
    const shared = { driver_opts: { type: "nfs", device: ":/d" }, mystery: 1 };
    expect(mountsOf(["v:/d"], { v: shared })).toEqual({
      mounts: [{ type: "claim", claim: "v", ...at }],
      told: [
        "web: volumes.v: mystery: not known here, and left out",
        "web: volumes.v: driver_opts type, device have no counterpart; the claim is a directory of the node",
      ],
    });
  });

  test("that exist elsewhere begin empty here, and are named", () => {
    expect(mountsOf(["v:/d"], { v: { external: true } }).told).toEqual([
      "web: volumes.v: is external: the claim begins empty; copy what the volume holds",
    ]);
  });

  test("of the long form are paths, parts of claims, or of an unknown type", () => {
    expect(mountsOf([{ type: "bind", source: "data", target: "/d" }])).toEqual({
      mounts: [{ type: "path", path: "data", ...at }],
      told: ["web: volumes: data becomes data of the node: put it there, or choose another path"],
    });
    expect(
      mountsOf([
        { type: "volume", source: "v", target: "/d", volume: { subpath: "s", nocopy: true } },
      ]),
    ).toEqual({
      mounts: [{ type: "claim", claim: "v", subPath: "s", ...at }],
      told: ["web: volumes: nocopy: not known here, and left out"],
    });
    expect(mountsOf([{ type: "npipe", source: "p", target: "/d" }])).toEqual({
      mounts: [],
      told: ["error: web: volumes: /d: the type npipe has no counterpart"],
    });
  });

  test("below the home of the operator are paths there", () => {
    expect(mountsOf(["~/d:/d"]).mounts).toEqual([{ type: "path", path: "/home/me/d", ...at }]);
  });

  test("that are small programs stay programs", () => {
    const [configMap, pod] = objectsOf(serviceWith({ volumes: ["./run.sh:/run.sh:ro"] })).objects;
    expect(configMap).toMatchObject({ kind: "ConfigMap", data: { "run.sh": "exec a" } });
    expect(pod).toMatchObject({
      spec: { volumes: [{ configMap: { name: "web-run-sh", defaultMode: 0o755 } }] },
    });
  });
});

describe("objects", () => {
  const wait = (pod: JsonObject | undefined): unknown =>
    memberOf(memberOf(memberOf(pod, "metadata"), "annotations"), "agent/depends-on");
  const podsOf = (services: JsonObject) => {
    const written = objectsOf(compose({ services }));
    return { pods: written.objects, told: told(written) };
  };

  test("wait for no pod that waits for them, although their services do not", () => {
    const { pods, told: remarks } = podsOf({
      a: { image: "a:1" },
      b: { image: "a:1", network_mode: "service:a", depends_on: ["c"] },
      c: { image: "a:1", depends_on: ["a"] },
    });
    expect(pods.map(wait)).toEqual(["c:Running", undefined]);
    expect(remarks).toEqual(["c: does not wait for a: the pod a waits for the pod c"]);
  });

  test("do not wait for the end of one that never ends", () => {
    const { pods, told: remarks } = podsOf({
      init: { image: "a:1", restart: "always" },
      web: { image: "a:1", depends_on: { init: { condition: "service_completed_successfully" } } },
    });
    expect(pods.map(wait)).toEqual([undefined, "init:Running"]);
    expect(remarks).toEqual(["web: only waits for init to run, which restarts always"]);
  });

  test("have signs of a dollar as the container shall see them", () => {
    const { pods } = podsOf({ web: { image: "a:1", command: ["$$$$", "a $$(b)", "$$c"] } });
    expect(pods[0]).toMatchObject({
      spec: { containers: [{ args: ["$$$$", "a $$(b)", "$c"] }] },
    });
  });

  test("are found under aliases, and under other names that another service uses", () => {
    const { pods, told: remarks } = podsOf({
      db: {
        image: "a:1",
        container_name: "store",
        networks: { n: { aliases: ["sql", "sql.lan"] } },
      },
      web: { image: "a:1", container_name: "unused", environment: { URL: "sql://store:1/x" } },
    });
    const services = pods.filter(({ kind }) => kind === "Service");
    expect(services.map((one) => memberOf(one["metadata"], "name"))).toEqual(["sql", "store"]);
    expect(services[1]).toMatchObject({ spec: { selector: { app: "db" } } });
    expect(remarks).toEqual([
      "db: container_name: the pod has the name of the service",
      "web: container_name: the pod has the name of the service",
      "db: sql.lan can be no name on a node: write db for it",
    ]);
  });

  test("of one pod have one hostname, and those left out are named", () => {
    const { told: remarks } = podsOf({
      a: { image: "a:1", hostname: "one" },
      b: { image: "a:1", hostname: "two", network_mode: "service:a" },
    });
    expect(remarks).toEqual(["a: its containers share a pod and one hostname: two left out"]);
  });
});
