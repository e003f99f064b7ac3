import { describe, expect, test } from "bun:test";
import type { EnvFrom, EnvVar } from "../../../../src/api/v1/environment.ts";
import type { KeySelector } from "../../../../src/api/v1/key-and-field-refs.ts";
import { EnvFiles } from "../../../../src/runtime/cri-config/env-file.ts";
import type { EnvValue } from "../../../../src/runtime/cri-config/expansion.ts";
import {
  resolveEnvironment,
  type EnvEntry,
  type EnvironmentFacts,
} from "../../../../src/runtime/cri-config/environment.ts";
import { aContainer, aPod, UID } from "../../../fakes/a-pod.ts";
import { localObjects, type WrittenObjects } from "../../../fakes/local-objects.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const BYTES = new Uint8Array([0xff, 0xfe, 0x41]);
const WORLD: WrittenObjects = {
  configMaps: {
    web: { PORT: "80", HOST: "web.local" },
    more: { PORT: "8080", "log.level": "debug" },
    odd: { ä: "umlaut", fine: "yes", "a=b": "equals" },
    files: { text: "text", binary: new Uint8Array([1, 2]) },
  },
  secrets: {
    login: { USER: "admin", KEY: BYTES, TEXT: "grüße" },
    zero: { TEXT: "hush\0hush", BYTES: new Uint8Array([0xff, 0]) },
  },
};
/** By volume and path. */
const FILES: Readonly<Record<string, Uint8Array>> = {
  "scratch/app.env": new TextEncoder().encode(
    "DB='db.local'\nEMPTY=''\nREF='$(HOST)'\nBAD=1\nLATE='x'",
  ),
  "scratch/bytes.env": Buffer.from("KEY='\xff\xfe'\nNUL='a\0b'", "latin1"),
};
const facts: EnvironmentFacts = {
  objects: localObjects(WORLD),
  downward: { nodeName: "pi", podIPs: ["10.88.0.2", "fd00::2"], hostIPs: ["192.0.2.1"] },
  node: { cpuMillis: 4000, memoryBytes: 1024 ** 3 },
  files: new EnvFiles(({ volumeName, path }) => FILES[`${volumeName}/${path}`]),
};

const from = (type: EnvFrom["type"], name: string, more: Partial<EnvFrom> = {}): EnvFrom => ({
  type,
  name,
  prefix: "",
  optional: false,
  ...more,
});
const key = (name: string, of: string, optional = false): KeySelector => ({
  name,
  key: of,
  optional,
});
const configKey = (name: string, of: KeySelector): EnvVar => ({
  name,
  valueFrom: { type: "configMapKeyRef", ...of },
});
const secretKey = (name: string, of: KeySelector): EnvVar => ({
  name,
  valueFrom: { type: "secretKeyRef", ...of },
});
const fileKey = (name: string, path: string, of: string, optional = false): EnvVar => ({
  name,
  valueFrom: { type: "fileKeyRef", volumeName: "scratch", path, key: of, optional },
});
const field = (name: string, fieldPath: string): EnvVar => ({
  name,
  valueFrom: { type: "fieldRef", fieldPath },
});

function resolve(spec: Partial<Container>) {
  const container = aContainer("a", spec);
  const metadata = { labels: { app: "shop" }, annotations: {} };
  return resolveEnvironment(aPod({ containers: [container] }, metadata), container, facts);
}

/** In order. */
const entries = (spec: Partial<Container>): readonly (readonly [string, EnvValue])[] =>
  resolve(spec).env.map(({ name, value }: EnvEntry) => [name, value]);

type Case = [Partial<Container>, readonly (readonly [string, EnvValue])[]];
const table = (cases: Record<string, Case>) => Object.entries(cases);

describe("variables of whole objects", () => {
  test.each(
    table({
      "are all keys of a ConfigMap": [
        { envFrom: [from("configMap", "web")] },
        [
          ["PORT", "80"],
          ["HOST", "web.local"],
        ],
      ],
      "have the prefix that is written": [
        { envFrom: [from("configMap", "web", { prefix: "WEB_" })] },
        [
          ["WEB_PORT", "80"],
          ["WEB_HOST", "web.local"],
        ],
      ],
      "are those of the later object where both have one": [
        { envFrom: [from("configMap", "web"), from("configMap", "more")] },
        [
          ["PORT", "8080"],
          ["HOST", "web.local"],
          ["log.level", "debug"],
        ],
      ],
      "are text where a Secret holds text, else bytes": [
        { envFrom: [from("secret", "login")] },
        [
          ["USER", "admin"],
          ["KEY", BYTES],
          ["TEXT", "grüße"],
        ],
      ],
      "are not what a ConfigMap holds for files": [
        { envFrom: [from("configMap", "files")] },
        [["text", "text"]],
      ],
      "are none of an optional object that is not there": [
        {
          envFrom: [
            from("configMap", "gone", { optional: true }),
            from("secret", "gone", { optional: true }),
          ],
        },
        [],
      ],
      "give way to the container's own, in their place": [
        { envFrom: [from("configMap", "web")], env: [{ name: "PORT", value: "1" }] },
        [
          ["PORT", "1"],
          ["HOST", "web.local"],
        ],
      ],
    }),
  )("%s", (_, [spec, expected]) => expect(entries(spec)).toEqual([...expected]));

  test("leave out names that no variable can have, and report them", () => {
    const { env, events } = resolve({ envFrom: [from("configMap", "odd")] });
    expect(env).toEqual([{ name: "fine", value: "yes" }]);
    expect(events).toEqual([
      {
        type: "Warning",
        reason: "InvalidEnvironmentVariableNames",
        message:
          "Keys [a=b, ä] from the EnvFrom configMap default/odd were skipped since they are considered invalid environment variable names.",
      },
    ]);
  });

  test("nothing is reported when every key counts", () => {
    expect(resolve({ envFrom: [from("configMap", "more")] }).events).toEqual([]);
  });
});

describe("a variable", () => {
  test.each(
    table({
      "is what is written": [{ env: [{ name: "A", value: "1" }] }, [["A", "1"]]],
      "may be empty": [{ env: [{ name: "A", value: "" }] }, [["A", ""]]],
      "has the position of its first entry and the value of its last": [
        {
          env: [
            { name: "A", value: "1" },
            { name: "B", value: "2" },
            { name: "A", value: "3" },
          ],
        },
        [
          ["A", "3"],
          ["B", "2"],
        ],
      ],
      "may refer to variables before it": [
        {
          env: [
            { name: "A", value: "1" },
            { name: "B", value: "$(A)$(A)" },
          ],
        },
        [
          ["A", "1"],
          ["B", "11"],
        ],
      ],
      "may not refer to variables after it": [
        {
          env: [
            { name: "A", value: "$(B)" },
            { name: "B", value: "2" },
          ],
        },
        [
          ["A", "$(B)"],
          ["B", "2"],
        ],
      ],
      "may refer to its own earlier value": [
        {
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "$(A)2" },
          ],
        },
        [["A", "12"]],
      ],
      "may refer to variables of envFrom": [
        {
          envFrom: [from("configMap", "web")],
          env: [{ name: "URL", value: "http://$(HOST):$(PORT)/" }],
        },
        [
          ["PORT", "80"],
          ["HOST", "web.local"],
          ["URL", "http://web.local:80/"],
        ],
      ],
      "does not look into values: they are taken as they are": [
        {
          env: [
            { name: "A", value: "$$(B)" },
            { name: "B", value: "$(A)" },
          ],
        },
        [
          ["A", "$(B)"],
          ["B", "$(B)"],
        ],
      ],
      "with two dollars is not expanded": [
        { env: [{ name: "A", value: "$$(HOME) $$ $" }] },
        [["A", "$(HOME) $ $"]],
      ],
      "of a Service is not invented": [
        { env: [{ name: "A", value: "$(KUBERNETES_PORT)" }] },
        [["A", "$(KUBERNETES_PORT)"]],
      ],
      "may hold bytes that are no text": [
        {
          env: [secretKey("KEY", key("login", "KEY")), { name: "URI", value: "k=$(KEY)" }],
        },
        [
          ["KEY", BYTES],
          ["URI", new Uint8Array([0x6b, 0x3d, ...BYTES])],
        ],
      ],
    }),
  )("%s", (_, [spec, expected]) => expect(entries(spec)).toEqual([...expected]));
});

describe("a variable from elsewhere", () => {
  test.each(
    table({
      "a key of a ConfigMap": [{ env: [configKey("A", key("web", "HOST"))] }, [["A", "web.local"]]],
      "a key of a Secret": [{ env: [secretKey("A", key("login", "USER"))] }, [["A", "admin"]]],
      "is taken as it is": [{ env: [secretKey("A", key("login", "TEXT"))] }, [["A", "grüße"]]],
      "a key of a file that a container wrote, as it is": [
        {
          env: [
            fileKey("A", "app.env", "DB"),
            fileKey("B", "app.env", "EMPTY"),
            fileKey("C", "app.env", "REF"),
            fileKey("D", "bytes.env", "KEY"),
          ],
        },
        [
          ["A", "db.local"],
          ["B", ""],
          ["C", "$(HOST)"],
          ["D", new Uint8Array([0xff, 0xfe])],
        ],
      ],
      "an optional key of a file that is not there is no variable": [
        { env: [fileKey("A", "gone.env", "A", true), fileKey("B", "bytes.env", "GONE", true)] },
        [],
      ],
      "an optional key that is not there is no variable": [
        {
          env: [
            configKey("A", key("web", "gone", true)),
            configKey("B", key("gone", "x", true)),
            secretKey("C", key("login", "gone", true)),
            secretKey("D", key("gone", "x", true)),
          ],
        },
        [],
      ],
      "a missing optional key keeps the earlier value": [
        { env: [{ name: "A", value: "default" }, configKey("A", key("web", "gone", true))] },
        [["A", "default"]],
      ],
      "an optional key that is there": [
        { env: [configKey("A", key("web", "HOST", true))] },
        [["A", "web.local"]],
      ],
      "fields of the pod": [
        {
          env: [
            field("NAME", "metadata.name"),
            field("NAMESPACE", "metadata.namespace"),
            field("UID", "metadata.uid"),
            field("APP", "metadata.labels['app']"),
            field("NONE", "metadata.labels['none']"),
            field("NODE", "spec.nodeName"),
            field("IP", "status.podIP"),
            field("IPS", "status.podIPs"),
            field("HOST_IP", "status.hostIP"),
          ],
        },
        [
          ["NAME", "web"],
          ["NAMESPACE", "default"],
          ["UID", UID],
          ["APP", "shop"],
          ["NONE", ""],
          ["NODE", "pi"],
          ["IP", "10.88.0.2"],
          ["IPS", "10.88.0.2,fd00::2"],
          ["HOST_IP", "192.0.2.1"],
        ],
      ],
    }),
  )("%s", (_, [spec, expected]) => expect(entries(spec)).toEqual([...expected]));

  test("resources of the container, or of the node where it has no limit", () => {
    const resource = (name: string, of: string, divisor?: string): EnvVar => ({
      name,
      valueFrom: {
        type: "resourceFieldRef",
        resource: of,
        ...(divisor === undefined ? {} : { divisor }),
      },
    });
    const env = [
      resource("CPU", "limits.cpu"),
      resource("MILLI", "requests.cpu", "1m"),
      resource("MEMORY", "limits.memory", "1Mi"),
    ];
    const resources = { limits: {}, requests: { cpu: "250m" } };
    expect(entries({ env, resources })).toEqual([
      ["CPU", "4"],
      ["MILLI", "250"],
      ["MEMORY", "1024"],
    ]);
  });
});

describe("a container waits", () => {
  const gone = "no manifest or desired document that this pod may use has";
  const cases: Record<string, [Partial<Container>, string]> = {
    "for text that a variable can hold": [
      { env: [secretKey("A", key("zero", "TEXT"))] },
      "the value of environment variable A contains a NUL byte",
    ],
    "for bytes that a variable can hold": [
      { env: [secretKey("A", key("zero", "BYTES"))] },
      "the value of environment variable A contains a NUL byte",
    ],
    "for a ConfigMap": [
      { envFrom: [from("configMap", "gone")] },
      `configmap "gone" not found: ${gone} ConfigMap default/gone`,
    ],
    "for a Secret": [
      { envFrom: [from("secret", "gone")] },
      `secret "gone" not found: ${gone} Secret default/gone`,
    ],
    "for the ConfigMap of a key": [
      { env: [configKey("A", key("gone", "x"))] },
      `configmap "gone" not found: ${gone} ConfigMap default/gone`,
    ],
    "for the Secret of a key": [
      { env: [secretKey("A", key("gone", "x"))] },
      `secret "gone" not found: ${gone} Secret default/gone`,
    ],
    "for a key of a ConfigMap": [
      { env: [configKey("A", key("web", "gone"))] },
      "couldn't find key gone in ConfigMap default/web",
    ],
    "for a key that a ConfigMap has for files only": [
      { env: [configKey("A", key("files", "binary"))] },
      "couldn't find key binary in ConfigMap default/files",
    ],
    "for a key of a Secret": [
      { env: [secretKey("A", key("login", "gone"))] },
      "couldn't find key gone in Secret default/login",
    ],
    "for a key that every object seems to have": [
      { env: [configKey("A", key("web", "constructor"))] },
      "couldn't find key constructor in ConfigMap default/web",
    ],
    "for a file of a volume": [
      { env: [fileKey("A", "gone.env", "A")] },
      'couldn\'t find env file "gone.env" of volume "scratch": it does not exist',
    ],
    "for a key of a file": [
      { env: [fileKey("A", "bytes.env", "GONE")] },
      'couldn\'t find key GONE in env file "bytes.env" of volume "scratch"',
    ],
    "for the end of a mistake in a file": [
      { env: [fileKey("A", "app.env", "LATE", true)] },
      'couldn\'t read env file "app.env" of volume "scratch": the value must be enclosed in single quotes at line 4',
    ],
    "for a value of a file that no variable can have": [
      { env: [fileKey("A", "bytes.env", "NUL")] },
      "the value of environment variable A contains a NUL byte",
    ],
    "for a field that no pod has": [
      { env: [field("A", "spec.color")] },
      "unsupported fieldPath: spec.color",
    ],
    "for a container that the pod does not have": [
      {
        env: [
          {
            name: "A",
            valueFrom: {
              type: "resourceFieldRef",
              containerName: "x",
              resource: "limits.cpu",
            },
          },
        ],
      },
      "container x has no resource limits.cpu",
    ],
  };

  test.each(Object.entries(cases))("%s", (_, [spec, message]) => {
    expect(() => resolve(spec)).toThrow(
      expect.objectContaining({ reason: "CreateContainerConfigError", message }),
    );
  });
});

describe("an environment that grows", () => {
  /** Each variable holds the one before ten times: 10^n characters, from a few bytes of manifest. */
  const nested = (depth: number) =>
    Array.from({ length: depth }, (_, index) => ({
      name: `V${index}`,
      value: index === 0 ? "0123456789" : `$(V${index - 1})`.repeat(10),
    }));

  test("is refused at the first value over 128 KiB", () => {
    expect(resolve({ env: nested(5) }).env.at(-1)?.value).toHaveLength(100_000);
    expect(() => resolve({ env: nested(40) })).toThrow(
      "environment variable V5 is longer than 131072 bytes when its $(NAME) are replaced",
    );
  });

  test("is refused when all values together are over 1 MiB", () => {
    const copies = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ name: `C${index}`, value: "$(V4)" }));
    expect(() => resolve({ env: [...nested(5), ...copies(8)] })).not.toThrow();
    expect(() => resolve({ env: [...nested(5), ...copies(10)] })).toThrow(
      "the environment of the container has more than 1048576 bytes",
    );
    const sameName = copies(100).map((variable) => ({ ...variable, name: "C" }));
    expect(() => resolve({ env: [...nested(5), ...sameName] })).not.toThrow();
  });
});
