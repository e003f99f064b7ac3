#!/bin/sh
# After the files of the package are unpacked. What fails here is said and does not fail the package: a device that cannot start
# its agent must still be one whose packages can be managed.
set -e

# A version that came by self-update ends when the package's file is another than the one it came beside: agent-launch sees to it.
say_which_version_runs() {
	current="$DPKG_ROOT/var/lib/agent/self-update/current"
	[ -L "$current" ] || return 0
	beside=$(cat "$current/beside" 2>/dev/null) || return 0
	installed=$(stat -L -c '%s-%Y' "$DPKG_ROOT/usr/bin/agent" 2>/dev/null) || return 0
	[ "$beside" != "$installed" ] || return 0
	echo "agent: from now on the version of this package runs, no longer $(basename "$(readlink "$current")"), which had come by self-update"
}

case "$1" in
configure | abort-upgrade | abort-deconfigure | abort-remove)
	say_which_version_runs
	if [ -e "$DPKG_ROOT/usr/local/bin/agent" ]; then
		echo "agent: /usr/local/bin/agent is found before the program of this package; remove it" >&2
	fi
	# A network for the pods, only where none is configured.
	"$DPKG_ROOT/usr/bin/agent" install --no-start --root "${DPKG_ROOT:-/}" >/dev/null ||
		echo "agent: the network for the pods was not set up; \"agent install\" tries it again" >&2
	if [ -x "$(command -v deb-systemd-helper)" ]; then
		deb-systemd-helper unmask agent.service >/dev/null || true
		# True also where the package was never installed.
		if deb-systemd-helper --quiet was-enabled agent.service; then
			deb-systemd-helper enable agent.service >/dev/null || true
		else
			deb-systemd-helper update-state agent.service >/dev/null || true
		fi
	fi
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
		action=start
		[ -z "$2" ] || action=restart
		# It asks policy-rc.d, and leaves alone what the administrator has disabled.
		deb-systemd-invoke "$action" agent.service >/dev/null ||
			echo "agent: the service did not start; \"systemctl status agent\" and \"agent check\" say why" >&2
	fi
	;;
esac
