#!/bin/sh
# After the files of the package have gone. Nothing here asks the network.
set -e

# Whether a process still has something below the pods' directory mounted. The kernel names it from the root of its file system,
# which may be that of /, of /var, or the directory itself. What cannot be read counts as yes.
are_pods_running() {
	[ -r /proc/self/mountinfo ] || return 0
	grep -Eqs ' (/[^ ]*/agent)?/pods/[^ ]+/' /proc/[0-9]*/mountinfo /proc/self/mountinfo
}

# A bind mount has the device of what it shows: rm cannot tell, and would empty a directory of the device.
is_mounted_below() {
	[ -r /proc/self/mountinfo ] || return 0
	grep -Fqs " $1/" /proc/self/mountinfo
}

remove_tree() {
	[ -d "$1" ] || return 0
	if is_mounted_below "$1"; then
		echo "agent: $1 stays, because something is mounted below it; unmount that, or reboot, and then: rm -r $1" >&2
		return 0
	fi
	rm -rf --one-file-system "$1" || echo "agent: not all of $1 could be removed" >&2
}

remove_state() {
	if [ -z "$DPKG_ROOT" ] && [ -d /var/lib/agent ] && are_pods_running; then
		echo "agent: /var/lib/agent stays, because pods still use it; stop them, or reboot, and then: rm -r /var/lib/agent" >&2
		return 0
	fi
	remove_tree "$DPKG_ROOT/var/lib/agent"
}

# The network that "agent install" or postinst has written, and nobody else's.
remove_network() {
	network="$DPKG_ROOT/etc/cni/net.d/10-agent.conflist"
	if [ -f "$network" ] && grep -qs '"name": "agent"' "$network"; then rm -f "$network"; fi
}

case "$1" in
remove)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl --system daemon-reload >/dev/null || true; fi
	;;
purge)
	if [ -x "$(command -v deb-systemd-helper)" ]; then deb-systemd-helper purge agent.service >/dev/null || true; fi
	remove_state
	remove_network
	remove_tree "$DPKG_ROOT/etc/agent"
	echo "agent: what this node has retained at its broker stays there; \"agent fleet forget NODE\" clears it"
	;;
esac
