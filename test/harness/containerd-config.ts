// The configuration file of a private containerd, for the versions Debian and Docker ship.

export interface ContainerdConfig {
  readonly major: number;
  readonly minor: number;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly cniBin: string;
  readonly cniConf: string;
  /** A file that becomes the configuration when a CRI client names the address range of pods. */
  readonly cniTemplate?: string;
  readonly snapshotter: "overlayfs" | "native";
  readonly restrictOOMScoreAdj: boolean;
  readonly disableAppArmor: boolean;
  readonly enableSelinux: boolean;
  /** Descriptions of CDI devices, for versions that know them. */
  readonly cdiDirectory: string;
  /** Directory of `hosts.toml` files; absent = none are read. */
  readonly registryHosts?: string;
  /** Absent = containerd's own default, which no machine without a network has. */
  readonly sandboxImage?: string;
}

/** Version 2 of the format for containerd 1.x, version 3 for 2.x. */
export function containerdToml(config: ContainerdConfig): string {
  return config.major >= 2 ? versionThree(config) : versionTwo(config);
}

function common(config: ContainerdConfig, version: number): string {
  return `version = ${version}
root = ${quote(config.root)}
state = ${quote(config.state)}
oom_score = 0
[grpc]
address = ${quote(config.socket)}
[plugins.'io.containerd.internal.v1.opt']
path = ${quote(`${config.root}/opt`)}
`;
}

function versionTwo(config: ContainerdConfig): string {
  const cri = "plugins.'io.containerd.grpc.v1.cri'";
  return `${common(config, 2)}[${cri}]
stream_server_address = "127.0.0.1"
stream_server_port = "0"
netns_mounts_under_state_dir = true
restrict_oom_score_adj = ${config.restrictOOMScoreAdj}
disable_apparmor = ${config.disableAppArmor}
enable_selinux = ${config.enableSelinux}
# Off by default, and then a container gets no limit of huge pages.
disable_hugetlb_controller = false
${config.minor < 7 ? "" : cdi(config)}${config.sandboxImage === undefined ? "" : `sandbox_image = ${quote(config.sandboxImage)}`}
[${cri}.cni]
bin_dir = ${quote(config.cniBin)}
conf_dir = ${quote(config.cniConf)}
${template(config)}[${cri}.containerd]
snapshotter = ${quote(config.snapshotter)}
${registryHosts(cri, config)}${runcRuntime(cri, config)}`;
}

/** NRI is off: its socket has one place per machine, which may be another containerd's. */
function versionThree(config: ContainerdConfig): string {
  const runtime = "plugins.'io.containerd.cri.v1.runtime'";
  const images = "plugins.'io.containerd.cri.v1.images'";
  const binDirectory =
    config.major === 2 && config.minor === 0
      ? `bin_dir = ${quote(config.cniBin)}`
      : `bin_dirs = [${quote(config.cniBin)}]`;
  return `${common(config, 3)}[plugins.'io.containerd.grpc.v1.cri']
stream_server_address = "127.0.0.1"
stream_server_port = "0"
[plugins.'io.containerd.nri.v1.nri']
disable = true
[${images}]
snapshotter = ${quote(config.snapshotter)}
${config.sandboxImage === undefined ? "" : `[${images}.pinned_images]\nsandbox = ${quote(config.sandboxImage)}`}
${registryHosts(images, config)}[${runtime}]
netns_mounts_under_state_dir = true
restrict_oom_score_adj = ${config.restrictOOMScoreAdj}
disable_apparmor = ${config.disableAppArmor}
enable_selinux = ${config.enableSelinux}
# Off by default, and then a container gets no limit of huge pages.
disable_hugetlb_controller = false
${cdi(config)}[${runtime}.cni]
${binDirectory}
conf_dir = ${quote(config.cniConf)}
${template(config)}${runcRuntime(runtime, config)}`;
}

function registryHosts(plugin: string, { registryHosts: path }: ContainerdConfig): string {
  return path === undefined ? "" : `[${plugin}.registry]\nconfig_path = ${quote(path)}\n`;
}

function template({ cniTemplate }: ContainerdConfig): string {
  return cniTemplate === undefined ? "" : `conf_template = ${quote(cniTemplate)}\n`;
}

function cdi(config: ContainerdConfig): string {
  return `enable_cdi = true\ncdi_spec_dirs = [${quote(config.cdiDirectory)}]\n`;
}

/** runc's own records lie in our state directory too, not in /run. */
function runcRuntime(plugin: string, config: ContainerdConfig): string {
  return `[${plugin}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${plugin}.containerd.runtimes.runc.options]
Root = ${quote(`${config.state}/runc`)}
SystemdCgroup = false
`;
}

/** Loopback comes from containerd itself; pods get an address on our own bridge and host ports. */
export function cniList(options: {
  readonly network: string;
  readonly bridge: string;
  readonly subnet: string;
  readonly dataDir: string;
}): string {
  return JSON.stringify({
    cniVersion: "0.4.0",
    name: options.network,
    plugins: [
      {
        type: "bridge",
        bridge: options.bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: "host-local",
          ranges: [[{ subnet: options.subnet }]],
          routes: [{ dst: "0.0.0.0/0" }],
          dataDir: options.dataDir,
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  });
}

function quote(text: string): string {
  return JSON.stringify(text);
}
