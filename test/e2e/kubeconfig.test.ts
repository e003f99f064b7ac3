// `agent kubeconfig` and its users: kubectl and curl against the compiled agent, over TLS.

import { expect } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { KUBECTLS, pathOf, testWith, type Kubectl } from "../harness/kubectl.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { Ledger } from "./support-b-pods.ts";
import { openStage } from "./support-b-stage.ts";

const { e2e, temp, agent: makeAgent } = await openStage();
const ledger = new Ledger(temp.directory("ledger"));
const port = freePort();
let agent: AgentProcess;

function file(name: string): string {
  return join(agent.paths.directory, name);
}

/** kubectl with one of the kubeconfigs. */
async function kubectl(client: Kubectl, args: readonly string[]): Promise<CommandResult> {
  const cache = `--cache-dir=${file(`cache-${client.name.replaceAll(/\W/g, "-")}`)}`;
  return run([pathOf(client), cache, ...args], { timeout: 60_000 });
}

interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; "certificate-authority-data": string } },
  ];
  readonly users: readonly [
    {
      readonly user: {
        readonly token?: string;
        readonly "client-certificate-data"?: string;
        readonly "client-key-data"?: string;
      };
    },
  ];
}

function kubeconfig(name: string): Kubeconfig {
  return parse(readFileSync(file(name), "utf8")) as Kubeconfig;
}

/** What curl does with what the kubeconfig contains. */
async function asked(name: string, path: string, method = "GET"): Promise<Response> {
  const [{ cluster }] = kubeconfig(name).clusters;
  const [{ user }] = kubeconfig(name).users;
  const plain = (data: string): string => Buffer.from(data, "base64").toString();
  const { "client-certificate-data": cert, "client-key-data": key, token } = user;
  return fetch(`${cluster.server}${path}`, {
    method,
    headers: {
      connection: "close",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    tls: {
      ca: plain(cluster["certificate-authority-data"]),
      ...(cert === undefined || key === undefined ? {} : { cert: plain(cert), key: plain(key) }),
    },
    signal: AbortSignal.timeout(30_000),
  });
}

e2e("an agent with listen is open over TLS, and refuses unknown users", async () => {
  agent = makeAgent("tls", { config: { listen: `127.0.0.1:${port}`, socketGroup: "root" } });
  agent.writeManifest("web.yaml", ledger.pod({ name: "web", variant: "v1" }));
  await agent.startReady();
  const unknown = await eventually("the API is open", async () => {
    const tls = { rejectUnauthorized: false };
    return fetch(`https://127.0.0.1:${port}/api/v1/pods`, { tls });
  });
  expect(unknown.status).toBe(401);
  expect(await unknown.json()).toMatchObject({ kind: "Status", reason: "Unauthorized", code: 401 });
  expect(statSync(agent.paths.socket).mode & 0o777).toBe(0o660);
});

e2e(
  "agent kubeconfig writes a file that only its owner may read, and never over another",
  async () => {
    const made = await agent.cli("kubeconfig", "-o", file("admin.yaml"));
    expect([made.code, made.stdout]).toEqual([0, ""]);
    expect(statSync(file("admin.yaml")).mode & 0o777).toBe(0o600);
    expect(kubeconfig("admin.yaml").clusters[0].cluster.server).toBe(`https://127.0.0.1:${port}`);
    const before = readFileSync(file("admin.yaml"), "utf8");
    const again = await agent.cli("kubeconfig", "-o", file("admin.yaml"));
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("exists and is left as it is");
    expect(readFileSync(file("admin.yaml"), "utf8")).toBe(before);
    const wrong = await agent.cli("kubeconfig", "--server", "http://x", "-o", file("wrong.yaml"));
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain("must be a URL such as https://pi.example:6450");
    expect(existsSync(file("wrong.yaml"))).toBe(false);
    const printed = await agent.cli("kubeconfig", "--user", "other");
    expect(parse(printed.stdout)).toMatchObject({ kind: "Config", "current-context": "other@tls" });
    const both = await agent.cli("kubeconfig", "--list", "--off");
    expect(both.code).toBe(2);
  },
);

e2e("a certificate reads and changes, a read-only one only reads", async () => {
  await agent.cli("kubeconfig", "--read-only", "-o", file("viewer.yaml"));
  expect((await asked("admin.yaml", "/api/v1/secrets")).status).toBe(200);
  expect((await asked("admin.yaml", "/hold", "POST")).status).toBe(200);
  expect((await asked("admin.yaml", "/release", "POST")).status).toBe(200);
  expect((await asked("viewer.yaml", "/api/v1/pods")).status).toBe(200);
  expect((await asked("viewer.yaml", "/api/v1/secrets")).status).toBe(403);
  for (const [method, path] of [
    ["POST", "/hold"],
    ["POST", "/shutdown"],
    ["POST", "/trust/reset"],
    ["POST", "/images/prune"],
    ["POST", "/kubeconfig?user=x"],
    ["DELETE", "/api/v1/namespaces/default/pods/web"],
  ] as const)
    expect([path, (await asked("viewer.yaml", path, method)).status]).toEqual([path, 403]);
});

for (const client of KUBECTLS)
  testWith(client, e2e)(
    `${client.name} gets pods over TLS, and a read-only user changes nothing and reads no Secrets`,
    async () => {
      const as = (name: string, ...args: readonly string[]): Promise<CommandResult> =>
        kubectl(client, ["--kubeconfig", file(name), ...args]);
      await eventually("kubectl shows the pod", async () =>
        /^web +1\/1 +Running/m.test((await as("admin.yaml", "get", "pods")).stdout),
      );
      expect((await as("viewer.yaml", "get", "pods")).stdout).toMatch(/^web /m);
      const refused = await as("viewer.yaml", "delete", "pod", "web", "--wait=false");
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('user "viewer" is read-only and cannot DELETE');
      const secrets = await as("viewer.yaml", "get", "secrets");
      expect(secrets.code).toBe(1);
      expect(secrets.stderr).toContain("Forbidden");
    },
  );

e2e("a token works, is stored as a hash only, and is revoked at once", async () => {
  await agent.cli("kubeconfig", "--token", "--user", "ci", "-o", file("ci.yaml"));
  expect((await asked("ci.yaml", "/api/v1/pods")).status).toBe(200);
  const [{ user }] = kubeconfig("ci.yaml").users;
  const stored = readFileSync(join(agent.paths.state, "pki/pki.json"), "utf8");
  expect(stored).not.toContain(user.token ?? "?");
  expect((await agent.cli("kubeconfig", "--list")).stdout).toMatch(/^ci +Full +Token +-$/m);
  expect((await agent.cli("kubeconfig", "--revoke", "ci")).code).toBe(0);
  expect((await asked("ci.yaml", "/api/v1/pods")).status).toBe(401);
  const again = await agent.cli("kubeconfig", "--revoke", "ci");
  expect([again.code, again.stderr]).toEqual([
    1,
    'Error: there is no user "ci"; see agent kubeconfig --list\n',
  ]);
});

for (const client of KUBECTLS)
  testWith(client, e2e)(
    `${client.name} shows the reason for a revoked token, an unknown one and a foreign authority`,
    async () => {
      const revoked = await kubectl(client, ["--kubeconfig", file("ci.yaml"), "get", "pods"]);
      expect(revoked.code).toBe(1);
      expect(revoked.stderr).toContain("the token is unknown, or was revoked");
      const strange = ["--kubeconfig=/dev/null", `--server=https://127.0.0.1:${port}`];
      const get = ["get", "pods"];
      const unchecked = "--insecure-skip-tls-verify";
      const nobody = await kubectl(client, [...strange, unchecked, "--token=guess", ...get]);
      expect(nobody.code).toBe(1);
      expect(nobody.stderr).toContain("must be logged in");
      const foreign = await kubectl(client, [...strange, "--token=guess", ...get]);
      expect(foreign.code).toBe(1);
      expect(foreign.stderr).toContain("certificate signed by unknown authority");
    },
  );

e2e(
  "a restart keeps users and certificates, and --off cannot close what the configuration opens",
  async () => {
    const before = readFileSync(join(agent.paths.state, "pki/pki.json"), "utf8");
    await agent.restart("SIGKILL");
    await eventually(
      "the API is open again",
      async () => (await asked("admin.yaml", "/version")).ok,
    );
    expect((await asked("viewer.yaml", "/hold", "POST")).status).toBe(403);
    expect((await asked("ci.yaml", "/version")).status).toBe(401);
    expect(readFileSync(join(agent.paths.state, "pki/pki.json"), "utf8")).toBe(before);
    const off = await agent.cli("kubeconfig", "--off");
    expect(off.code).toBe(1);
    expect(off.stderr).toContain("the configuration has listen: remove it there");
  },
);

e2e("a removed listen closes the API, and --off leaves it closed over a restart", async () => {
  agent.configure({
    endpoint: "unix:///nonexistent.sock",
    nodeName: "tls",
    instance: "tls",
    config: {},
  });
  await agent.kill();
  agent.start();
  const listed = await eventually("the agent answers", async () => {
    const { code, stderr } = await agent.cli("kubeconfig", "--list");
    return code === 0 ? stderr : undefined;
  });
  expect(listed).toContain("the API over TLS is closed");
  expect(await asked("admin.yaml", "/version").catch(() => "refused")).toBe("refused");
  expect(statSync(agent.paths.socket).mode & 0o777).toBe(0o600);
});
