import { describe, expect, test } from "bun:test";
import {
  isAllowedSysctl,
  isSafeSysctl,
  normalSysctl,
  sysctlNamespace,
  sysctlPatternError,
} from "../../../../src/api/validation/sysctls.ts";

test.each([
  ["net.ipv4.tcp_syncookies", "net.ipv4.tcp_syncookies"],
  ["net/ipv4/tcp_syncookies", "net.ipv4.tcp_syncookies"],
  ["net/ipv4/conf/eth0.1/forwarding", "net.ipv4.conf.eth0/1.forwarding"],
  ["net.ipv4.conf.eth0/1.forwarding", "net.ipv4.conf.eth0/1.forwarding"],
  ["kernel", "kernel"],
])("%s is %s", (written, normal) => {
  expect(normalSysctl(written)).toBe(normal);
});

test.each([
  ["kernel.shm_rmid_forced", "ipc"],
  ["kernel.shmmax", "ipc"],
  ["kernel.msgmax", "ipc"],
  ["kernel.sem", "ipc"],
  ["kernel.semantics", undefined],
  ["fs.mqueue.msg_max", "ipc"],
  ["fs.file-max", undefined],
  ["net.core.somaxconn", "net"],
  ["network.x", undefined],
  ["vm.swappiness", undefined],
])("%s belongs to the namespace %p", (name, namespace) => {
  expect(String(sysctlNamespace(name))).toBe(String(namespace));
});

describe("what a pod may set", () => {
  test("the safe ones, however they are written", () => {
    expect(
      ["net.ipv4.tcp_rmem", "net/ipv4/tcp_rmem", "net.ipv4.tcp_mem"].map(isSafeSysctl),
    ).toEqual([true, true, false]);
  });

  test.each([
    ["net.core.somaxconn", ["net.core.*"], true],
    ["net/core/somaxconn", ["net.core.*"], true],
    ["net.core.somaxconn", ["net/core/somaxconn"], true],
    ["net.corex", ["net.core.*"], false],
    ["kernel.shmmax", ["kernel.shm*"], true],
    ["net.ipv4.tcp_mem", ["net.core.*", "kernel.msgmax"], false],
    ["net.core.somaxconn", [], false],
  ])("%s with %j allowed: %p", (name, patterns, allowed) => {
    expect(isAllowedSysctl(name, patterns)).toBe(allowed);
  });
});

test.each([
  ["net.*", undefined],
  ["net.core.somaxconn", undefined],
  ["kernel.shm*", undefined],
  ["kernel.sem", undefined],
  ["kernel.*", "must be a namespaced sysctl"],
  ["net*", "must be a namespaced sysctl"],
  ["vm.swappiness", "must be a namespaced sysctl"],
  ["", "must be the name of a sysctl"],
  ["net..core", "must be the name of a sysctl"],
  ["net.*.x", "must be the name of a sysctl"],
  ["Net.core", "must be the name of a sysctl"],
])("the pattern %j: %p", (pattern, error) => {
  const said = sysctlPatternError(pattern);
  if (error === undefined) expect(said).toBeUndefined();
  else expect(said).toStartWith(error);
});
