// Compose files and Quadlets like those that people run, imported and judged as a node would.

import { describe, expect, test } from "bun:test";

import { container, imported, names, pod } from "./import-stage.ts";

describe("a compose file", () => {
  test("of a file server has claims, dependencies, a probe and what the environment gives", async () => {
    const result = await imported("cloud.yaml", { DB_ROOT_PASSWORD: "pw" });
    expect(result.code).toBe(0);
    expect(result.told).toEqual(["warning: app: volumes"]);
    expect(names(result)).toEqual([
      "PersistentVolumeClaim db",
      "PersistentVolumeClaim html",
      "Pod db",
      "Pod cache",
      "Pod app",
    ]);
    expect(container(result, "db")).toMatchObject({
      args: ["--transaction-isolation=READ-COMMITTED", "--log-bin=binlog"],
      env: [
        { name: "MARIADB_ROOT_PASSWORD", value: "pw" },
        { name: "MARIADB_DATABASE", value: "cloud" },
      ],
      readinessProbe: {
        exec: { command: ["healthcheck.sh", "--connect", "--innodb_initialized"] },
        periodSeconds: 10,
        timeoutSeconds: 30,
        failureThreshold: 5,
      },
    });
    expect(pod(result, "app").metadata.annotations).toEqual({
      "agent/depends-on": "db:Ready,cache:Running",
    });
    expect(container(result, "app")).toMatchObject({
      ports: [{ containerPort: 80, hostPort: 8080 }],
      env: [
        { name: "MYSQL_HOST", value: "db" },
        { name: "REDIS_HOST", value: "cache" },
        { name: "TRUSTED", value: "cloud.example $HOSTNAME" },
      ],
    });
  });

  test("that needs a variable says so, and fails", async () => {
    const result = await imported("cloud.yaml");
    expect(result.code).toBe(1);
    expect(result.told).toContain(
      "error: services.db.environment[0]: ${DB_ROOT_PASSWORD} is required",
    );
  });

  test("of home automation has the host's network, paths and a device", async () => {
    const result = await imported("home.yaml");
    expect(result).toMatchObject({ code: 0, told: [] });
    expect(pod(result, "home")).toMatchObject({ hostNetwork: true, restartPolicy: "Always" });
    expect(container(result, "home")).toMatchObject({
      securityContext: { privileged: true },
      volumeMounts: [
        { mountPath: "/config" },
        { mountPath: "/etc/localtime", readOnly: true },
        { mountPath: "/run/dbus", readOnly: true },
      ],
      resources: { limits: { "podman.io/device=/dev/ttyUSB0:/dev/ttyUSB0": 1 } },
    });
  });

  test("of a broker takes its small file along, and names what networks were", async () => {
    const result = await imported("flows.yaml");
    expect(result.code).toBe(0);
    expect(result.told).toEqual([
      "warning: networks: pods of a node reach each other; networks separate nothing here",
      "warning: node_red: name",
    ]);
    expect(pod(result, "node-red").metadata.labels).toEqual({ app: "node-red" });
    expect(result.objects.find(({ kind }) => kind === "Service")).toMatchObject({
      metadata: { name: "editor" },
      spec: { clusterIP: "None", publishNotReadyAddresses: true, selector: { app: "node-red" } },
    });
    expect(result.objects[0]).toMatchObject({
      kind: "ConfigMap",
      metadata: { name: "mosquitto-mosquitto-conf" },
      data: { "mosquitto.conf": "listener 1883\nallow_anonymous true\n" },
    });
    expect(container(result, "mosquitto")).toMatchObject({
      ports: [
        { containerPort: 1883, hostPort: 1883 },
        { containerPort: 9001, hostPort: 9001, hostIP: "127.0.0.1" },
      ],
      volumeMounts: [
        {
          mountPath: "/mosquitto/config/mosquitto.conf",
          subPath: "mosquitto.conf",
          readOnly: true,
        },
        { mountPath: "/mosquitto/data" },
      ],
    });
    expect(container(result, "node-red")).toMatchObject({
      securityContext: { runAsUser: 1000, runAsGroup: 1000 },
      env: [{ name: "TZ", value: "Europe/Berlin" }],
    });
  });

  test("of metrics has configs, secrets, limits and a grace period", async () => {
    const result = await imported("measure.yaml");
    expect(result.code).toBe(0);
    expect(result.told).toEqual([
      "warning: prometheus: restart",
      "warning: prometheus: user",
      "warning: prometheus: logging",
      "warning: grafana: secrets",
    ]);
    expect(names(result).slice(0, 3)).toEqual([
      "ConfigMap scrape",
      "Secret admin-password",
      "PersistentVolumeClaim metrics",
    ]);
    expect(pod(result, "prometheus")["restartPolicy"]).toBe("OnFailure");
    expect(pod(result, "grafana")).toMatchObject({
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 90,
    });
    expect(container(result, "grafana")).toMatchObject({
      resources: { limits: { cpu: "500m", memory: "512Mi" } },
      volumeMounts: [
        { mountPath: "/tmp" },
        { mountPath: "/run/secrets/admin_password", subPath: "admin_password" },
      ],
    });
  });

  test("of a name server has both protocols, sysctls and capabilities", async () => {
    const result = await imported("names.yaml");
    expect(result).toMatchObject({ code: 0, told: ["warning: names: volumes"] });
    expect(pod(result, "names")).toMatchObject({
      hostname: "names",
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["127.0.0.1", "9.9.9.9"] },
      securityContext: { sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }] },
    });
    expect(container(result, "names")).toMatchObject({
      securityContext: { capabilities: { add: ["NET_ADMIN"] } },
      ports: [
        { containerPort: 53, hostPort: 53 },
        { containerPort: 53, hostPort: 53, protocol: "UDP" },
        { containerPort: 80, hostPort: 8081 },
      ],
    });
  });

  test("of a proxy of Docker fails at its socket, and the rest is there", async () => {
    const result = await imported("proxy.yaml");
    expect(result.code).toBe(1);
    expect(result.told).toEqual([
      "error: proxy: volumes",
      "warning: whoami: labels",
      "warning: whoami: deploy",
    ]);
    expect(names(result)).toEqual(["Pod proxy", "Pod whoami"]);
  });

  test("of services in the network of another one is one pod", async () => {
    const result = await imported("vpn.yaml", { VPN_KEY: "k" });
    expect(result.code).toBe(0);
    expect(names(result)).toEqual(["Pod vpn"]);
    expect(pod(result, "vpn").containers?.map(({ name }) => name)).toEqual([
      "vpn",
      "downloads",
      "index",
    ]);
    expect(pod(result, "vpn").metadata.annotations).toBeUndefined();
  });

  test("of a project that is built keeps what has an image, and says what to do with the rest", async () => {
    const result = await imported("build.yaml");
    expect(result.code).toBe(1);
    expect(result.told).toEqual([
      "error: web: build",
      "warning: worker: build",
      "warning: worker: security_opt",
      "warning: worker: extra_hosts",
      "warning: worker: profiles",
      "warning: worker: init",
    ]);
    expect(container(result, "worker")).toMatchObject({
      args: ["sh", "-c", "exec worker --queue 'low prio' --tag $$(hostname)"],
      env: [
        { name: "QUEUE_URL", value: "amqp://queue" },
        { name: "LEVEL", value: "info" },
      ],
      securityContext: { allowPrivilegeEscalation: false },
    });
    expect(pod(result, "worker")["hostAliases"]).toEqual([
      { ip: "192.168.1.5", hostnames: ["db.lan"] },
    ]);
  });
});

describe("a directory of Quadlet", () => {
  test("with a server and a database is two pods", async () => {
    const result = await imported("quadlet-web");
    expect(result.code).toBe(0);
    expect(result.told).toEqual([
      "warning: shop.network: Network",
      "warning: web.container: Network",
      "warning: web.container: AutoUpdate",
    ]);
    expect(names(result)).toEqual([
      "PersistentVolumeClaim pgdata",
      "PersistentVolumeClaim web",
      "Pod db",
      "Pod web",
    ]);
    expect(pod(result, "web")).toMatchObject({
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 25,
    });
    expect(pod(result, "web").metadata.annotations).toEqual({ "agent/depends-on": "db:Running" });
    expect(container(result, "web")).toMatchObject({
      args: ["nginx", "-g", "daemon off;"],
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "two words" },
      ],
      ports: [{ containerPort: 80, hostPort: 8080 }],
      readinessProbe: {
        exec: { command: ["sh", "-c", "curl -f http://localhost/"] },
        periodSeconds: 15,
      },
      securityContext: { capabilities: { add: ["NET_BIND_SERVICE"] } },
      volumeMounts: [{ mountPath: "/usr/share/nginx/html", readOnly: true }],
    });
    expect(container(result, "db")).toMatchObject({
      env: [{ name: "POSTGRES_PASSWORD", value: "not-a-real-password" }],
      volumeMounts: [{ mountPath: "/var/lib/postgresql/data" }, { mountPath: "/dev/shm" }],
    });
  });

  test("with a pod is one pod, whose ports its first container has", async () => {
    const result = await imported("quadlet-cloud");
    expect(result.code).toBe(0);
    expect(names(result)).toEqual(["Pod cloud"]);
    expect(result.told).toEqual([
      "warning: cache.container: Secret",
      "warning: extra.kube: Yaml",
      "warning: the result:5: spec.volumes[0].secret",
    ]);
    expect(container(result, "cloud", 0)).toMatchObject({
      name: "cache",
      ports: [{ containerPort: 443, hostPort: 8443 }],
      securityContext: { runAsUser: 999 },
    });
    expect(container(result, "cloud", 1)).toMatchObject({
      name: "front",
      image: "quay.io/shop/front:2.0",
      securityContext: { readOnlyRootFilesystem: true },
    });
  });
});
