#!/usr/bin/env bash
# Builds a real provider out of the Go module proxy, once per version, for the tests of the engine.
#
#   test/real/build-provider.sh [provider]
#
# It lands beside the other real components (CAPT_REAL_CACHE, see build.sh). The provider's folder is a filesystem mirror
# as Terraform reads it: HOST/NAMESPACE/TYPE/VERSION/PLATFORM/terraform-provider-TYPE_vVERSION.
set -euo pipefail

PROVIDER_VERSION=v0.14.2
CACHE=${CAPT_REAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/capt-real}
[ $# -gt 0 ] || set -- provider

say() { printf 'build: %s\n' "$*" >&2; }
command -v go >/dev/null || { say "Go is missing; install Go 1.26 or newer"; exit 1; }
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false
mkdir -p "$CACHE"
# A lock of its own: build.sh may be at work for an hour.
exec 9>"$CACHE/lock-provider"
flock 9

module_info() { go mod download -json "$1" | sed -n "s/^\t\"$2\": \"\(.*\)\",\$/\1/p"; }

# A module of ours that requires exactly what the other one does, so that its versions and replacements hold.
write_module() {
  local src=$1 module=$2 version=$3 mod dir
  mod=$(module_info "$module@$version" GoMod)
  dir=$(module_info "$module@$version" Dir)
  {
    echo 'module engine.local/build'
    grep -m1 '^go ' "$mod"
    grep '^godebug ' "$mod" || true
    echo "require $module $version"
    awk '/^require \(/{on=1;next} on&&/^\)/{on=0} on&&$1!~/^\/\//&&NF>=2{print "require " $1 " " $2}' "$mod"
    sed -nE '/^replace [^(]+ => [^.]/p' "$mod"
  } >"$src/go.mod"
  install -m 644 "$dir/go.sum" "$src/go.sum"
}

# $1 name, $2 function that builds into $1's folder
build() {
  local out=$CACHE/$1 started=$SECONDS
  [ -e "$out/complete" ] && return 0
  say "building $1 (this happens once)"
  mkdir -p "$out/src" "$out/bin"
  "$2" "$out"
  touch "$out/complete"
  say "built $1 in $((SECONDS - started)) s"
}

build_provider() {
  local module=github.com/hashicorp/terraform-provider-time version=${PROVIDER_VERSION#v} platform
  platform=$(go env GOOS)_$(go env GOARCH)
  write_module "$1/src" "$module" "$PROVIDER_VERSION"
  local target=$1/mirror/registry.terraform.io/hashicorp/time/$version/$platform
  mkdir -p "$target"
  (cd "$1/src" && go build -mod=mod -trimpath -ldflags '-s -w' -o "$target/terraform-provider-time_v${version}_x5" "$module")
}

for component in "$@"; do
  case $component in
    provider) build "provider-time-$PROVIDER_VERSION" build_provider ;;
    *) say "unknown component $component"; exit 1 ;;
  esac
done
