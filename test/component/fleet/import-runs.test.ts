// What decides that a program of a compose file or of Quadlet runs as a pod as it did before.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "bun:test";

import { composeFile, container, imported, names, pod, temp } from "./import-stage.ts";

const FREE_PORTS = { name: "net.ipv4.ip_unprivileged_port_start", value: "0" };

describe("words that YAML 1.1 reads as truth values", () => {
  test("are text in a compose file, and text for the node that reads the result", async () => {
    const result = await imported(
      composeFile(`services:
  store:
    image: local/store:1
    command: [server, --append, yes, --guard, no]
    entrypoint: run --verbose on
    environment: {LOUD: off, LEVEL: y}
    privileged: no
`),
    );
    expect(result).toMatchObject({ code: 0, told: [] });
    expect(container(result, "store")).toMatchObject({
      command: ["run", "--verbose", "on"],
      args: ["server", "--append", "yes", "--guard", "no"],
      env: [
        { name: "LOUD", value: "off" },
        { name: "LEVEL", value: "y" },
      ],
    });
    expect(container(result, "store")["securityContext"]).toBeUndefined();
  });
});

describe("a port below 1024", () => {
  const portsOf = async (rest: string): Promise<unknown> => {
    const text = `services: {front: {image: "local/front:1", ${rest}}}\n`;
    const result = await imported(composeFile(text));
    expect(result.code).toBe(0);
    return pod(result, "front")["securityContext"];
  };

  test("can be opened by every user of the image, as under Docker", async () => {
    expect(await portsOf('ports: ["8080:80"]')).toEqual({ sysctls: [FREE_PORTS] });
    expect(await portsOf("expose: [443]")).toEqual({ sysctls: [FREE_PORTS] });
  });

  test("changes nothing for others, nor for the network of the node", async () => {
    expect(await portsOf('ports: ["80:8080"]')).toBeUndefined();
    expect(await portsOf('ports: ["80:80"], network_mode: host')).toBeUndefined();
  });

  test("leaves a sysctl that is written, and stands once in a pod of several services", async () => {
    const own = { ...FREE_PORTS, value: "81" };
    expect(await portsOf(`ports: ["80:80"], sysctls: {${own.name}: 81}`)).toEqual({
      sysctls: [own],
    });
    const result = await imported(
      composeFile(`services:
  one: {image: "local/front:1", ports: ["80:80"]}
  two: {image: "local/front:1", expose: [443], network_mode: "service:one"}
`),
    );
    expect(result.code).toBe(0);
    expect(pod(result, "one")["securityContext"]).toEqual({ sysctls: [FREE_PORTS] });
  });
});

describe("links", () => {
  test("are names of the services that they name, and the order of the start", async () => {
    const result = await imported(
      composeFile(`services:
  shop: {image: "local/shop:1", links: ["base:sql", cache]}
  base: {image: "local/base:1"}
  cache: {image: "local/cache:1"}
`),
    );
    expect(result).toMatchObject({ code: 0, told: [] });
    expect(names(result)).toContain("Service sql");
    expect(pod(result, "base").metadata.labels).toEqual({ app: "base" });
    expect(pod(result, "shop").metadata.annotations).toEqual({
      "agent/depends-on": "base:Running,cache:Running",
    });
  });

  test("to a service that is not imported are a warning", async () => {
    const result = await imported(
      composeFile('services: {shop: {image: "local/shop:1", links: ["gone:sql"]}}\n'),
    );
    expect(result).toMatchObject({ code: 0 });
    expect(result.told).toEqual(["warning: shop: does not wait for gone, which is not imported"]);
  });
});

describe("files of variables", () => {
  const TEXT = `services:
  app:
    image: "local/app:\${TAG}"
    env_file: app.env
    volumes: ["\${DATA}:/data"]
`;
  const written = (env: string, appEnv: string): string => {
    const path = composeFile(TEXT);
    writeFileSync(join(path, "../.env"), env);
    writeFileSync(join(path, "../app.env"), appEnv);
    return path;
  };

  test("name variables and lines before them, but not between single quotes", async () => {
    const result = await imported(
      written(
        'BASE=/srv/${SITE:-main}\nDATA="${BASE}/data"\nTAG=1\n',
        "HASH='$2a$14$x'\nPRICE=5$$\nHOME_OF=$BASE\n",
      ),
      { SITE: "north" },
    );
    expect(result).toMatchObject({ code: 0, told: [] });
    expect(pod(result, "app")["volumes"]).toMatchObject([
      { hostPath: { path: "/srv/north/data" } },
    ]);
    expect(container(result, "app")).toMatchObject({
      image: "local/app:1",
      env: [
        { name: "HASH", value: "$2a$14$x" },
        { name: "PRICE", value: "5$" },
        { name: "HOME_OF", value: "/srv/north" },
      ],
    });
  });

  test("that name what nobody sets are a warning, or an error where it is required", async () => {
    const result = await imported(written("DATA=/srv$NONE\nTAG=1\n", "KEY=${KEY:?ask for it}\n"));
    expect(result.code).toBe(1);
    expect(result.told).toEqual(["warning: .env: NONE", "error: app: env_file"]);
  });
});

describe("PodmanArgs=--pid", () => {
  const unit = async (name: string, pid: string): Promise<Awaited<ReturnType<typeof imported>>> => {
    const directory = join(temp.path, name);
    mkdirSync(directory);
    const text = `[Container]\nImage=local/watch:1\nPodmanArgs=--pid=${pid}\n`;
    writeFileSync(join(directory, "watch.container"), text);
    return imported(directory);
  };

  test("of the host is the process namespace of the node", async () => {
    const result = await unit("pid-host", "host");
    expect(result).toMatchObject({ code: 0, told: [] });
    expect(pod(result, "watch")).toMatchObject({ hostPID: true });
  });

  test("of another container is a warning with what to do", async () => {
    const result = await unit("pid-other", "container:web");
    expect(result.told).toEqual(["warning: watch.container: PodmanArgs --pid"]);
    expect(pod(result, "watch")["hostPID"]).toBeUndefined();
  });
});
