#!/bin/sh
# Runs what the host sends over the virtio port, one script at a time.
# Request:  "ID SECONDS BYTES", a newline, BYTES of a shell script.
# Answer:   "answer ID CODE BYTES-OF-OUTPUT BYTES-OF-ERRORS", a newline, both outputs.
set -u
work=/run/device-control
mkdir -p "$work"
until [ -c /dev/virtio-ports/control ]; do sleep 0.2; done
exec 3<>/dev/virtio-ports/control
while :; do
  # Without a host at the other end a read gives the end of the file at once.
  if ! read -r id seconds bytes <&3; then
    sleep 0.2
    continue
  fi
  head -c "$bytes" <&3 >"$work/script"
  timeout -k 5 "$seconds" sh "$work/script" >"$work/out" 2>"$work/err" </dev/null 3>&-
  code=$?
  out=$(wc -c <"$work/out")
  err=$(wc -c <"$work/err")
  { printf 'answer %s %s %s %s\n' "$id" "$code" "$out" "$err"; cat "$work/out" "$work/err"; } >&3
done
