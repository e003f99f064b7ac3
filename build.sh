#!/usr/bin/env bash
# The one door for people: builds, shows and tests the agent, and installs what that needs.
# Bun and the npm packages go into this directory; Debian packages only for `demo` and `test`.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
PATH=$PATH:/usr/sbin:/sbin

readonly BUN_VERSION=1.4.5
readonly TOOLS=.tools
readonly POLICY=/usr/sbin/policy-rc.d
readonly POLICY_MARK="written by the agent's build.sh while it installs packages"
# What `npm pack` must deliver, byte for byte.
declare -rA BUN_SHA512=(
  [linux-x64]=2165fd0442e8187014b4ca2791e49a35a6705f3464fa80f0e8c93e1c115777728760804d06c20646ea4c64f7203680db2692eeea00098c8a0854f66db75689d6
  [linux-x64-baseline]=b3cc8cc187059e7ac0d7bf208e2d2065b904d965437a3fd38b5c7bef4a0f7e2871c91c5230d846862010357579dda0deada67192c76f295fd101d40109dd2a3c
  [linux-aarch64]=e015e6b122a78ceae5196a99578c7fa166bb015a11f81ea509775d3333805c1226dede747ac960f706faea09ad5b501a984435975083be69abbb2b0486a39632
)

usage() {
  cat <<'TEXT'
Usage: ./build.sh [COMMAND]

  (none)                      build dist/agent-linux-x64 or -arm64 for this machine
  --target linux-arm64|linux-x64|all
                              build for another machine, or for both
  demo [--once]               start a private containerd and broker, run the example pods, add one over MQTT,
                              update it, and show how a bad update is taken back;
                              Ctrl-C ends it and leaves nothing behind; --once ends by itself (needs root)
  test [FILTER...]            every test, on the real parts (needs root)
  verify                      format, types, lint, architecture and unit tests, in seconds
  --help                      this text

Bun and the npm packages are installed below this directory. demo and test also install Debian packages
(containerd, runc, mosquitto, ...) that are missing; apt removes nothing and starts no service.
TEXT
}

say() { printf '%s\n' "$*" >&2; }
die() { say "build.sh: $*"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }

# --- Debian packages -------------------------------------------------------------------------------------

# While packages are installed their services must not start. A policy that already says so is left alone;
# any other is set aside and comes back, also after a run that was killed.
forbid_services() {
  if [ -x "$POLICY" ] && ! grep -qs "$POLICY_MARK" "$POLICY"; then
    local answer=0
    "$POLICY" containerd start >/dev/null 2>&1 || answer=$?
    if [ "$answer" = 101 ]; then return; fi
    mv -- "$POLICY" "$POLICY.before-agent"
  fi
  trap restore_policy EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  printf '#!/bin/sh\n# %s\nexit 101\n' "$POLICY_MARK" >"$POLICY"
  chmod 755 "$POLICY"
}

restore_policy() {
  if grep -qs "$POLICY_MARK" "$POLICY"; then
    rm -f -- "$POLICY"
    if [ -e "$POLICY.before-agent" ]; then mv -- "$POLICY.before-agent" "$POLICY"; fi
  fi
  trap - EXIT INT TERM
}

apt_quietly() {
  local log=$TOOLS/apt.log
  DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1 </dev/null && return
  tail -n 20 "$log" >&2
  return 1
}

# Installs Debian packages; refuses when apt would have to remove one.
install_packages() {
  has apt-get || die "these are missing and apt-get is not there to install them: $*"
  is_root || die "these Debian packages are missing: $*. Run: sudo apt-get install --no-install-recommends $*"
  say "installing: $*"
  apt_quietly update || say "apt-get update had errors; trying with what is known"
  local plan removed
  plan=$(LC_ALL=C apt-get -s install --no-install-recommends "$@" 2>&1) || die "apt cannot install $*:
$plan"
  removed=$(sed -n 's/^Remv \([^ ]*\).*/\1/p' <<<"$plan" | tr '\n' ' ')
  [ -z "$removed" ] || die "to install $* apt would have to remove ${removed% }; nothing was changed. Install them by hand, or remove the conflict."
  forbid_services
  apt_quietly install --no-remove --no-install-recommends "$@" || die "apt could not install $*"
  restore_policy
  if [ -d /run/systemd/system ]; then
    say "no service was started; 'systemctl disable NAME' keeps a new one (containerd, mosquitto) from starting at the next boot"
  fi
}

is_static() { [ -n "$1" ] && ! ldd "$1" >/dev/null 2>&1; }

# The images of demo and test are made from a static busybox. Debian's package conflicts with the dynamic one
# that many machines have, so it is unpacked here, not installed.
ensure_busybox() {
  is_static "$(command -v busybox || true)" && return
  [ -x "$TOOLS/busybox-static/busybox" ] && return
  local work=$TOOLS/busybox-static.new found
  rm -rf -- "$work"
  mkdir -p -- "$work"
  say "unpacking busybox-static into $TOOLS"
  (cd -- "$work" && apt_get_download busybox-static) || die "cannot download the Debian package busybox-static"
  dpkg-deb -x "$work"/*.deb "$work"
  found=$(find "$work" -type f -path '*/bin/busybox')
  mkdir -p -- "$TOOLS/busybox-static"
  mv -- "$found" "$TOOLS/busybox-static/busybox"
  rm -rf -- "$work"
}

apt_get_download() {
  apt-get -qq download "$1" 2>/dev/null && return
  apt-get -qq update >/dev/null 2>&1 || true
  apt-get -qq -o APT::Sandbox::User=root download "$1" >&2
}

has_cni() {
  local directory
  for directory in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
    [ -x "$directory/bridge" ] && [ -x "$directory/portmap" ] && return
  done
  return 1
}

# What is on PATH is used as it is, Docker's containerd too.
ensure_system() {
  is_root || die "'$1' needs root: it starts containerd, containers and a network bridge. Run: sudo ./build.sh $1"
  local missing=()
  has containerd && has ctr && has containerd-shim-runc-v2 || missing+=(containerd)
  has runc || missing+=(runc)
  has_cni || missing+=(containernetworking-plugins)
  has mosquitto || missing+=(mosquitto)
  has mosquitto_pub || missing+=(mosquitto-clients)
  has iptables || missing+=(iptables)
  has ip || missing+=(iproute2)
  if [ "$1" = test ]; then
    has docker-registry || missing+=(docker-registry)
    # For systemd-logind on a bus of its own.
    has dbus-daemon || missing+=(dbus-daemon)
    { has busctl && has systemd-inhibit; } || missing+=(systemd)
    /usr/bin/python3 -c 'import dbusmock' 2>/dev/null || missing+=(python3-dbusmock)
  fi
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
  ensure_busybox
}

# --- Bun and the npm packages ------------------------------------------------------------------------------

machine() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo linux-x64 ;;
    Linux-aarch64 | Linux-arm64) echo linux-arm64 ;;
    *) die "this machine is $(uname -s) $(uname -m); Bun runs here only on 64-bit Linux (x86-64 or arm64)" ;;
  esac
}

bun_package() { # target
  case "$1" in
    linux-arm64) echo linux-aarch64 ;;
    # A binary for some other x64 machine must not assume AVX2.
    linux-x64) if grep -qw avx2 /proc/cpuinfo; then echo linux-x64; else echo linux-x64-baseline; fi ;;
  esac
}

bun_path() { echo "$TOOLS/bun/node_modules/@oven/bun-$1/bin/bun"; }

# Unpacks Bun's npm package; no script of any package runs.
fetch_bun() { # package
  local package=$1 home=$TOOLS/bun/node_modules/@oven work tarball
  [ -x "$(bun_path "$package")" ] && return
  has npm || install_packages npm ca-certificates
  say "fetching Bun $BUN_VERSION ($package) from npm"
  mkdir -p -- "$home"
  work=$(mktemp -d "$TOOLS/fetch.XXXXXX")
  tarball=$(cd -- "$work" && npm pack --silent --ignore-scripts "@oven/bun-$package@$BUN_VERSION") ||
    die "npm could not fetch @oven/bun-$package@$BUN_VERSION: is the network there?"
  sha512sum --status -c <<<"${BUN_SHA512[$package]}  $work/$tarball" ||
    die "@oven/bun-$package@$BUN_VERSION is not the package this repository knows (sha512 differs)"
  tar -xzf "$work/$tarball" -C "$work"
  chmod 755 "$work/package/bin/bun"
  rm -rf -- "${home:?}/bun-$package"
  mv -- "$work/package" "$home/bun-$package"
  rm -rf -- "$work"
}

# Sets BUN and puts it first on PATH: exactly this version, from PATH or from npm.
ensure_bun() {
  if has bun && [ "$(bun --version 2>/dev/null)" = "$BUN_VERSION" ]; then
    BUN=$(command -v bun)
    return
  fi
  local package
  package=$(bun_package "$(machine)")
  fetch_bun "$package"
  BUN=$PWD/$(bun_path "$package")
  PATH=$(dirname -- "$BUN"):$PATH
  export PATH
}

ensure_dependencies() {
  local stamp=node_modules/.agent-lock
  if [ "$(cat "$stamp" 2>/dev/null)" != "$(sha256sum <bun.lock)" ]; then
    say "installing the npm packages"
    "$BUN" install --frozen-lockfile --ignore-scripts >&2
    sha256sum <bun.lock >"$stamp"
  fi
}

ensure_tools() {
  mkdir -p -- "$TOOLS"
  exec 9>"$TOOLS/lock"
  flock 9
  ensure_bun
  ensure_dependencies
  exec 9>&-
}

# --- Building ----------------------------------------------------------------------------------------------

# git, if there is one; root may build in somebody else's clone.
repository() { git -c safe.directory="$PWD" "$@" 2>/dev/null; }

version() {
  local number commit=
  number=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
  if commit=$(repository rev-parse --short=12 HEAD); then
    [ -z "$(repository status --porcelain -- src package.json bun.lock build.sh)" ] || commit+=.dirty
  fi
  echo "$number${commit:+"+$commit"}"
}

# Seconds since 1970 of what is built: the commit's time, so that two builds of one commit are equal.
source_time() {
  if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then echo "$SOURCE_DATE_EPOCH"; return; fi
  repository log -1 --format=%ct || date +%s
}

build() { # target
  local target=$1 out=dist/agent-$1 version runtime=() package
  version=$(version)
  if [ "$target" != "$(machine)" ]; then
    package=$(bun_package "$target")
    [ "$target" = linux-arm64 ] || package=linux-x64-baseline
    fetch_bun "$package"
    runtime=("--target=bun-$target" "--compile-executable-path=$(bun_path "$package")")
  fi
  mkdir -p dist
  # The two --no-compile-autoload flags: a daemon must not run what lies in its working directory.
  "$BUN" build --compile --minify --bytecode --format=esm --sourcemap=linked \
    --no-compile-autoload-dotenv --no-compile-autoload-bunfig --compile-jit-policy=100 \
    "--conditions=$target" "${runtime[@]}" \
    --define "AGENT_VERSION=\"$version\"" --define "AGENT_BUILD_TIME=$(source_time)" \
    src/main.ts --outfile "$out.new" >"$TOOLS/build-$target.log" 2>&1 || {
    cat "$TOOLS/build-$target.log" >&2
    die "the build for $target failed"
  }
  mv -f -- "$out.new" "$out"
  mv -f -- "$out.new.map" "$out.map" 2>/dev/null || true
  echo "$version" >"$TOOLS/built-$target"
  say "built $out ($version)"
}

build_if_stale() {
  local target out
  target=$(machine)
  out=dist/agent-$target
  if [ -x "$out" ] && [ "$(cat "$TOOLS/built-$target" 2>/dev/null)" = "$(version)" ] &&
    [ -z "$(find src package.json bun.lock build.sh -newer "$out" -print -quit)" ]; then
    return
  fi
  build "$target"
}

# --- Doors -------------------------------------------------------------------------------------------------

build_command() {
  local target
  target=$(machine)
  if [ $# -gt 0 ]; then
    [ "$1" = --target ] && [ $# -eq 2 ] || { usage >&2; exit 2; }
    target=$2
  fi
  case "$target" in
    linux-x64 | linux-arm64 | all) ;;
    *) say "build.sh: unknown target \"$target\"; known: linux-x64, linux-arm64, all"; exit 2 ;;
  esac
  ensure_tools
  if [ "$target" = all ]; then
    build linux-x64
    build linux-arm64
  else
    build "$target"
  fi
}

run_command() { # demo|test, arguments
  local command=$1 script
  shift
  case "$command" in
    demo) script=test/harness/demo.ts ;;
    test) script=test/harness/run-tests.ts ;;
  esac
  mkdir -p -- "$TOOLS"
  ensure_system "$command"
  ensure_tools
  build_if_stale
  exec "$BUN" "$script" "$@"
}

case "${1:-}" in
  "" | --target) build_command "$@" ;;
  demo | test) run_command "$@" ;;
  verify)
    ensure_tools
    exec "$BUN" run verify
    ;;
  -h | --help | help) usage ;;
  *)
    say "build.sh: unknown command \"$1\""
    usage >&2
    exit 2
    ;;
esac
