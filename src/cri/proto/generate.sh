#!/bin/sh
# Writes src/cri/gen and src/containerd/gen anew from the .proto files beside this script. Works offline.
set -eu
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
PATH="$root/.tools/bun/node_modules/@oven/bun-linux-x64/bin:$root/.tools/bun/node_modules/@oven/bun-linux-aarch64/bin:$PATH"
export PATH
buf="$root/node_modules/.bin/buf"
"$buf" generate --path runtime --output ../gen
"$buf" generate --path containerd --output ../../containerd/gen
cd "$root"
bun fmt src/cri/gen src/containerd/gen
