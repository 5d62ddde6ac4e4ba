#!/bin/sh
# Makes the CRDs of every Flux release listed in src/catalog/data/flux/releases.json from the released Go API modules,
# without descriptions. Needs Go and a module proxy; everybody else uses the committed result.
# usage: scripts/flux-bundle.sh [VERSION...]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
PATH="$root/node_modules/.bin:$PATH"
tools_version=v0.23.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

generator=${CONTROLLER_GEN:-}
if [ -z "$generator" ]; then
  GOBIN="$work/bin" GOFLAGS=-mod=mod go install "sigs.k8s.io/controller-tools/cmd/controller-gen@$tools_version"
  generator="$work/bin/controller-gen"
fi

node "$root/scripts/flux-bundle.ts" list "$@" > "$work/releases"
while read -r flux source helm; do
  module="$work/$flux"
  mkdir -p "$module/out"
  cd "$module"
  cat > go.mod <<MOD
module bundle

go 1.26
MOD
  cat > doc.go <<'GO'
package bundle

import (
	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/source-controller/api/v1"
)
GO
  GOFLAGS=-mod=mod go get "github.com/fluxcd/source-controller/api@v$source" "github.com/fluxcd/helm-controller/api@v$helm"
  GOFLAGS=-mod=mod go mod tidy
  # Older lines serve their beta versions beside the stable one; whatever the module holds is generated.
  paths=""
  for package in source-controller/api helm-controller/api; do
    dir=$(GOFLAGS=-mod=mod go list -m -f '{{.Dir}}' "github.com/fluxcd/$package")
    for version in "$dir"/v*; do
      name=$(basename "$version")
      [ -f "$version/groupversion_info.go" ] || [ -f "$version/doc.go" ] || continue
      paths="$paths;github.com/fluxcd/$package/$name"
    done
  done
  for path in $(echo "${paths#;}" | tr ';' ' '); do echo "import _ \"$path\"" ; done > imports.txt
  { echo "package bundle"; cat imports.txt; } > doc.go
  GOFLAGS=-mod=mod go mod tidy
  "$generator" crd:maxDescLen=0 "paths=${paths#;}" "output:crd:dir=$module/out"
  node "$root/scripts/flux-bundle.ts" pack "$flux" "$module/out"
done < "$work/releases"
