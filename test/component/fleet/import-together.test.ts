// What the services of one import have in common: names, ports, networks, dependencies, and the files that are written.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { importComposeFile } from "../../../src/fleet/import/import.ts";
import { FakeTerminal } from "../cli/fake-terminal.ts";
import { composeFile, container, imported, names, pod, temp } from "./import-stage.ts";

describe("all services together", () => {
  test("that use one config have one ConfigMap", async () => {
    const result = await imported(
      composeFile(`services:
  one: {image: a:1, restart: always, configs: [shared]}
  two: {image: a:1, restart: always, configs: [shared]}
configs: {shared: {content: x}}
`),
    );
    expect(result).toMatchObject({ code: 0, told: [] });
    expect(names(result)).toEqual(["ConfigMap shared", "Pod one", "Pod two"]);
  });

  test("whose contents would have one name are an error", async () => {
    const path = composeFile(`services:
  web: {image: a:1, volumes: ["./a.conf:/a:ro", "./sub/a.conf:/b:ro"]}
`);
    mkdirSync(join(path, "../sub"));
    writeFileSync(join(path, "../a.conf"), "one");
    writeFileSync(join(path, "../sub/a.conf"), "two");
    const result = await imported(path);
    expect(result.code).toBe(1);
    expect(result.told).toEqual([
      "error: web-a-conf: two contents would have this name, and the first is written",
    ]);
  });

  test("that publish one port of the node are an error, as a node says it", async () => {
    const result = await imported(
      composeFile(`services:
  one: {image: a:1, ports: ["8080:80"]}
  two: {image: a:1, ports: ["8080:81"]}
`),
    );
    expect(result.code).toBe(1);
    expect(result.told).toEqual([expect.stringMatching(/^error: the result:\d+: spec.containers/)]);
  });

  test("wait for no service that is not imported, which would be for ever", async () => {
    const result = await imported(
      composeFile(`services:
  made: {build: .}
  web: {image: a:1, depends_on: [made, db]}
  db: {image: b:1}
`),
    );
    expect(pod(result, "web").metadata.annotations).toEqual({ "agent/depends-on": "db:Running" });
    expect(result.told).toEqual([
      "error: made: build",
      "warning: web: does not wait for made, which is not imported",
    ]);
  });

  test("in a chain of shared networks are one pod, and others wait for that pod", async () => {
    const result = await imported(
      composeFile(`services:
  last: {image: a:1, network_mode: "service:middle"}
  middle: {image: a:1, network_mode: "service:vpn"}
  vpn: {image: a:1}
  web: {image: a:1, depends_on: {last: {condition: service_healthy}, vpn: {condition: service_started}}}
`),
    );
    expect(result).toMatchObject({ code: 0, told: [] });
    expect(names(result)).toEqual(["Pod vpn", "Pod web"]);
    expect(pod(result, "vpn").containers?.map(({ name }) => name)).toEqual([
      "last",
      "middle",
      "vpn",
    ]);
    expect(pod(result, "web").metadata.annotations).toEqual({ "agent/depends-on": "vpn:Ready" });
  });

  test("in a circle of shared networks, or of one name, are errors", async () => {
    const result = await imported(
      composeFile(`services:
  one: {image: a:1, network_mode: "service:two"}
  two: {image: a:1, network_mode: "service:one"}
  a_b: {image: a:1}
  a.b: {image: a:1}
`),
    );
    expect(result.code).toBe(1);
    expect(result.told).toContain(
      "error: one: services share a network in a circle; it gets a pod of its own",
    );
    expect(result.told).toContain(
      "error: a-b: two services would have this name, and the first is written",
    );
    expect(names(result)).toEqual(["Pod one", "Pod two", "Pod a-b"]);
  });
});

describe("a directory of Quadlet on the disk", () => {
  test("has drop-ins, the most general first, and names units that lie deeper", async () => {
    const directory = temp.directory("units");
    const write = (place: string, text: string): void => {
      mkdirSync(dirname(join(directory, place)), { recursive: true });
      writeFileSync(join(directory, place), text);
    };
    write("web-app.container", "[Container]\nImage=a:1\nEnvironment=A=0 B=0 C=0 D=0\n");
    write("container.d/all.conf", "[Container]\nEnvironment=A=1 B=1 C=1\n");
    write("web-.container.d/web.conf", "[Container]\nEnvironment=B=2 C=2\n");
    write("web-app.container.d/b.conf", "[Container]\nEnvironment=C=3\n");
    write("web-app.container.d/a.conf", "[Container]\nEnvironment=C=4\nEnvironmentFile=\n");
    write("web-app.container.d/readme.txt", "[Container]\nEnvironment=C=5\n");
    write("more/db.container", "[Container]\nImage=a:1\n");
    const result = await imported(directory);
    expect(result.told).toEqual(["warning: more: is a directory with units, which are not read"]);
    expect(container(result, "web-app")["env"]).toEqual(
      ["1", "2", "3", "0"].map((value, index) => ({ name: "ABCD"[index], value })),
    );
  });
});

describe("--output-dir", () => {
  const TEXT = `services: {web: {image: a:1, volumes: ["data:/data"]}}\nvolumes: {data: {}}\n`;

  test("gets a file for each object, which only the operator can read", async () => {
    const terminal = new FakeTerminal();
    const outputDir = join(temp.path, "written");
    expect(await importComposeFile(terminal, composeFile(TEXT), { outputDir })).toBe(0);
    const files = readdirSync(outputDir).toSorted();
    expect(files).toEqual(["persistentvolumeclaim-data.yaml", "pod-web.yaml"]);
    expect(terminal.stdout).toBe(files.map((file) => `${join(outputDir, file)}\n`).join(""));
    expect(readFileSync(join(outputDir, "pod-web.yaml"), "utf8")).toContain("name: web\n");
    expect(statSync(join(outputDir, "pod-web.yaml")).mode & 0o777).toBe(0o600);
  });

  test("changes nothing if one of the files is there", async () => {
    const outputDir = join(temp.path, "there");
    mkdirSync(outputDir);
    writeFileSync(join(outputDir, "pod-web.json"), "mine");
    const written = importComposeFile(new FakeTerminal(), composeFile(TEXT), {
      outputDir,
      output: "json",
    });
    expect(written).rejects.toThrow("is there already");
    await written.catch(() => undefined);
    expect(readdirSync(outputDir)).toEqual(["pod-web.json"]);
  });
});
