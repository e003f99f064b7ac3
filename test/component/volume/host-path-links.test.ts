// A hostPath of a document through links of the real file system: judged, and mounted, where it leads.

import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { hostPathError, isOfDocument } from "../../../src/source/policy/host-path-links.ts";
import { Volumes } from "../../../src/volume/volume-manager.ts";
import { CONFIG_DEFAULTS, MQTT_DEFAULTS } from "../../fakes/config-defaults.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import type { SourceName } from "../../../src/api/pod/desired-pod.ts";
import type { HostPathType } from "../../../src/api/v1/volumes.ts";
import type { HeldPath } from "../../../src/host/bind-mount.ts";
import { type Mounts, realMounts } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { aPod } from "../../fakes/a-pod.ts";
import { refusalOf } from "../../fakes/refusal.ts";
import { unmountedDirectories } from "./volume-world.ts";

const files = realFiles();
const newDirectory = unmountedDirectories();

interface Given {
  readonly source?: SourceName;
  /** Of `mqtt.podPolicy`, below the test's directory; absent = there is no list. */
  readonly list?: readonly string[];
  readonly stateDir?: string;
  /** Happens once: after the path was judged, right before anything is created or mounted. */
  readonly meanwhile?: (at: (path: string) => string) => void;
}

function changing(meanwhile: () => void): Mounts {
  const mounts = realMounts();
  let isDone = false;
  const first = (): void => {
    if (!isDone) meanwhile();
    isDone = true;
  };
  const hold = (path: string): HeldPath => {
    const held = mounts.hold(path);
    return {
      get path() {
        return held.path;
      },
      get found() {
        return held.found;
      },
      isBroken: held.isBroken,
      createDirectory: (mode) => {
        first();
        held.createDirectory(mode);
      },
      createFile: (mode) => {
        first();
        held.createFile(mode);
      },
      bindTo: (target, options) => {
        first();
        held.bindTo(target, options);
      },
      isBoundTo: (target) => held.isBoundTo(target),
      [Symbol.dispose]: () => held[Symbol.dispose](),
    };
  };
  return { ...mounts, hold };
}

/** A node with `data`, `other` and `manifests` in a directory of its own. */
function aNode({ source = "mqtt:node", list, stateDir = "state", meanwhile }: Given = {}) {
  const root = realpathSync(newDirectory());
  const at = (path: string): string => join(root, path);
  for (const name of ["data/sub", "other", "manifests", "logs", "state", "runtime"])
    mkdirSync(at(name), { recursive: true });
  const hostPaths = list?.map(at);
  const podPolicy = { profile: "privileged", ...(hostPaths && { hostPaths }) } as const;
  const config: AgentConfig = {
    ...CONFIG_DEFAULTS,
    nodeLabels: {},
    staticPodPath: at("manifests"),
    podLogsDir: at("logs"),
    stateDir: at(stateDir),
    claimRoot: at("claims"),
    containerRuntimeEndpoint: `unix://${at("runtime/containerd.sock")}`,
    imageServiceEndpoint: CONFIG_DEFAULTS.containerRuntimeEndpoint,
    resolvConf: "",
    mqtt: { ...MQTT_DEFAULTS, url: "mqtt://broker.example", podPolicy },
  };
  const judge = hostPathError(files, config);
  const volumes = new Volumes({
    ...config,
    files,
    mounts: meanwhile === undefined ? realMounts() : changing(() => meanwhile(at)),
    hostPathError: () => (isOfDocument([{ source }]) ? judge : undefined),
  });
  const podOf = (path: string, type: HostPathType) =>
    aPod({ volumes: [{ name: "v", hostPath: { path: at(path), type } }] });
  const setUp = (path: string, type: HostPathType = ""): string =>
    volumes.setUp(podOf(path, type)).get("v") ?? "";
  /** The file or directory that the runtime would mount now. */
  const mounted = (path: string, type: HostPathType = ""): string | undefined =>
    identity(setUp(path, type));
  /** Has a path of an earlier `setUp` mounted: as a whole, and a part of it. */
  const starting = (path: string) => {
    const pod = podOf(path, "");
    const paths = volumes.setUp(pod);
    const place = { uid: pod.metadata.uid, container: "a", index: 0, volumeName: "v" };
    const part = { ...place, volumePath: paths.get("v") ?? "", subPath: "part" };
    return {
      whole: () => volumes.renewPaths(pod, paths),
      part: () => volumes.prepareSubPath(pod, part, new AbortController().signal),
    };
  };
  /** What it refuses to set up, a look refuses too. */
  const refusal = (path: string, type: HostPathType = ""): string => {
    const pod = podOf(path, type);
    const seen = refusalOf(() => volumes.check(pod));
    expect(refusalOf(() => volumes.setUp(pod))).toEqual(seen);
    expect(seen?.reason).toBe("FailedMount");
    return seen?.message ?? "";
  };
  return { at, setUp, mounted, starting, refusal };
}

function identity(path: string): string | undefined {
  return files.target(path)?.identity;
}

describe("a link to what belongs to the node", () => {
  test.each(["", "Directory", "DirectoryOrCreate"] as const)("is refused, type '%s'", (type) => {
    const { at, refusal } = aNode();
    symlinkSync(at("manifests"), at("data/esc"));
    expect(refusal("data/esc", type)).toBe(
      `volume "v": "${at("data/esc")}" leads through a symbolic link to "${at("manifests")}": "${at("manifests")}" reaches into ${at("manifests")}, which belongs to the node alone; choose a path outside of it, or remove the link`,
    );
  });

  test.each(["runtime", "/run", "/", "/proc/1", "/proc/self"])("is refused: %s", (target) => {
    const { at, refusal } = aNode();
    symlinkSync(target.startsWith("/") ? target : at(target), at("data/esc"));
    expect(refusal("data/esc")).toMatch(/, or remove the link$/);
  });

  test("is refused where a directory was swapped for it after the first mount", () => {
    const { at, mounted, refusal } = aNode();
    expect(mounted("data/sub")).toBe(identity(at("data/sub")));
    renameSync(at("data/sub"), at("data/before"));
    symlinkSync("../manifests", at("data/sub"));
    expect(refusal("data/sub")).toContain(`leads through a symbolic link to "${at("manifests")}"`);
    expect(refusal("data/sub/web.yaml")).toContain("belongs to the node alone");
  });

  test("is refused where it is one in a chain", () => {
    const { at, refusal } = aNode();
    symlinkSync(at("data/second"), at("data/first"));
    symlinkSync("../manifests", at("data/second"));
    expect(refusal("data/first")).toContain("belongs to the node alone");
  });

  test("makes nothing behind it", () => {
    const { at, refusal } = aNode();
    symlinkSync(at("manifests"), at("data/esc"));
    refusal("data/esc/new/deep", "DirectoryOrCreate");
    refusal("data/esc/web.yaml", "FileOrCreate");
    refusal("data/esc/new");
    expect(existsSync(at("manifests/new"))).toBe(false);
    expect(existsSync(at("manifests/web.yaml"))).toBe(false);
  });

  test("is refused where the node's own directory is behind a link too", () => {
    const { at, refusal } = aNode({ stateDir: "own" });
    symlinkSync(at("other"), at("own"));
    expect(refusal("other")).toContain("belongs to the node alone");
    symlinkSync(at("other"), at("data/esc"));
    expect(refusal("data/esc")).toContain("belongs to the node alone");
    expect(refusal("own")).toContain("belongs to the node alone");
  });
});

describe("a link to nothing", () => {
  test.each(["", "DirectoryOrCreate", "FileOrCreate"] as const)("is refused, type '%s'", (type) => {
    const { at, refusal } = aNode();
    symlinkSync(at("manifests/new"), at("data/esc"));
    expect(refusal("data/esc", type)).toContain("leads through a broken symbolic link");
    expect(refusal("data/esc/more", type)).toContain("leads through a broken symbolic link");
    expect(existsSync(at("manifests/new"))).toBe(false);
  });

  test("is a loop as well", () => {
    const { at, refusal } = aNode();
    symlinkSync("loop", at("data/loop"));
    expect(refusal("data/loop")).toContain("leads through too many symbolic links");
  });
});

describe("mqtt.podPolicy.hostPaths", () => {
  test("lets a link lead where it allows, and what it leads to is mounted", () => {
    const { at, mounted } = aNode({ list: ["data", "other"] });
    symlinkSync("sub", at("data/inner"));
    symlinkSync(at("other"), at("data/across"));
    expect(mounted("data/inner")).toBe(identity(at("data/sub")));
    expect(mounted("data/across", "Directory")).toBe(identity(at("other")));
    expect(mounted("data/across/new", "DirectoryOrCreate")).toBe(identity(at("other/new")));
    expect(mounted("data/across/file", "FileOrCreate")).toBe(identity(at("other/file")));
    expect(existsSync(at("other/new")) && existsSync(at("other/file"))).toBe(true);
  });

  test("lets none lead elsewhere", () => {
    const { at, refusal } = aNode({ list: ["data"] });
    symlinkSync(at("other"), at("data/esc"));
    expect(refusal("data/esc")).toBe(
      `volume "v": "${at("data/esc")}" leads through a symbolic link to "${at("other")}": "${at("other")}" is not in the node's mqtt.podPolicy.hostPaths; use one of them, or add it there, or remove the link`,
    );
    expect(refusal("data/esc/new", "DirectoryOrCreate")).toContain("mqtt.podPolicy.hostPaths");
  });

  test("may name a link of the node's own", () => {
    const { at, mounted, refusal } = aNode({ list: ["disk"] });
    symlinkSync(at("data"), at("disk"));
    expect(mounted("disk/sub")).toBe(identity(at("data/sub")));
    symlinkSync(at("other"), at("data/esc"));
    expect(refusal("disk/esc")).toContain("mqtt.podPolicy.hostPaths");
  });

  test("is not widened by a link that a pod makes of an entry inside another", () => {
    const { at, refusal } = aNode({ list: ["data", "data/pub"] });
    symlinkSync(at("other"), at("data/pub"));
    expect(refusal("data/pub")).toContain("mqtt.podPolicy.hostPaths");
  });

  test("is not asked again about what a pod that was accepted has written itself", () => {
    const { at, mounted } = aNode({ list: ["data"] });
    expect(mounted("other")).toBe(identity(at("other")));
  });
});

describe("without a list", () => {
  test("a link may lead to whatever does not belong to the node", () => {
    const { at, mounted } = aNode();
    symlinkSync(at("other"), at("data/link"));
    expect(mounted("data/link")).toBe(identity(at("other")));
    expect(mounted("data/link/absent/too")).toBe(identity(at("other/absent/too")));
  });
});

describe("by the time it should have been made", () => {
  test.each(["DirectoryOrCreate", "FileOrCreate"] as const)(
    "what is a link is not mounted, type '%s'",
    (type) => {
      const meanwhile: Given["meanwhile"] = (at) => symlinkSync("../manifests", at("data/new"));
      const { at, mounted } = aNode({ meanwhile });
      expect(() => mounted("data/new", type)).toThrow(
        `"${at("data/new")}" leads through a symbolic link`,
      );
      expect(readdirSync(at("manifests"))).toEqual([]);
    },
  );

  const swaps: readonly [string, (at: (path: string) => string) => string][] = [
    ["a link upwards", () => "../other"],
    ["an absolute link", (at) => at("other")],
  ];
  describe.each(swaps)("what lies behind %s instead of its directory", (_, target) => {
    const meanwhile: Given["meanwhile"] = (at) => {
      renameSync(at("data/sub"), at("data/before"));
      symlinkSync(target(at), at("data/sub"));
    };

    test.each(["sub/new", "sub/victim", "sub/deep/new"])("is untouched: %s", (path) => {
      for (const type of ["DirectoryOrCreate", "FileOrCreate"] as const) {
        const { at, mounted } = aNode({ list: ["data"], meanwhile });
        writeFileSync(at("other/victim"), "root:x:0:0");
        const mount = () => mounted(`data/${path}`, type);
        if (type === "FileOrCreate" && path === "sub/deep/new")
          expect(mount).toThrow("its directory does not exist");
        else expect(mount()).toBe(identity(at(`data/${path.replace("sub", "before")}`)));
        expect(readdirSync(at("other"))).toEqual(["victim"]);
        expect(readFileSync(at("other/victim"), "utf8")).toBe("root:x:0:0");
      }
    });
  });
});

test("what becomes a link between the look and the start of a container is not mounted", () => {
  const { at, starting } = aNode();
  symlinkSync("sub", at("data/link"));
  const { whole, part } = starting("data/link");
  expect(refusalOf(whole)).toBeUndefined();
  renameSync(at("data/sub"), at("data/before"));
  symlinkSync("../manifests", at("data/sub"));
  const refusal = {
    reason: "FailedMount",
    message: `volume "v": "${at("data/link")}" leads through a symbolic link to "${at("manifests")}": "${at("manifests")}" reaches into ${at("manifests")}, which belongs to the node alone; choose a path outside of it, or remove the link`,
  };
  expect(refusalOf(whole)).toEqual(refusal);
  expect(refusalOf(part)).toEqual(refusal);
  expect(existsSync(at("manifests/part"))).toBe(false);
});

test("a pod of a group's document is held to the same", () => {
  const { at, refusal } = aNode({ source: "mqtt:group/edge" });
  symlinkSync(at("manifests"), at("data/esc"));
  expect(refusal("data/esc")).toContain("belongs to the node alone");
});

test("a static pod gets its path as it is written, wherever it leads", () => {
  const { at, setUp, starting } = aNode({ source: "file", list: ["other"] });
  symlinkSync(at("manifests"), at("data/esc"));
  expect(setUp("data/esc")).toBe(at("data/esc"));
  expect(setUp("data/esc", "Directory")).toBe(at("data/esc"));
  expect(refusalOf(starting("data/esc").whole)).toBeUndefined();
});

test("a pod that nobody knows is held to what counts for documents", () => {
  expect(isOfDocument([])).toBe(true);
  expect(isOfDocument([{ source: "file" }])).toBe(false);
  expect(isOfDocument([{ source: "file" }, { source: "mqtt:node" }])).toBe(true);
});
