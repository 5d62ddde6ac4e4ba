#!/usr/bin/env bash
# Builds the real components that `make test-real` runs against, out of the Go module proxy, once per version.
#
#   test/real/build.sh [COMPONENT...]      etcd etcd-tools kube capi-v1.14.2 capi-v1.10.10 helm tofu promtool
#                                          (default: all)
#
# Everything lands in CAPT_REAL_CACHE (default: $XDG_CACHE_HOME or ~/.cache, folder capt-real), outside the repository,
# in folders named by version. A folder gets its name only when it is finished and is not built again; what a killed
# build left is thrown away by the next. Of two at once, one builds and the other waits and finds it done.
set -euo pipefail

KUBE_VERSION=v1.33.13
ETCD_VERSION=v3.6.16
HELM_VERSION=v3.19.5
TOFU_VERSION=v1.10.10
# Prometheus 3.15; its Go module counts from zero.
PROMETHEUS_VERSION=v0.315.0
GO_VERSION=1.26
CACHE=${CAPT_REAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/capt-real}
[ $# -gt 0 ] || set -- etcd etcd-tools kube capi-v1.14.2 capi-v1.10.10 helm tofu promtool

say() { printf 'build: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false

# Asked only when something is to be built: a finished cache needs none of them.
check_tools() {
  local hint='or point CAPT_REAL_CACHE at a folder that is already built' have oldest
  command -v go >/dev/null || die "Go is missing; install Go $GO_VERSION or newer, $hint"
  have=$(go env GOVERSION) have=${have#go}
  oldest=$(printf '%s\n' "$GO_VERSION" "$have" | sort -V | head -n 1)
  [ "$oldest" = "$GO_VERSION" ] || die "Go $have is too old; install Go $GO_VERSION or newer, $hint"
  command -v kubectl >/dev/null || die "kubectl is missing; it renders core's manifests; install it, $hint"
}

module_info() { go mod download -json "$1" | sed -n "s/^\t\"$2\": \"\(.*\)\",\$/\1/p"; }

# Makes a module in $1 that requires package $2 at version $3; what Go says is shown only when it fails.
require_module() {
  local told
  told=$(cd "$1" && go mod init capt.local/build 2>&1 && go get "$2@$3" 2>&1) || die "cannot get $2 $3: $told"
}

# $1 name, $2 function that builds into the folder it is given
build() {
  local out=$CACHE/$1 partial=$CACHE/$1.partial started=$SECONDS
  [ -e "$out/complete" ] && return 0
  check_tools
  say "building $1 (this happens once)"
  rm -rf "$out" "$partial"
  mkdir -p "$partial/bin" "$partial/src"
  "$2" "$partial" "$1"
  touch "$partial/complete"
  mv "$partial" "$out"
  say "built $1 in $((SECONDS - started)) s"
}

build_etcd() {
  require_module "$1/src" go.etcd.io/etcd/server/v3 "$ETCD_VERSION"
  (cd "$1/src" && go build -mod=mod -trimpath -ldflags '-s -w' -o "$1/bin/etcd" go.etcd.io/etcd/server/v3)
}

# What people take a snapshot and restore it with.
build_etcd_tools() {
  local tool
  require_module "$1/src" go.etcd.io/etcd/etcdctl/v3 "$ETCD_VERSION"
  (cd "$1/src" && go get "go.etcd.io/etcd/etcdutl/v3@$ETCD_VERSION" 2>/dev/null)
  for tool in etcdctl etcdutl; do
    (cd "$1/src" && go build -mod=mod -trimpath -ldflags '-s -w' -o "$1/bin/$tool" "go.etcd.io/etcd/$tool/v3")
  done
}

# Kubernetes' go.mod replaces its staging modules with folders that the module zip does not hold. A module of ours
# requires the same versions and takes the published staging modules instead.
build_kube() {
  local src=$1/src mod dir staging=v0${KUBE_VERSION#v1} flags='-s -w' version=${KUBE_VERSION#v} package
  mod=$(module_info "k8s.io/kubernetes@$KUBE_VERSION" GoMod)
  dir=$(module_info "k8s.io/kubernetes@$KUBE_VERSION" Dir)
  {
    echo 'module kube.local/build'
    grep -m1 '^go ' "$mod"
    grep '^godebug ' "$mod" || true
    echo "require k8s.io/kubernetes $KUBE_VERSION"
    awk '/^require \(/{on=1;next} on&&/^\)/{on=0} on&&NF>=2&&$2!="v0.0.0"{print "require " $1 " " $2}' "$mod"
    sed -nE "s#^[[:space:]]*(k8s\.io/[a-z0-9-]+) => \./staging/.*#replace \1 => \1 $staging#p" "$mod"
  } >"$src/go.mod"
  install -m 644 "$dir/go.sum" "$src/go.sum"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$KUBE_VERSION -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$version")"
    flags+=" -X $package.gitTreeState=clean -X $package.gitCommit=module -X $package.buildDate=1970-01-01T00:00:00Z"
  done
  for package in kube-apiserver kube-controller-manager; do
    (cd "$src" && go build -mod=mod -trimpath -ldflags "$flags" -o "$1/bin/$package" "k8s.io/kubernetes/cmd/$package")
  done
}

build_capi() {
  local out=$1 version=${2#capi-} module=sigs.k8s.io/cluster-api mod dir root=. flags
  mod=$(module_info "$module@$version" GoMod)
  dir=$(module_info "$module@$version" Dir)
  [ -d "$dir/core/config" ] && root=core
  flags="-s -w -X $module/version.gitVersion=$version -X $module/version.gitMajor=1 -X $module/version.gitMinor=$(cut -d. -f2 <<<"$version")"
  flags+=" -X $module/version.gitTreeState=clean -X $module/version.gitCommit=module -X $module/version.buildDate=1970-01-01T00:00:00Z"
  {
    echo 'module capi.local/build'
    grep -m1 '^go ' "$mod"
    echo "require $module $version"
    awk '/^require \(/{on=1;next} on&&/^\)/{on=0} on&&$1!~/^\/\//&&NF>=2{print "require " $1 " " $2}' "$mod"
    sed -nE "/^replace /{s#^replace ([^ ]+) => \./.*#replace \1 => \1 $version#;p}" "$mod"
  } >"$out/src/go.mod"
  install -m 644 "$dir/go.sum" "$out/src/go.sum"
  local manager=$module
  [ $root = core ] && manager=$module/core
  (cd "$out/src" && go build -mod=mod -trimpath -ldflags "$flags" -o "$out/bin/capi-manager" "$manager")
  (cd "$out/src" && go build -mod=mod -trimpath -ldflags "$flags" -o "$out/bin/clusterctl" "$module/cmd/clusterctl")
  kubectl kustomize "$dir/$root/config/default" >"$out/core-components.yaml"
  install -m 644 "$dir/metadata.yaml" "$out/metadata.yaml"
}

build_helm() {
  require_module "$1/src" helm.sh/helm/v3/cmd/helm "$HELM_VERSION"
  (cd "$1/src" && go build -mod=mod -trimpath -ldflags '-s -w' -o "$1/bin/helm" helm.sh/helm/v3/cmd/helm)
}

# OpenTofu replaces some modules with its own; Go honours that only in a main module, so ours repeats it.
build_tofu() {
  local src=$1/src module=github.com/opentofu/opentofu mod dir
  mod=$(module_info "$module@$TOFU_VERSION" GoMod)
  dir=$(module_info "$module@$TOFU_VERSION" Dir)
  {
    echo 'module tofu.local/build'
    grep -m1 '^go ' "$mod"
    grep '^godebug ' "$mod" || true
    echo "require $module $TOFU_VERSION"
    awk '/^require \(/{on=1;next} on&&/^\)/{on=0} on&&$1!~/^\/\//&&NF>=2{print "require " $1 " " $2}' "$mod"
    sed -nE '/^replace [^(]+ => [^.]/p' "$mod"
  } >"$src/go.mod"
  install -m 644 "$dir/go.sum" "$src/go.sum"
  (cd "$src" && go build -mod=mod -trimpath -ldflags "-s -w -X $module/version.dev=no" -o "$1/bin/tofu" "$module/cmd/tofu")
}

build_promtool() {
  require_module "$1/src" github.com/prometheus/prometheus/cmd/promtool "$PROMETHEUS_VERSION"
  (cd "$1/src" && go build -mod=mod -trimpath -ldflags '-s -w' -o "$1/bin/promtool" github.com/prometheus/prometheus/cmd/promtool)
}

mkdir -p "$CACHE"
command -v flock >/dev/null || die "flock is missing (package util-linux); it keeps two builds apart"
exec 9>"$CACHE/lock"
flock -n 9 || { say "another build is at work in $CACHE; waiting for it"; flock 9; }

for component in "$@"; do
  case $component in
    etcd) build "etcd-$ETCD_VERSION" build_etcd ;;
    etcd-tools) build "etcd-tools-$ETCD_VERSION" build_etcd_tools ;;
    kube) build "kube-$KUBE_VERSION" build_kube ;;
    capi-*) build "$component" build_capi ;;
    helm) build "helm-$HELM_VERSION" build_helm ;;
    tofu) build "tofu-$TOFU_VERSION" build_tofu ;;
    promtool) build "promtool-$PROMETHEUS_VERSION" build_promtool ;;
    *) die "unknown component $component" ;;
  esac
done
