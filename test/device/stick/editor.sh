# Changes manifests until it is ended, as careful and careless people do. $1: number of the first version.
version=$1
directory=/etc/agent/manifests
pod() { # name
  cat <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: local/busybox:1
      command: [sh, -c, "echo version $version; trap 'exit 0' TERM; sleep 2147483647 & wait"]
# whole
END
}
careful() { # name
  pod "$1" >"$directory/.$1.new"
  sync "$directory/.$1.new"
  mv "$directory/.$1.new" "$directory/$1.yaml"
}
while :; do
  careful edited
  # In its place, without a flush: a power cut may leave it empty or cut short.
  pod careless >"$directory/careless.yaml"
  if [ $((version % 2)) = 0 ]; then careful extra; else rm -f "$directory/extra.yaml"; fi
  version=$((version + 1))
  sleep 3
done
