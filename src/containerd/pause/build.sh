#!/bin/sh
# Reproduces the bytes of the pause program, byte for byte.
#
#   build.sh            assembles both and writes gen/pause-binaries.ts
#   build.sh x64 FILE   assembles one of them into FILE (x64 or arm64)
#
# Needs as and objcopy of binutils; for the other architecture Debian's binutils-x86-64-linux-gnu or
# binutils-aarch64-linux-gnu, which it installs when it is root.
set -eu
cd "$(dirname "$0")"

tool() { # $1 = architecture as binutils says it, $2 = as or objcopy
  if command -v "$1-linux-gnu-$2" >/dev/null; then echo "$1-linux-gnu-$2"; return; fi
  if [ "$(uname -m)" = "$1" ] && command -v "$2" >/dev/null; then echo "$2"; return; fi
  package="binutils-$(echo "$1" | tr _ -)-linux-gnu"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y --no-remove --no-install-recommends "$package" >&2 && echo "$1-linux-gnu-$2"
    return
  fi
  echo "needs $2 for $1: apt-get install $package" >&2
  exit 1
}

assemble() { # $1 = x64 or arm64, $2 = output
  case "$1" in
    x64) machine=x86_64 ;;
    arm64) machine=aarch64 ;;
    *) echo "unknown architecture $1: x64 or arm64" >&2; exit 2 ;;
  esac
  as=$(tool $machine as)
  objcopy=$(tool $machine objcopy)
  object=$(mktemp)
  "$as" -o "$object" "pause-$1.s"
  # Nothing to link: the .text section is the whole file, its first bytes are the ELF headers.
  "$objcopy" -O binary -j .text "$object" "$2"
  rm -f "$object"
  chmod 0755 "$2"
}

if [ $# = 2 ]; then
  assemble "$1" "$2"
  exit
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
assemble x64 "$out/x64"
assemble arm64 "$out/arm64"
mkdir -p gen
{
  echo "// Written by build.sh from pause-x64.s and pause-arm64.s: ELF programs in base64."
  echo
  for name in x64 arm64; do
    echo "export const PAUSE_$(echo $name | tr a-z A-Z)_BASE64 ="
    echo "  \"$(base64 -w0 "$out/$name")\";"
    [ $name = arm64 ] || echo
  done
} >gen/pause-binaries.ts
wc -c "$out/x64" "$out/arm64"
