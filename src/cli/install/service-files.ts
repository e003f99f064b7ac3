// The files of the service, as text: what starts the agent with the device, by each service manager, and the network of its pods.

import launcher from "../../self-update/agent-launch.sh" with { type: "text" };

/** Where the parts of an installation lie. */
export interface Places {
  readonly binary: string;
  readonly launcher: string;
  readonly unit: string;
  readonly config: string;
  readonly state: string;
}

/** `/usr/local`: installed by hand; `/usr`: by a package of the distribution. */
export type Prefix = "/usr" | "/usr/local";

export const CONFIG = "/etc/agent";
const STATE = "/var/lib/agent";

export function placesOf(prefix: Prefix): Places {
  return {
    binary: `${prefix}/bin/agent`,
    launcher: `${prefix}/lib/agent/agent-launch`,
    unit: `${prefix === "/usr" ? "/usr/lib" : "/etc"}/systemd/system/agent.service`,
    config: CONFIG,
    state: STATE,
  };
}

/** Chooses the version of the binary; systemd and the others start this. */
export function launcherText({ binary, state }: Places): string {
  return launcher.replaceAll("@BINARY@", binary).replaceAll("@STATE@", state);
}

/**
 * Nothing in it may give the service a mount namespace of its own (PrivateTmp=, ProtectSystem=, ReadOnlyPaths=,
 * ProtectKernelModules= and more do): the volumes that the agent mounts would be hidden from the container runtime.
 */
export function unitText({ launcher: path }: Places): string {
  return `[Unit]
Description=Node agent: runs pods from manifests and MQTT
Documentation=man:agent(1)
# Wants, not Requires: the agent waits for a runtime that is away, and its pods run on while it is restarted.
Wants=containerd.service
After=containerd.service local-fs.target time-set.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=${path} run
Restart=always
RestartSec=2
# The agent ends with it to be started again by the launcher, in another version.
SuccessExitStatus=75
# Ready needs no network; without a runtime it comes after a minute.
TimeoutStartSec=180
# Fed while the agent's loops turn, whether or not the runtime answers.
WatchdogSec=180
TimeoutStopSec=30
# Containers belong to the runtime's unit and their own cgroups: stopping this unit stops no pod.
KillMode=mixed
OOMScoreAdjust=-999
MemoryHigh=256M
CPUWeight=200
LimitNOFILE=65536
WorkingDirectory=/
Environment=UV_THREADPOOL_SIZE=16
UnsetEnvironment=BUN_OPTIONS BUN_BE_BUN BUN_INSPECT NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED
# No protection that needs a mount namespace: it would hide the volumes that the agent mounts from the runtime.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
KeyringMode=private
CapabilityBoundingSet=~CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_BOOT CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_AUDIT_CONTROL CAP_AUDIT_READ CAP_SYS_PACCT CAP_SYS_TTY_CONFIG CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_LINUX_IMMUTABLE CAP_BPF CAP_PERFMON CAP_CHECKPOINT_RESTORE

[Install]
WantedBy=multi-user.target
`;
}

/** For Alpine and others; its supervisor starts the agent again. */
export function openrcText({ launcher: path }: Places): string {
  return `#!/sbin/openrc-run
name="agent"
description="Node agent: runs pods from manifests and MQTT"
supervisor="supervise-daemon"
command="${path}"
command_args="run"
respawn_delay=2
respawn_max=0
output_logger="logger -t agent"
error_logger="logger -t agent"
rc_ulimit="-n 65536"
unset BUN_OPTIONS BUN_BE_BUN BUN_INSPECT NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED
export UV_THREADPOOL_SIZE=16

depend() {
	need localmount
	want containerd
	after containerd
}
`;
}

/** Of the log of `sysvText`, of which the last full one stays too. Checked each hour, in which a flood writes 4 MB. */
const SYSV_LOG_BYTES = 10_000_000;

/** For a system without a service manager: a loop starts the agent again, another keeps its log small. */
export function sysvText({ launcher: path }: Places): string {
  return `#!/bin/sh
### BEGIN INIT INFO
# Provides:          agent
# Required-Start:    $local_fs
# Should-Start:      containerd
# Required-Stop:     $local_fs
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: Node agent: runs pods from manifests and MQTT
### END INIT INFO

pidfile=/run/agent.pid
# The log is emptied in place, after a copy: the agent goes on writing to it.
# $! is set by the start itself: a name of our own would be empty for a moment after it.
loop='(trap "kill \\$!; exit 0" TERM
while kill -0 $$; do
	[ "$(wc -c <"$1")" -lt ${SYSV_LOG_BYTES} ] || { cp "$1" "$1.1" && : >"$1"; }
	sleep 3600 & wait $!
done) & log=$!
trap "kill $log \\$!; wait \\$!; exit 0" TERM
while :; do "$0" run >>"$1" 2>&1 & wait $!; sleep 2; done'
unset BUN_OPTIONS BUN_BE_BUN BUN_INSPECT NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED
export UV_THREADPOOL_SIZE=16

runs() { [ -r $pidfile ] && kill -0 "$(cat $pidfile)" 2>/dev/null; }

case "$1" in
start)
	runs && exit 0
	cd / || exit 1
	# Alone on its line: $! is then the process itself in every shell.
	setsid sh -c "$loop" ${path} /var/log/agent.log </dev/null >/dev/null 2>&1 &
	echo $! >$pidfile
	;;
stop)
	runs && kill "$(cat $pidfile)"
	rm -f $pidfile
	;;
restart)
	"$0" stop
	sleep 2
	"$0" start
	;;
status)
	runs || { echo "agent does not run"; exit 3; }
	echo "agent runs"
	;;
*)
	echo "Usage: $0 {start|stop|restart|status}"
	exit 2
	;;
esac
`;
}

/** The network of the pods, for a runtime that has none: `subnet` is theirs alone on this device. */
export function cniText(subnet: string): string {
  const list = {
    cniVersion: "0.4.0",
    name: "agent",
    plugins: [
      {
        type: "bridge",
        bridge: "cni0",
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: "host-local",
          ranges: [[{ subnet }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}
