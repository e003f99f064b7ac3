#!/bin/sh
# Before the files of the package go. On an upgrade the agent runs on until postinst restarts it.
set -e

if [ "$1" = remove ]; then
	echo "agent: pods that run now run on; \"agent shutdown\" before the removal stops them"
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		deb-systemd-invoke stop agent.service >/dev/null ||
			echo "agent: the service did not stop; \"systemctl status agent\" says why" >&2
	fi
fi
