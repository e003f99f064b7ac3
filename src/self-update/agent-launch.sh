#!/bin/sh
# Starts the agent: the service manager runs this file, not the binary. It chooses which version of the binary runs, and
# goes back by itself from a new one that does not prove itself. It depends on no binary: a new one that cannot run, crashes
# or hangs is left after three starts or five minutes.
#
# POSIX sh (dash, busybox). Below @STATE@/self-update lie, each written by the agent unless noted:
#   versions/NAME/agent   a version; versions/NAME/beside is the identity of the installed binary when it came
#   current               a link to the version that runs; absent = the installed binary
#   trial                 name= and sha256= of the version that must still prove itself
#   starts                "NAME BOOT UPTIME" for each start of the trial; written here
#   failed                "SHA256 NAME REASON" for each version that was given up; written here too
# Only the time since boot counts: the wall clock of a device may be wrong.

set -u
PATH=${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}
installed=@BINARY@
place=@STATE@/self-update
most_starts=3
limit=300
kept_failures=20
probe_seconds=60

# Tests shorten the trial; nothing makes it longer.
case ${AGENT_TRIAL_SECONDS:-} in
'' | *[!0-9]* | ?????*) ;;
*) [ "$AGENT_TRIAL_SECONDS" -gt "$limit" ] || limit=$AGENT_TRIAL_SECONDS ;;
esac

say() { printf 'agent-launch: %s\n' "$*" >&2; }

# After this a power cut does not undo it. Where sync takes no files, it writes everything.
durable() { sync "$@" 2>/dev/null || sync; }

# Another one means that a package or a person has replaced the file.
identity() { stat -L -c '%s-%Y' "$1" 2>/dev/null; }

# The first bytes of a program: its format and its processor.
form() { head -c 20 "$1" 2>/dev/null | od -A n -t x1 2>/dev/null | tr -d ' \n'; }

# The shell would read a damaged program, or one for another processor, as a script: so its form is compared first.
can_run() {
  [ -f "$1" ] && [ -x "$1" ] || return 1
  [ ! -r "$installed" ] || [ "$(form "$1")" = "$(form "$installed")" ] || return 1
  command -v timeout >/dev/null 2>&1 || return 0
  timeout -s KILL "$probe_seconds" "$1" version </dev/null >/dev/null 2>&1
}

# Says what helps when a binary does not even tell its version: the words of the loader and of the shell name no remedy. It
# is started all the same, so that its own end is what the service manager sees.
explain() {
  limited=''
  command -v timeout >/dev/null 2>&1 && limited="timeout -s KILL $probe_seconds"
  # shellcheck disable=SC2086 # It is split on purpose.
  why=$($limited "$1" version </dev/null 2>&1 >/dev/null)
  code=$?
  [ "$code" != 0 ] || return 0
  case $why in
  *GLIBC_*)
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=older
    say "the C library of this system is too old for $1: it needs glibc 2.34 or later, and this is $libc; use a distribution with it, such as Debian 12 or Ubuntu 22.04"
    return
    ;;
  *'error while loading shared libraries: '*)
    library=${why##*loading shared libraries: }
    library=${library%%:*}
    case $library in
    libstdc++*) package=libstdc++6 ;;
    libgcc_s*) package=libgcc-s1 ;;
    *) package=libc6 ;;
    esac
    say "$1 needs the library $library, which is missing here; install it (Debian: apt-get install $package)"
    return
    ;;
  esac
  if [ "$(form "$1" | cut -c 1-8)" = 7f454c46 ] && [ "$(form "$1" | cut -c 37-40)" != "$(form /bin/sh | cut -c 37-40)" ]; then
    say "$1 is a program for another processor than this one, a $(uname -m); install the one for it"
  elif [ "$code" = 127 ] || [ "$code" = 126 ]; then
    say "$1 is there, but what loads it is not: it needs a 64-bit system with glibc 2.34 or later, such as Debian 12, and no musl, such as Alpine's"
  elif [ "$code" = 132 ]; then
    say "$1 uses instructions that this processor has not; build one without AVX2 for it (docs/operations.md)"
  else
    say "$1 cannot tell its version (exit code $code): ${why:-it prints no reason}"
  fi
}

# Whether the installed binary is the one that the version came beside. What cannot be found out counts as yes.
is_beside() {
  now_installed=$(identity "$installed") || return 0
  then_installed=
  read -r then_installed 2>/dev/null <"$1/beside"
  [ -z "$then_installed" ] || [ "$then_installed" = "$now_installed" ]
}

read_trial() {
  name='' sha256=''
  while IFS='=' read -r key value; do
    case $key in
    name) name=$value ;;
    sha256) sha256=$value ;;
    esac
  done <"$place/trial"
  case $name in
  '' | .* | */*) return 1 ;;
  esac
}

end_trial() {
  rm -f "$place/trial"
  durable "$place"
}

# A power cut between the two steps makes a second line of the same failure.
give_up() {
  say "version $name is given up: $1"
  {
    [ ! -e "$place/failed" ] || tail -n "$((kept_failures - 1))" "$place/failed"
    printf '%s %s %s\n' "${sha256:-unknown}" "$name" "$1"
  } >"$place/failed.new" && durable "$place/failed.new" && mv -f "$place/failed.new" "$place/failed"
  end_trial
}

# Sets starts, of the trial, and first, the uptime of its first start in this boot.
count_starts() {
  starts=0 first=$now
  [ -r "$place/starts" ] || return 0
  while read -r of at up; do
    [ "$of" = "$name" ] || continue
    starts=$((starts + 1))
    [ "$at" = "$boot" ] && [ "$up" -lt "$first" ] 2>/dev/null && first=$up
  done <"$place/starts"
  return 0
}

uptime_now() {
  read -r now rest </proc/uptime
  now=${now%%.*}
}

choose_trial() {
  [ -f "$place/trial" ] || return 1
  if ! read_trial; then
    say "the record of the version on trial cannot be read; it is removed"
    end_trial
    return 1
  fi
  version=$place/versions/$name
  if [ "$(readlink "$place/current" 2>/dev/null)" = "versions/$name" ]; then
    # It has proved itself just before a power cut.
    end_trial
    return 1
  fi
  if ! is_beside "$version"; then
    say "$installed was replaced during the trial of version $name; the trial ends"
    end_trial
    return 1
  fi
  uptime_now
  read -r boot </proc/sys/kernel/random/boot_id
  count_starts
  if [ "$starts" -ge "$most_starts" ]; then
    give_up "it was started $starts times and never proved itself"
    return 1
  fi
  if [ "$((now - first))" -ge "$limit" ]; then
    give_up "it did not prove itself within $limit s"
    return 1
  fi
  if ! { printf '%s %s %s\n' "$name" "$boot" "$now" >>"$place/starts" && durable "$place/starts" "$place"; }; then
    say "the start of version $name cannot be recorded, so it is not started"
    return 1
  fi
  if ! can_run "$version/agent"; then
    give_up "it cannot be executed on this machine"
    return 1
  fi
  until=$((first + limit))
}

choose_current() {
  [ -L "$place/current" ] || return 1
  if ! is_beside "$place/current"; then
    say "$installed was replaced since $(readlink "$place/current") came; from now on $installed runs"
    rm -f "$place/current"
    durable "$place"
    return 1
  fi
  version=$place/$(readlink "$place/current")
  can_run "$version/agent" && return
  say "$version/agent cannot be executed; $installed runs instead"
  return 1
}

# The field of the process's start: a number of a process that has ended is given to another one.
birth() {
  read -r line 2>/dev/null <"/proc/$1/stat" || return 1
  # shellcheck disable=SC2086 # It is split on purpose.
  set -- ${line##*) }
  printf %s "${20}"
}

# Ends a version that hangs, so that the service manager starts this file again.
watch_trial() {
  born=$(birth "$1") || return 0
  while sleep 1; do
    [ -e "$place/trial" ] && [ "$(birth "$1")" = "$born" ] || return 0
    uptime_now
    [ "$now" -lt "$2" ] && continue
    kill -KILL "$1"
    return 0
  done
}

start() {
  AGENT_LAUNCH_DIR=$place AGENT_LAUNCH_INSTALLED=$installed
  export PATH AGENT_LAUNCH_DIR AGENT_LAUNCH_INSTALLED AGENT_LAUNCH_TRIAL AGENT_LAUNCH_UNTIL
  exec "$@"
}

AGENT_LAUNCH_TRIAL='' AGENT_LAUNCH_UNTIL=''
if [ "${1:-}" = run ] && choose_trial; then
  AGENT_LAUNCH_TRIAL=$name AGENT_LAUNCH_UNTIL=$until
  # In the background twice, so that it is no child of the agent.
  (
    exec </dev/null >/dev/null 2>&1
    watch_trial $$ "$until" &
  )
  start "$version/agent" "$@"
fi
if choose_current; then start "$version/agent" "$@"; fi
if [ -x "$installed" ]; then
  [ "${1:-}" != run ] || explain "$installed"
  start "$installed" "$@"
fi
say "$installed is missing; another version is looked for"
for other in "$place"/versions/*/agent; do
  if can_run "$other"; then start "$other" "$@"; fi
done
say "there is no agent that can be executed; install one as $installed"
exit 127
