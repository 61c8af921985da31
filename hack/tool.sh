#!/usr/bin/env bash
# Builds programs of the tool modules into bin/PROGRAM-VERSION and links them
# as bin/assets/PROGRAM. A program that is already there in the version its
# tool module pins is not built again.
#
#   hack/tool.sh etcd kube-apiserver kubectl
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

fail() { echo "error: $*" >&2; exit 1; }
command -v go >/dev/null || fail "go is not on the PATH; install Go 1.26 (https://go.dev/dl)"
[[ $# -gt 0 ]] || fail "usage: hack/tool.sh PROGRAM..."

# Prints: tool module, module that carries the version, package.
where() {
  case $1 in
    etcd) echo etcd go.etcd.io/etcd/server/v3 . ;;
    kube-apiserver | kube-controller-manager | kube-scheduler | kubectl)
      echo kubernetes k8s.io/kubernetes "k8s.io/kubernetes/cmd/$1" ;;
    vc-scheduler) echo volcano volcano.sh/volcano volcano.sh/volcano/cmd/scheduler ;;
    vc-controller-manager) echo volcano volcano.sh/volcano volcano.sh/volcano/cmd/controller-manager ;;
    kwok) echo kwok sigs.k8s.io/kwok sigs.k8s.io/kwok/cmd/kwok ;;
    traefik) echo traefik github.com/traefik/traefik/v3 github.com/traefik/traefik/v3/cmd/traefik ;;
    controller-gen) echo controller-gen sigs.k8s.io/controller-tools sigs.k8s.io/controller-tools/cmd/controller-gen ;;
    golangci-lint) echo golangci-lint github.com/golangci/golangci-lint/v2 github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
    *) fail "$1 is no program of hack/tools" ;;
  esac
}

# The version that a tool module's go.mod requires of a module.
pinned() {
  awk -v m="$2" '$1 == "require" { sub(/^require /, "") } $1 == m { print $2; exit }' "hack/tools/$1/go.mod"
}

ldflags() {
  local v=$2 p
  case $1 in
    kube*)
      p=k8s.io/component-base/version
      IFS=. read -r major minor _ <<<"${v#v}"
      echo "-X $p.gitVersion=$v -X $p.gitMajor=$major -X $p.gitMinor=$minor -X $p.gitTreeState=clean"
      ;;
    vc-*) echo "-X volcano.sh/volcano/pkg/version.Version=$v" ;;
    traefik) echo "-X github.com/traefik/traefik/v3/pkg/version.Version=$v" ;;
    kwok) echo "-X sigs.k8s.io/kwok/pkg/consts.Version=$v" ;;
    golangci-lint) echo "-X main.version=${v#v}" ;;
  esac
}

mkdir -p bin/assets
# One build at a time: they are heavy, and a second caller then finds the result.
exec 9>bin/.lock
flock 9
tmp=
trap '[[ -z $tmp ]] || rm -f "$tmp"' EXIT

for program in "$@"; do
  read -r dir module package <<<"$(where "$program")"
  [[ -n $dir ]] || exit 1
  version=$(pinned "$dir" "$module")
  [[ -n $version ]] || fail "hack/tools/$dir/go.mod requires no $module"
  out=bin/$program-$version
  if [[ ! -x $out ]]; then
    free=$(df -Pk bin | awk 'NR == 2 { print int($4 / 1024) }')
    [[ $free -ge 1024 ]] || fail "only $free MiB are free for $root/bin; building needs about 6 GiB with Go's caches: free some space and run it again"
    echo "building $program $version (once; kept in $out)"
    start=$SECONDS
    rm -f "bin/.$program".*
    tmp=bin/.$program.$$
    if [[ -x hack/tools/$dir/prepare.sh ]]; then "hack/tools/$dir/prepare.sh"; fi
    # No debug information: nobody debugs the parts of the bed.
    if ! (cd "hack/tools/$dir" && GOWORK=off CGO_ENABLED=0 GOGC=400 go build -trimpath -buildvcs=false \
      -gcflags=all=-dwarf=false -ldflags "-s -w $(ldflags "$program" "$version")" \
      -o "$root/$tmp" "$package"); then
      fail "building $program $version failed (above); nothing half made is left, run it again when the cause is gone"
    fi
    mv "$tmp" "$out"
    tmp=
    echo "built    $program $version in $((SECONDS - start))s"
  fi
  ln -sfn "../$program-$version" "bin/assets/$program"
done
