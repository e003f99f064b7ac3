#!/usr/bin/env bash
# The one door for people: builds, shows and tests the agent, and installs what that needs.
# Bun and the npm packages go into this directory; Debian packages only for `demo`, `test`, `device` and `release`.
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
  device [SCENARIO...]        the agent for arm64 on an emulated device that is booted, rebooted and cut from its power
                              (needs root)
  soak [--minutes 60]         the agent at high churn for an hour: nothing grows, nothing is lost (needs root)
  fleet-load [--nodes 1000,3000,10000] [--idle-seconds 300] [--json FILE]
                              nodes without containers on one broker: what a fleet of this size takes (needs root)
  release [--check]           dist/release: binaries for arm64 and x64, a Debian package of each, SBOM and checksums;
                              --check also runs lintian
  version                     the version that is built: of the last tag vX.Y.Z, with the commit unless exactly the tag is built
  verify                      format, types, lint, architecture and unit tests, in seconds
  --help                      this text

Bun and the npm packages are installed below this directory. demo, test, soak, fleet-load and device also install Debian
packages (containerd, mosquitto, an emulator, ...) that are missing; apt removes nothing and starts no service.
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
  unpack_program busybox-static busybox
}

# A kubectl on PATH may be of any version; the tests also want Debian's, an old one.
ensure_kubectl() {
  [ -x "$TOOLS/kubernetes-client/kubectl" ] || unpack_program kubernetes-client kubectl
}

# Unpacks a program of a Debian package into a directory of the package's name.
unpack_program() {
  local package=$1 program=$2 work=$TOOLS/$1.new found
  rm -rf -- "$work"
  mkdir -p -- "$work"
  say "unpacking $package into $TOOLS"
  (cd -- "$work" && apt_get_download "$package") || die "cannot download the Debian package $package"
  dpkg-deb -x "$work"/*.deb "$work"
  found=$(find "$work" -type f -path "*/bin/$program")
  mkdir -p -- "$TOOLS/$package"
  mv -- "$found" "$TOOLS/$package/$program"
  rm -rf -- "$work"
}

apt_get_download() {
  apt-get -qq download "$1" 2>/dev/null && return
  apt-get -qq update >/dev/null 2>&1 || true
  apt-get -qq -o APT::Sandbox::User=root download "$1" >&2
}

# The containerd of Debian 13, beside the machine's own: unpacked, not installed, and listed by an apt that knows nothing
# else. CONTAINERD17 set to nothing: none.
ensure_containerd17() {
  local home=$PWD/$TOOLS/containerd-1.7
  [ -z "${CONTAINERD17+set}" ] || return 0
  [ -x "$home/usr/bin/containerd" ] || fetch_containerd17 "$home" || {
    say "no containerd 1.7 could be had; its tests are left out (CONTAINERD17=/path/to/containerd names one)"
    return 0
  }
  export CONTAINERD17=$home/usr/bin/containerd
}

fetch_containerd17() { # directory
  local work=$TOOLS/containerd-1.7.new
  say "unpacking containerd 1.7 of Debian 13 into $TOOLS"
  unpack_debian13 "$work" "$(dpkg --print-architecture)" containerd >"$TOOLS/containerd-1.7.log" 2>&1 || return 1
  "$work/root/usr/bin/containerd" --version | grep -q ' 1\.7\.' || return 1
  mv -- "$work/root" "$1"
  rm -rf -- "$work"
}

# Where this machine's apt gets Debian's main packages; nothing = from nowhere that has Debian.
debian_mirror() {
  apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Component: main' | grep -m 1 '/debian/*$'
}

# Downloads packages of Debian 13 and unpacks them into root/ below a directory, by an apt that knows nothing else.
unpack_debian13() { # directory, architecture, packages
  local work=$1 architecture=$2 keys=/usr/share/keyrings/debian-archive-keyring.gpg package
  shift 2
  has apt-get && [ -r "$keys" ] || return 1
  local mirror
  mirror=$(debian_mirror) && [ -n "$mirror" ] || return 1
  rm -rf -- "$work"
  mkdir -p -- "$work/lists/partial" "$work/root"
  echo "deb [signed-by=$keys] $mirror trixie main" >"$work/sources.list"
  local own=(-qq -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture"
    -o "Dir::Etc::sourcelist=$PWD/$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null
    -o "Dir::State::lists=$PWD/$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o APT::Sandbox::User=root -o Acquire::Languages=none)
  (cd -- "$work" && apt-get "${own[@]}" update && apt-get "${own[@]}" download "$@") || return 1
  for package in "$work"/*.deb; do dpkg-deb -x "$package" "$work/root" || return 1; done
}

# The arm64 binary runs here too, under an emulator and with arm64's own libraries. What it cannot have is said by its test.
ensure_arm64() {
  local home=$PWD/$TOOLS/arm64-libraries work=$TOOLS/arm64-libraries.new
  [ "$(machine)" != linux-arm64 ] || return 0
  if ! has qemu-aarch64-static && has apt-get; then
    (install_packages qemu-user-static) || say "no qemu-user-static could be had; the tests of the arm64 binary are left out"
  fi
  has qemu-aarch64-static || return 0
  if [ ! -d "$home" ]; then
    say "unpacking arm64 libraries of Debian 13 into $TOOLS"
    unpack_debian13 "$work" arm64 libc6 libgcc-s1 libstdc++6 >"$TOOLS/arm64-libraries.log" 2>&1 || {
      say "no arm64 libraries could be had; the tests of the arm64 binary are left out"
      return 0
    }
    # A package that is not here makes this link on a whole system.
    ln -s usr/lib "$work/root/lib"
    mv -- "$work/root" "$home"
    rm -rf -- "$work"
  fi
  export ARM64_LIBRARIES=$home
}

# The emulator of a whole arm64 machine, and what makes its disk.
ensure_emulator() {
  local missing=()
  has qemu-system-aarch64 || missing+=(qemu-system-arm)
  has qemu-img || missing+=(qemu-utils)
  has mke2fs || missing+=(e2fsprogs)
  has xz || missing+=(xz-utils)
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
  ensure_busybox
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
  [[ "$1" != test && "$1" != fleet-load ]] || has chromium || missing+=(chromium)
  if [ "$1" = test ]; then
    has docker-registry || missing+=(docker-registry)
    has tmux || missing+=(tmux)
    { has promtool && has prometheus; } || missing+=(prometheus)
    # For systemd-logind on a bus of its own.
    has dbus-daemon || missing+=(dbus-daemon)
    has lintian || missing+=(lintian)
    { has busctl && has systemd-inhibit; } || missing+=(systemd)
    /usr/bin/python3 -c 'import dbusmock' 2>/dev/null || missing+=(python3-dbusmock)
  fi
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
  ensure_busybox
  [ "$1" != test ] || ensure_kubectl
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

commit() { repository rev-parse --short=12 HEAD || true; }

# The tag of a release before or at this commit, such as v0.2.0; nothing = there is none.
release_tag() {
  local tag
  tag=$(repository describe --tags --abbrev=0 --match 'v[0-9]*.[0-9]*.[0-9]*') || return 0
  [[ ! $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || echo "$tag"
}

# The number of the tag, alone when exactly its commit is built; else with the commit. Without a tag it is package.json's.
version() {
  local number commit tag
  tag=$(release_tag)
  number=${tag#v}
  [ -n "$number" ] || number=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
  commit=$(commit)
  if [ -n "$commit" ] && [ -n "$(repository status --porcelain -- src package.json bun.lock build.sh)" ]; then
    commit+=.dirty
  elif [ -n "$tag" ] && [ "$(repository rev-parse "$tag^{commit}")" = "$(repository rev-parse HEAD)" ]; then
    commit=
  fi
  echo "$number${commit:+"+$commit"}"
}

# Seconds since 1970 of what is built: the commit's time, so that two builds of one commit are equal.
source_time() {
  if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then echo "$SOURCE_DATE_EPOCH"; return; fi
  repository log -1 --format=%ct || date +%s
}

build() { # target, place: "release" = for every machine of its kind, into dist/release
  local target=$1 place=${2:+$2/} version runtime=() package
  local out=dist/${place}agent-$target parts=dist/${place}maps-$target
  version=$(version)
  if [ "$target" != "$(machine)" ] || [ -n "$place" ]; then
    package=$(bun_package "$target")
    [ "$target" = linux-arm64 ] || package=linux-x64-baseline
    fetch_bun "$package"
    runtime=("--target=bun-$target" "--compile-executable-path=$(bun_path "$package")")
  fi
  # The maps of the parts lie beside the binary.
  rm -rf -- "$parts" "$out.map"
  mkdir -p "$parts"
  # --splitting: a verb loads its own part of the program and nothing else.
  # __dirname, __filename: where this repository lies would stand in the binary; no module of it reads files from there.
  # The two --no-compile-autoload flags: a daemon must not run what lies in its working directory.
  "$BUN" build --compile --splitting --minify --bytecode --format=esm --sourcemap=linked \
    --no-compile-autoload-dotenv --no-compile-autoload-bunfig --compile-jit-policy=100 \
    "--conditions=$target" "${runtime[@]}" \
    --define "AGENT_VERSION=\"$version\"" --define "AGENT_BUILD_TIME=$(source_time)" \
    --define '__dirname="/agent"' --define '__filename="/agent/agent"' \
    --define "AGENT_COMMIT=\"$(commit)\"" \
    src/main.ts --outfile "$parts/agent" >"$TOOLS/build-$target.log" 2>&1 || {
    cat "$TOOLS/build-$target.log" >&2
    die "the build for $target failed"
  }
  mv -f -- "$parts/agent" "$out"
  [ -n "$place" ] || echo "$version" >"$TOOLS/built-$target"
  say "built $out ($version)"
}

build_if_stale() { # target
  local target=$1 out
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

# Both binaries, a Debian package of each, what is in them, and checksums. Root is needed only to install what is missing.
release_command() { # [--check]
  local missing=() check=${1:-} target
  [ $# -le 1 ] && { [ -z "$check" ] || [ "$check" = --check ]; } || { usage >&2; exit 2; }
  mkdir -p -- "$TOOLS"
  has dpkg-deb || missing+=(dpkg)
  [ -z "$check" ] || has lintian || missing+=(lintian)
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
  ensure_tools
  rm -rf dist/release
  for target in linux-x64 linux-arm64; do build "$target" release; done
  SOURCE_DATE_EPOCH=$(source_time) "$BUN" test/release/make-release.ts \
    --directory dist/release --version "$(version)" --tag "$(release_tag)"
  [ -z "$check" ] || check_release
}

# Errors end it, warnings are shown; what is overridden, and why, is in test/release/overrides.ts.
check_release() {
  (cd dist/release && sha256sum --quiet -c SHA256SUMS) || die "the checksums do not match"
  lintian --allow-root --fail-on error dist/release/*.deb || die "lintian finds errors in the packages"
  say "the packages pass lintian"
}

run_command() { # demo|soak|fleet-load|test, arguments
  local command=$1 script
  shift
  case "$command" in
    demo) script=test/harness/demo.ts ;;
    soak) script=test/soak/run-soak.ts ;;
    fleet-load) script=test/fleet/run-load.ts ;;
    test) script=test/harness/run-tests.ts ;;
  esac
  mkdir -p -- "$TOOLS"
  ensure_system "$command"
  if [ "$command" = test ]; then
    ensure_containerd17
    ensure_arm64
  fi
  ensure_tools
  build_if_stale "$(machine)"
  [ -z "${ARM64_LIBRARIES:-}" ] || build_if_stale linux-arm64
  exec "$BUN" "$script" "$@"
}

device_command() { # scenarios
  is_root || die "'device' needs root: it makes a file system with the owners of a system. Run: sudo ./build.sh device"
  mkdir -p -- "$TOOLS"
  ensure_emulator
  ensure_tools
  build_if_stale linux-arm64
  # Installs onto the disk of a device.
  build_if_stale "$(machine)"
  exec env AGENT_VERSION="$(version)" DEBIAN_MIRROR="$(debian_mirror)" "$BUN" test/device/run-device.ts "$@"
}

case "${1:-}" in
  "" | --target) build_command "$@" ;;
  demo | soak | fleet-load | test) run_command "$@" ;;
  release)
    shift
    release_command "$@"
    ;;
  device)
    shift
    device_command "$@"
    ;;
  verify)
    ensure_tools
    exec "$BUN" run verify
    ;;
  version) version ;;
  -h | --help | help) usage ;;
  *)
    say "build.sh: unknown command \"$1\""
    usage >&2
    exit 2
    ;;
esac
