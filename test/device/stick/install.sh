# Installs the agent from the directory of this script and lets it start at boot. $1: root of a mounted disk of another
# machine; $2: a binary that runs on this one.
set -eu
root=$1
cd "$(dirname "$0")"
"$2" install --root "$root" >/dev/null
install -m 755 agent "$root/usr/local/bin/agent"
ln -sf ../agent.service "$root/etc/systemd/system/multi-user.target.wants/agent.service"
cp images/*.tar "$root/etc/agent/images/"
# A broker of the device itself: the tests have no other machine.
install -m 644 broker.service "$root/etc/systemd/system/broker.service"
install -m 644 agent-broker.conf "$root/etc/agent-broker.conf"
sync
