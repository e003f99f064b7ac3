#!/bin/sh
# The first boot of a base image, as PID 1: runs what the packages run when they are installed, then switches off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /run
mount -t devtmpfs dev /dev 2>/dev/null
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
run() {
  dpkg --force-depends --configure base-passwd base-files libc6:arm64 dash dpkg perl-base debconf &&
    dpkg --force-unsafe-io --configure -a &&
    depmod -a "$(uname -r)"
}
if run; then
  # What the scenarios start themselves, and what only loads a machine without a network.
  for unit in mosquitto.service docker-registry.service apt-daily.timer apt-daily-upgrade.timer \
    e2scrub_all.timer e2scrub_reap.service dpkg-db-backup.timer fstrim.timer; do
    systemctl disable "$unit" >/dev/null 2>&1
  done
  systemctl enable device-control.service
  echo "CONFIGURED: $(dpkg-query -f '${db:Status-Abbrev}\n' -W | sort | uniq -c | tr -s ' \n' ' ')"
else
  echo "NOT CONFIGURED"
fi
rm -f /usr/sbin/policy-rc.d
: >/etc/machine-id
touch /etc/.updated /var/.updated
umount /run
sync
mount -o remount,ro /
echo o >/proc/sysrq-trigger
sleep 60
