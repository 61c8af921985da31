#!/usr/bin/env bash
# Copies the CRDs of other projects, as their modules publish them, into
# bin/manifests/NAME-VERSION, and links them as bin/manifests/NAME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pinned() {
  awk -v m="$2" '$1 == "require" { sub(/^require /, "") } $1 == m { print $2; exit }' "$1"
}

# copy NAME GO.MOD MODULE FOLDER...
copy() {
  local version dir out folder
  version=$(pinned "$2" "$3")
  [[ -n $version ]] || { echo "error: $2 requires no $3" >&2; exit 1; }
  out=bin/manifests/$1-$version
  if [[ ! -d $out ]]; then
    dir=$(GOWORK=off go mod download -json "$3@$version" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
    rm -rf "$out.tmp"
    mkdir -p "$out.tmp"
    for folder in "${@:4}"; do
      [[ -d $dir/$folder ]] || { echo "error: module $3@$version has no folder $folder" >&2; exit 1; }
      cp "$dir/$folder"/*.yaml "$out.tmp"
    done
    chmod -R u+w "$out.tmp"
    mv "$out.tmp" "$out"
    echo "copied   the CRDs of $1 $version to $out"
  fi
  ln -sfn "$1-$version" "bin/manifests/$1"
}

mkdir -p bin/manifests
copy volcano hack/tools/volcano/go.mod volcano.sh/volcano config/crd/volcano/bases config/crd/jobflow/bases
copy gateway-api go.mod sigs.k8s.io/gateway-api config/crd/standard
copy cert-manager go.mod github.com/cert-manager/cert-manager deploy/crds
