import { describe, expect, test } from "bun:test";

import { readMount, readPodmanArgs } from "../../../../src/fleet/import/podman-args.ts";
import { importQuadlet } from "../../../../src/fleet/import/quadlet.ts";
import type { Imported, Service } from "../../../../src/fleet/import/service.ts";

const FILES: Readonly<Record<string, string>> = {
  "./web.env": "A=1\nTAG=2\nFLAGS=-x -y\n",
  "./a.conf": "x",
};

function quadlet(units: Readonly<Record<string, string>>): Imported {
  return importQuadlet({
    units,
    files: {
      read: (path) => FILES[path],
      isExecutable: () => false,
      resolve: (path) => path.replace(/^\.\//, "/desk/"),
      variable: (name) => (name === "HOME" ? "/home/me" : undefined),
    },
  });
}

const told = ({ remarks }: Imported): readonly string[] =>
  remarks.map(
    ({ place, message, isError }) => `${isError === true ? "error: " : ""}${place}: ${message}`,
  );

describe("a container", () => {
  const cases: readonly (readonly [string, string, Partial<Service>, readonly string[]])[] = [
    [
      "has the specifiers of systemd replaced, and names those of a machine",
      "Environment=A=100%% B=%n C=%N D=%t\nVolume=%h/data:/d",
      {
        environment: { A: "100%", B: "web.service", C: "web", D: "%t" },
        mounts: [{ type: "path", path: "/home/me/data", target: "/d", isReadOnly: false }],
      },
      [
        "error: web.container: Environment: %t in A=100%% B=%n C=%N D=%t: write what it stands for",
        "web.container: Volume: %h becomes /home/me of the node: put it there, or choose another path",
      ],
    ],
    [
      "has the variables of its service replaced, and names those without a value",
      "Exec=run ${A} $FLAGS 'echo $A' $$ $NONE\nVolume=${DATA}:/d\nLabel=a=${B}\n[Service]\nEnvironmentFile=./web.env",
      { args: ["run", "1", "-x", "-y", "echo $A", "$", "$NONE"], mounts: [] },
      [
        "error: web.container: Volume: ${DATA} has no value: write it, or set it in [Service] by Environment",
        "error: web.container: Exec: $NONE has no value: write it, or set it in [Service]",
        "web.container: Label: write labels into the pod",
      ],
    ],
    [
      "has the options of podman as keys, and names the others",
      "PodmanArgs=--privileged --env 'A=x y' --memory=1g -v data:/d --umask=0077\nHealthCmd=CMD-SHELL true && true",
      {
        isPrivileged: true,
        environment: { A: "x y" },
        limits: { memory: "1024Mi" },
        mounts: [{ type: "claim", claim: "data", target: "/d", isReadOnly: false }],
        probe: {
          command: ["sh", "-c", "true && true"],
          periodSeconds: 30,
          timeoutSeconds: 30,
          failureThreshold: 3,
        },
      },
      ["web.container: PodmanArgs: --umask=0077: has no counterpart"],
    ],
    [
      "waits for the Secrets that Podman held",
      "Secret=pw,type=env,target=PASSWORD\nSecret=key,mode=0400",
      {
        secretEnvironment: { PASSWORD: { secret: "pw", key: "pw" } },
        mounts: [
          {
            type: "file",
            configMap: "key",
            key: "key",
            isSecret: true,
            target: "/run/secrets/key",
            isReadOnly: true,
          },
        ],
      },
      [
        "web.container: Secret: write a Secret pw with the key pw; the pod waits for it",
        "web.container: Secret: key: mode: not known, and left out",
        "web.container: Secret: write a Secret key with the key key; the pod waits for it",
      ],
    ],
    [
      "that is read-only has what Podman leaves writable",
      "ReadOnly=true\nTmpfs=/tmp",
      {
        isReadOnly: true,
        mounts: ["/tmp", "/run", "/var/tmp"].map((target) => ({
          type: "empty",
          inMemory: true,
          target,
          isReadOnly: false,
        })),
      },
      [],
    ],
    [
      "has devices with paths and permissions, groups, a policy of pulls and an id for root",
      "AddDevice=-/dev/a:/dev/b:r\nGroupAdd=44\nPull=newer\nUser=root:5\nMemory=much",
      {
        devices: ["/dev/a:/dev/b:r"],
        groups: [44],
        imagePullPolicy: "Always",
        runAsUser: 0,
        runAsGroup: 5,
      },
      [
        "web.container: AddDevice: -/dev/a:/dev/b:r: the container waits until the device is there",
        "web.container: Memory: much is no amount, and was left out",
      ],
    ],
    [
      "names what systemd was told, and sections that are not known",
      "Mount=type=bind\nAddHost=a\nPublishPort=http\nVolume=./x:/x\nEnvironment=A\nHealthInterval=5s\n[Service]\nExecStartPre=true\n[Unit]\nConditionPathExists=/x\nPartOf=y.target\nAfter=z.service network-online.target\n[Pot]\nA=1",
      { environment: {} },
      [
        "error: web.container: PublishPort: http is no port",
        "web.container: Environment: A has no value, and is left out",
        "web.container: Volume: ./x becomes /desk/x of the node: put it there, or choose another path",
        "web.container: HealthInterval: the check of the image is not taken over: write HealthCmd",
        "web.container: AddHost: a is no name with an address",
        "web.container: [Unit] After: z.service is not in the directory: the pod does not wait for it",
        "web.container: Mount: write it as Volume or Tmpfs",
        "web.container: [Service]: ExecStartPre: the node runs the pod, not systemd",
        "web.container: [Unit]: ConditionPathExists, PartOf: the node runs the pod, not systemd",
        "web.container: [Pot]: A: the node runs the pod, not systemd",
      ],
    ],
  ];

  test.each(cases)("%s", (_, text, service, remarks) => {
    const result = quadlet({ "web.container": `[Container]\nImage=a:1\n${text}\n` });
    expect(told(result)).toEqual([...remarks]);
    expect(result.services[0]).toMatchObject(service);
  });
});

test("the forms of a health command are Podman's", () => {
  const commandOf = (written: string) =>
    quadlet({ "web.container": `[Container]\nImage=a:1\nHealthCmd=${written}\n` }).services[0]
      ?.probe?.command;
  expect(commandOf("a || b")).toEqual(["sh", "-c", "a || b"]);
  expect(commandOf("CMD a 'b c'")).toEqual(["a", "b c"]);
  expect(commandOf('["CMD", "a"]')).toEqual(["a"]);
  expect(commandOf('["CMD-SHELL", "a | b"]')).toEqual(["sh", "-c", "a | b"]);
});

describe("units together", () => {
  const container = (more = "") => `[Container]\nImage=a:1\n${more}\n`;

  test("wait for those before them, as far as systemd does", () => {
    const { services } = quadlet({
      "web.container": `[Unit]\nAfter=db.service\n${container()}`,
      "db.container": container("Notify=healthy\nHealthCmd=true"),
      "init.container": `[Unit]\nBefore=web.container\n${container()}[Service]\nType=oneshot\n`,
    });
    expect(services.find(({ name }) => name === "web")?.dependsOn).toEqual({
      db: "Ready",
      init: "Succeeded",
    });
  });

  test("of a pod have its keys, and those that mean nothing are named", () => {
    const { services, ...result } = quadlet({
      "app.pod":
        "[Pod]\nNetwork=host\nVolume=data:/d\nAddHost=a:10.0.0.1\nPodName=x\nSubUIDMap=y\n",
      "one.container": container("Pod=app.pod"),
      "two.container": container("Pod=app.pod"),
    });
    expect(
      services.map(({ pod, hostNetwork, mounts }) => [pod, hostNetwork, mounts.length]),
    ).toEqual([
      ["app", true, 1],
      ["app", false, 1],
    ]);
    expect(told({ services, ...result })).toEqual([
      "app.pod: PodName: the pod has the name of the unit",
      "app.pod: SubUIDMap: is not known, and was left out",
    ]);
  });

  test("in the network of a container are in its pod", () => {
    const { services } = quadlet({
      "vpn.container": container(),
      "web.container": container("Network=vpn.container"),
    });
    expect(services.map(({ pod }) => pod)).toEqual([undefined, "vpn"]);
  });

  test("that are missing or lead nowhere are named", () => {
    expect(
      told(
        quadlet({
          "a.container": container("Pod=none.pod"),
          "b.container": "[Container]\nImage=none.image\n",
          "empty.pod": "[Pod]\nPublishPort=1:1\n",
        }),
      ),
    ).toEqual([
      "a.container: Pod: none.pod is not in the directory",
      "error: b.container: Image: none.image is not in the directory",
      "empty.pod: Pod: no container of the directory is in it, and it is left out",
    ]);
  });

  test("of volumes give claims their names, and name what a claim has not", () => {
    const result = quadlet({
      "web.container": container("Volume=data.volume:/a\nVolume=shared:/b"),
      "data.volume": "[Volume]\nVolumeName=shared\nDevice=/dev/sda1\n",
      "job.container": container("Volume=bound.volume:/a:ro"),
      "bound.volume": "[Volume]\nDevice=/srv/a\nType=none\nOptions=bind\n",
    });
    const claims = result.services.flatMap(({ mounts }) => mounts);
    expect(claims.map((one) => one.type === "claim" && one.claim)).toEqual([
      false,
      "shared",
      "shared",
    ]);
    expect(claims[0]).toMatchObject({ type: "path", path: "/srv/a", isReadOnly: true });
    expect(told(result)).toEqual([
      "data.volume: Device: has no counterpart; the claim is a directory of the node",
    ]);
  });

  test("that are templates are errors, their instances are pods", () => {
    const { services, ...result } = quadlet({
      "job@.container": container("Environment=A=%i"),
      "job@one.container": container("Environment=A=%i"),
      "other@.container": `${container("Environment=A=%i")}[Install]\nDefaultInstance=two\n`,
    });
    expect(services.map(({ name, environment }) => [name, environment])).toEqual([
      ["job-one", { A: "one" }],
      ["other", { A: "two" }],
    ]);
    expect(told({ services, ...result })).toEqual([
      "error: job@.container: is a template: copy it for each instance, as job@one.container",
    ]);
  });

  test("take small files beside them along", () => {
    const { services, files } = quadlet({
      "web.container": container("Volume=./a.conf:/a.conf:ro\nVolume=./b:/b"),
    });
    expect(files).toEqual([{ name: "web-a-conf", isSecret: false, data: { "a.conf": "x" } }]);
    expect(services[0]?.mounts.map(({ type }) => type)).toEqual(["file", "path"]);
  });
});

test("options of podman have words after them or an equals sign, or neither", () => {
  expect(
    readPodmanArgs([
      `-e A="b c" --read-only --device=/dev/x --mount type=image,src=a,dst=/b --label a=b`,
    ]),
  ).toEqual({
    keys: [
      ["Environment", '"A=b c"'],
      ["ReadOnly", "true"],
      ["AddDevice", "/dev/x"],
    ],
    others: ["--mount type=image,src=a,dst=/b", "--label", "a=b"],
  });
});

test("mounts are volumes or of memory, or have no such form", () => {
  expect(
    [
      "type=bind,src=/a,dst=/b,ro=true",
      "source=data,target=/d",
      "type=tmpfs,destination=/t,tmpfs-size=1m",
    ].map(readMount),
  ).toEqual([
    ["Volume", "/a:/b:ro"],
    ["Volume", "data:/d"],
    ["Tmpfs", "/t:size=1m"],
  ]);
  expect(
    ["type=glob,src=/a*,dst=/b", "type=bind,src=/a,dst=/b,idmap", "src=/a"].map(readMount),
  ).toEqual([undefined, undefined, undefined]);
});
