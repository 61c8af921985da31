#!/usr/bin/env bash
# Copies the ACME client that traefik uses from the module cache to bin/lego,
# without its DNS providers: they pull in a hundred SDKs of clouds, some of them
# not to be had, and no test asks for a certificate by DNS.
# hack/tool.sh runs it before the build; go.mod's replace names the copy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
out=../../../bin/lego
version=$(awk '$1 == "github.com/go-acme/lego/v5" && $2 ~ /^v/ { print $2; exit }' go.mod)
[[ -n $version ]] || { echo "error: hack/tools/traefik/go.mod requires no github.com/go-acme/lego/v5" >&2; exit 1; }
if [[ -f $out/VERSION && $(<"$out/VERSION") == "$version" ]]; then exit 0; fi

# Outside of this module, whose replace would answer instead.
dir=$(cd / && GOWORK=off go mod download -json "github.com/go-acme/lego/v5@$version" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
[[ -d $dir/lego ]] || { echo "error: module github.com/go-acme/lego/v5@$version has no folder lego" >&2; exit 1; }

rm -rf "$out" "$out.tmp"
mkdir -p "$out.tmp/providers/dns"
for part in acme certcrypto certificate challenge internal lego log platform registration LICENSE; do
  if [[ -e $dir/$part ]]; then cp -R "$dir/$part" "$out.tmp"; fi
done
chmod -R u+w "$out.tmp"
find "$out.tmp" -name '*_test.go' -delete
printf 'module github.com/go-acme/lego/v5\n\n%s\n' "$(grep -m1 '^go ' "$dir/go.mod")" >"$out.tmp/go.mod"
cat >"$out.tmp/providers/dns/none.go" <<'GO'
// Package dns knows no provider of DNS challenges.
package dns

import (
	"fmt"

	"github.com/go-acme/lego/v5/challenge"
)

// NewDNSChallengeProviderByName always fails: this build has no provider.
func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, fmt.Errorf("DNS provider %q: this build of traefik has none", name)
}
GO
echo "$version" >"$out.tmp/VERSION"
mv "$out.tmp" "$out"
