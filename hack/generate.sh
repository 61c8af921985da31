#!/usr/bin/env bash
# Writes what is generated from the Go code: deepcopy functions, CRDs, roles.
# With --verify it writes into a copy and fails when the copy differs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
generator=$PWD/bin/assets/controller-gen

generate() {
  local rooms=() room
  "$generator" object paths=./api/...
  rm -rf config/crd/bases
  "$generator" crd paths=./api/... output:crd:artifacts:config=config/crd/bases
  go run ./hack/crds config/crd/bases/*.yaml
  # Rooms without a marker are fine; rooms that do not exist are not.
  for room in controllers webhooks certs cmd; do
    [[ ! -d $room ]] || rooms+=("paths=./$room/...")
  done
  "$generator" rbac:roleName=gangway "${rooms[@]}" output:rbac:artifacts:config=config/rbac
}

if [[ ${1-} != --verify ]]; then
  generate
  exit
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar --exclude=./bin --exclude='./.cluster*' --exclude=./.git --exclude=./hack/tools -cf - . | tar -xf - -C "$copy"
root=$PWD
(cd "$copy" && generate)
status=0
for dir in api config/crd/bases config/rbac; do
  diff -ru "$root/$dir" "$copy/$dir" || status=1
done
if [[ $status -ne 0 ]]; then
  echo "error: generated files are out of date (-: yours, +: what the code says); run make generate and commit the result" >&2
  exit 1
fi
echo "generated files are up to date"
