import { describe, expect, test } from "bun:test";
import {
  configOfSocket,
  disabledLine,
  judgeKubelet,
  judgeNetwork,
  judgeRuntime,
  judgeSandbox,
  type NetworkFacts,
} from "../../../../src/cli/check/judge-runtime.ts";

const DOCKERS = `# of the package
#   disabled_plugins = ["cri"]
version = 2

disabled_plugins = ["cri", "io.containerd.internal.v1.restart"]
`;
const config = { path: "/etc/containerd/config.toml", text: DOCKERS };
const NOT_SERVED = { type: "Failed", reason: "CRINotServed", message: "no CRI" } as const;
const VERSION = { type: "Version", name: "containerd", version: "1.6.20" } as const;

describe("the runtime", () => {
  test("that Docker's configuration has switched off: the file, the line, and how the line should be", () => {
    expect(judgeRuntime(NOT_SERVED, config)).toEqual([
      {
        level: "error",
        message:
          'the CRI plugin of containerd is switched off in /etc/containerd/config.toml:5: disabled_plugins = ["cri", "io.containerd.internal.v1.restart"]',
        remedy:
          'change line 5 of /etc/containerd/config.toml to disabled_plugins = ["io.containerd.internal.v1.restart"], and run systemctl restart containerd',
      },
    ]);
  });

  test.each([
    ["serves", VERSION, undefined, "ok", "containerd 1.6.20 serves CRI v1"],
    ["is off at its next start", VERSION, config, "warning", "config.toml:5"],
    ["is too old", { ...VERSION, version: "1.4.13" }, undefined, "error", "1.4.13"],
    ["is another one", { ...VERSION, name: "cri-o" }, undefined, "warning", "cri-o"],
    ["serves no CRI", NOT_SERVED, undefined, "error", "no CRI"],
    [
      "does not answer",
      { type: "Failed", reason: "RuntimeUnavailable", message: "no socket" },
      undefined,
      "error",
      "no socket",
    ],
  ] as const)("that %s", (_case, answer, file, level, part) => {
    const [finding, ...more] = judgeRuntime(answer, file);
    expect(more).toEqual([]);
    expect(finding?.level).toBe(level);
    expect(finding?.message).toContain(part);
    expect(finding?.remedy === undefined).toBe(level === "ok");
  });

  test.each([
    ['disabled_plugins = ["cri"]', "disabled_plugins = []"],
    ["disabled_plugins = ['io.containerd.grpc.v1.cri'] # off", "disabled_plugins = []"],
    ["disabled_plugins = []", undefined],
    ["# disabled_plugins = ['cri']", undefined],
    ['disabled_plugins = ["cri-o"]', undefined],
  ])("line %p", (text, remedy) => {
    expect(disabledLine(text)?.remedy).toBe(remedy);
  });

  test("its configuration is the file that names its socket", () => {
    const own = {
      path: "/a",
      text: 'version = 2\n[grpc]\naddress = "/run/own.sock"\n[debug]\naddress = "/x"\n',
    };
    const plain = { path: "/b", text: 'version = 2\n[debug]\naddress = "/run/other.sock"\n' };
    expect(configOfSocket([plain, own], "/run/own.sock")).toBe(own);
    expect(configOfSocket([own, plain], "/run/containerd/containerd.sock")).toBe(plain);
    expect(configOfSocket([own, plain], "/run/other.sock")).toBeUndefined();
  });
});

describe("a kubelet", () => {
  const socket = "/run/containerd/containerd.sock";
  const of = (...words: readonly string[]) => judgeKubelet([{ pid: 7, words }], socket)[0]?.level;
  test.each([
    [["/usr/bin/kubelet"], "error"],
    [["kubelet", "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"], "error"],
    [["kubelet", "--container-runtime-endpoint", `unix://${socket}`], "error"],
    [["kubelet", "--container-runtime-endpoint=unix:///run/crio.sock"], "ok"],
    [["/usr/local/bin/k3s", "server"], "ok"],
    [["/usr/local/bin/k3s", "server", `--container-runtime-endpoint=${socket}`], "error"],
    [["vim", "kubelet"], "ok"],
  ] as const)("%p", (words, level) => {
    expect(of(...words)).toBe(level);
  });
});

test.each([
  [{ image: "pause:3.6", isPresent: true, isContainerd: true }, "ok"],
  [{ image: "pause:3.6", isPresent: false, isContainerd: true }, "ok"],
  [{ image: "pause:3.6", isPresent: false, isContainerd: false }, "warning"],
  [{ image: undefined, isPresent: false, isContainerd: true }, "ok"],
  [{ image: undefined, isPresent: false, isContainerd: false }, "warning"],
] as const)("the sandbox image %p", (facts, level) => {
  expect(judgeSandbox(facts).level).toBe(level);
});

describe("the pod network", () => {
  const facts: NetworkFacts = {
    isReady: true,
    message: "",
    configDirectory: "/etc/cni/net.d",
    configs: [
      {
        name: "10-agent.conflist",
        text: '{"plugins": [{"type": "bridge", "ipam": {"type": "host-local"}}, {"type":"portmap"}]}',
      },
    ],
    pluginDirectories: ["/opt/cni/bin"],
    plugins: ["bridge", "host-local", "portmap", "loopback"],
  };
  test.each([
    ["is ready", {}, ["ok"], "10-agent.conflist"],
    ["lacks a plugin", { plugins: ["bridge", "portmap"] }, ["error"], "CNI plugin host-local"],
    [
      "lacks plugins and is not ready: once each",
      { isReady: false, plugins: ["bridge"] },
      ["error", "error"],
      "CNI plugin host-local",
    ],
    ["has no configuration", { isReady: false, configs: [] }, ["error"], "no CNI configuration"],
    [
      "is not ready",
      { isReady: false, message: "cni plugin not initialized" },
      ["error"],
      "not initialized",
    ],
    ["is made by the runtime itself", { configs: [] }, ["ok"], "ready"],
  ] as const)("that %s", (_case, more, levels, part) => {
    const findings = judgeNetwork({ ...facts, ...more });
    expect(findings.map(({ level }) => level)).toEqual([...levels]);
    expect(findings[0]?.message).toContain(part);
  });
});
