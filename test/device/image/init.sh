#!/bin/busybox sh
# The initial RAM disk: loads the modules of the disk's driver and file system, hands over.
/bin/busybox mkdir -p /proc /sys /dev /root
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
while read -r module; do /bin/busybox insmod "/modules/$module" || echo "initrd: $module does not load"; done </modules/order
start=/sbin/init
for word in $(/bin/busybox cat /proc/cmdline); do
  case "$word" in start=*) start=${word#start=} ;; esac
done
tries=0
until [ -b /dev/vda ] || [ "$tries" -ge 100 ]; do /bin/busybox sleep 0.1; tries=$((tries + 1)); done
/bin/busybox mount -t ext4 -o ro /dev/vda /root || {
  echo "initrd: no root file system"
  echo o >/proc/sysrq-trigger
  /bin/busybox sleep 60
}
# systemd checks the file system itself before it makes it writable.
[ "$start" = /sbin/init ] || /bin/busybox mount -o remount,rw /root
/bin/busybox mount -o move /dev /root/dev
/bin/busybox umount /proc /sys
exec /bin/busybox switch_root /root "$start"
