#!/usr/bin/env bash
# Builds the real components that `make test-real` runs against, out of the Go module proxy, once per version.
#
#   test/real/build.sh [COMPONENT...]      etcd kube capi-v1.14.2 capi-v1.10.10 helm (default: all)
#
# Everything lands in CAPT_REAL_CACHE (default: $XDG_CACHE_HOME or ~/.cache, folder capt-real), outside the repository,
# in folders named by version; a finished folder has a file `complete` and is not built again.
set -euo pipefail

KUBE_VERSION=v1.33.13
ETCD_VERSION=v3.6.16
HELM_VERSION=v3.19.5
CACHE=${CAPT_REAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/capt-real}
[ $# -gt 0 ] || set -- etcd kube capi-v1.14.2 capi-v1.10.10 helm

say() { printf 'build: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
command -v go >/dev/null || die "Go is missing; install Go 1.26 or newer, or point CAPT_REAL_CACHE at a folder that is already built"
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false
mkdir -p "$CACHE"
exec 9>"$CACHE/lock"
flock 9

module_info() { go mod download -json "$1" | sed -n "s/^\t\"$2\": \"\(.*\)\",\$/\1/p"; }

# $1 name, $2 function that builds into $1's folder
build() {
  local out=$CACHE/$1 started=$SECONDS
  [ -e "$out/complete" ] && return 0
  say "building $1 (this happens once)"
  mkdir -p "$out/bin" "$out/src"
  "$2" "$out"
  touch "$out/complete"
  say "built $1 in $((SECONDS - started)) s"
}

build_etcd() {
  local src=$1/src
  (cd "$src" && { [ -e go.mod ] || { go mod init etcd.local/build && go get "go.etcd.io/etcd/server/v3@$ETCD_VERSION"; } } 2>/dev/null)
  (cd "$src" && go build -mod=mod -trimpath -ldflags '-s -w' -o "$1/bin/etcd" go.etcd.io/etcd/server/v3)
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
  local out=$1 version=${1##*capi-} module=sigs.k8s.io/cluster-api mod dir root=. flags
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
  command -v kubectl >/dev/null || die "kubectl is missing; it renders core's manifests"
  kubectl kustomize "$dir/$root/config/default" >"$out/core-components.yaml"
  install -m 644 "$dir/metadata.yaml" "$out/metadata.yaml"
}

build_helm() {
  (cd "$1/src" && { [ -e go.mod ] || { go mod init helm.local/build && go get "helm.sh/helm/v3/cmd/helm@$HELM_VERSION"; } } 2>/dev/null)
  (cd "$1/src" && go build -mod=mod -trimpath -ldflags '-s -w' -o "$1/bin/helm" helm.sh/helm/v3/cmd/helm)
}

for component in "$@"; do
  case $component in
    etcd) build "etcd-$ETCD_VERSION" build_etcd ;;
    kube) build "kube-$KUBE_VERSION" build_kube ;;
    capi-*) build "$component" build_capi ;;
    helm) build "helm-$HELM_VERSION" build_helm ;;
    *) die "unknown component $component" ;;
  esac
done
