#!/bin/sh
# Before the files of the package are unpacked.
set -e

case "$1" in
install | upgrade)
	unit="$DPKG_ROOT/etc/systemd/system/agent.service"
	if [ -f "$unit" ] && grep -qs '^ExecStart=/usr/local/lib/agent/agent-launch' "$unit"; then
		cat >&2 <<-'TEXT'
			agent: "agent install" has installed the agent below /usr/local, and its unit in /etc/systemd/system outweighs that of this package.
			Take it away and install the package again; pods run on, and configuration and state stay:
			    /usr/local/bin/agent uninstall --yes
		TEXT
		exit 1
	fi
	;;
esac
