#!/bin/sh
# Speaks to the cluster's API where Terraform cannot: one entry of aws-auth, and the question whether NodePools or
# NodeClaims are left. POSIX sh, sed and awk only.
#
#   cluster.sh aws-auth-add | aws-auth-remove | gate | drained
#
# Environment: ENDPOINT, CA_DATA (base64), CLUSTER_NAME, REGION, ROLE_ARN (aws-auth only), OWN_POOL (the pool that the module
# removes itself), DRAIN_SECONDS and POLL_SECONDS (drained only).
# The token is AUTH_TOKEN, else KUBE_TOKEN, else signed by `aws eks get-token`; it never becomes an argument of a process.
set -eu

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT INT TERM
printf '%s' "${CA_DATA:-}" | base64 -d >"$WORK/ca.crt" 2>/dev/null || true

token() {
  if [ -n "${AUTH_TOKEN:-${KUBE_TOKEN:-}}" ]; then
    printf '%s' "${AUTH_TOKEN:-$KUBE_TOKEN}"
    return
  fi
  aws --region "$REGION" eks get-token --cluster-name "$CLUSTER_NAME" --output json |
    sed -n 's/.*"token": *"\([^"]*\)".*/\1/p'
}

TOKEN=$(token)
[ -n "$TOKEN" ] || {
  echo "No token for cluster $CLUSTER_NAME: check that 'aws eks get-token' works, or set KUBE_TOKEN." >&2
  exit 1
}

# request METHOD PATH [BODY]: answers in $WORK/body, prints the HTTP status; 000 when nobody answered.
request() {
  set -- "$1" "$2" "${3:-}"
  {
    printf 'header = "Authorization: Bearer %s"\n' "$TOKEN"
    printf 'url = "%s%s"\n' "${ENDPOINT%/}" "$2"
  } >"$WORK/request"
  chmod 600 "$WORK/request"
  : >"$WORK/body"
  if [ -n "$3" ]; then printf '%s' "$3" >"$WORK/patch"; fi
  curl --silent --show-error --max-time 30 --config "$WORK/request" --request "$1" \
    ${CA_DATA:+--cacert "$WORK/ca.crt"} --output "$WORK/body" --write-out '%{http_code}' \
    ${3:+--header 'Content-Type: application/merge-patch+json' --data-binary "@$WORK/patch"} 2>"$WORK/error" || true
}

give_up() {
  echo "$1" >&2
  [ -s "$WORK/error" ] && cat "$WORK/error" >&2
  exit 1
}

# The string stays in JSON's own escapes from reading to writing, so what others wrote cannot change.
# Basic regular expressions have no alternation, so awk reads it.
map_roles() {
  LC_ALL=C awk '{
    if (match($0, /"mapRoles":"([^"\\]|\\.)*"/)) { print substr($0, RSTART + 12, RLENGTH - 13); exit }
  }' "$WORK/body"
}
has_map_roles() { grep -q '"mapRoles":"[^"]' "$WORK/body"; }
resource_version() { sed -n 's/.*"resourceVersion":"\([^"]*\)".*/\1/p' "$WORK/body"; }
ENTRY="- groups:\\n  - system:bootstrappers\\n  - system:nodes\\n  rolearn: ${ROLE_ARN:-}\\n  username: system:node:{{EC2PrivateDNSName}}\\n"
CONFIG_MAP=/api/v1/namespaces/kube-system/configmaps/aws-auth

aws_auth() {
  case "$ROLE_ARN" in
  *:role/*/*) give_up "aws-auth never matches a role with a path: $ROLE_ARN" ;;
  esac
  attempt=0
  while [ "$attempt" -lt 5 ]; do
    attempt=$((attempt + 1))
    status=$(request GET "$CONFIG_MAP?pretty=false")
    [ "$1" = remove ] && [ "$status" = 404 ] && return 0
    [ "$status" = 200 ] || give_up "Reading aws-auth of $CLUSTER_NAME failed with status $status."
    roles=$(map_roles)
    # Entries of others are never replaced by ours because they could not be read.
    if [ -z "$roles" ] && has_map_roles; then give_up "mapRoles in aws-auth of $CLUSTER_NAME cannot be read; nothing was changed."; fi
    version=$(resource_version)
    next=$("edit_$1" "$roles")
    [ "$next" = "$roles" ] && return 0
    status=$(request PATCH "$CONFIG_MAP" "{\"metadata\":{\"resourceVersion\":\"$version\"},\"data\":{\"mapRoles\":\"$next\"}}")
    case "$status" in
    200) return 0 ;;
    409) sleep 1 ;;
    *) give_up "Writing aws-auth of $CLUSTER_NAME failed with status $status." ;;
    esac
  done
  give_up "aws-auth of $CLUSTER_NAME kept changing; try again."
}

# The text may lack a line break at its end; an entry must begin on a line of its own.
edit_add() {
  case "$1" in
  *"rolearn: $ROLE_ARN\\n"* | *"rolearn: $ROLE_ARN") printf '%s' "$1" ;;
  '' | *\\n) printf '%s%s' "$1" "$ENTRY" ;;
  *) printf '%s\\n%s' "$1" "$ENTRY" ;;
  esac
}

edit_remove() {
  case "$1" in
  *"$ENTRY"*) printf '%s%s' "${1%%"$ENTRY"*}" "${1#*"$ENTRY"}" ;;
  *"$ROLE_ARN"*)
    echo "The entry of $ROLE_ARN in aws-auth was changed by someone and is left alone." >&2
    printf '%s' "$1"
    ;;
  *) printf '%s' "$1" ;;
  esac
}

# left KIND PATH [QUERY]: sets held=true and says why while objects of the kind exist, or nobody can say.
left() {
  status=$(request GET "/apis/$2?pretty=false${3:-}")
  if [ "$status" = 404 ]; then return 0; fi
  if [ "$status" != 200 ]; then
    held=true
    echo "The API of $CLUSTER_NAME did not say whether $1s exist (status $status)." >&2
    return 0
  fi
  count=$(LC_ALL=C awk -v kind="\"kind\":\"$1\"" '{ n += gsub(kind, "") } END { print n + 0 }' "$WORK/body")
  [ "$count" -gt 0 ] || return 0
  held=true
  # A NodeClaim also names its class and its owner, so only NodePools are listed by name.
  names=$count
  if [ "$1" = NodePool ]; then names=$(tr '{' '\n' <"$WORK/body" | sed -n 's/.*"name":"\([^"]*\)".*/\1/p' | sort -u); fi
  echo "$1s still exist in $CLUSTER_NAME:" $names >&2
}

is_forced() {
  [ "${KARPENTER_FORCE_DESTROY:-}" = true ] || return 1
  echo "Going on: instances with the tag kubernetes.io/cluster/$CLUSTER_NAME=owned and karpenter.sh/nodepool are left behind." >&2
}

# A NodePool that is gone may have left NodeClaims that still drain: their instances run until they are done. The pool of the
# module goes after this, and `drained` waits for its machines.
gate() {
  held=
  if [ -n "${OWN_POOL:-}" ]; then
    left NodePool karpenter.sh/v1/nodepools "&fieldSelector=metadata.name%21%3D$OWN_POOL"
  else
    left NodePool karpenter.sh/v1/nodepools
    left NodeClaim karpenter.sh/v1/nodeclaims
  fi
  [ -n "$held" ] || return 0
  if is_forced; then return 0; fi
  echo "Delete them and wait until no NodeClaim is left: kubectl delete nodepools --all && kubectl wait --for=delete nodeclaims --all" >&2
  echo "Nothing was destroyed. KARPENTER_FORCE_DESTROY=true goes on and leaves their instances running." >&2
  exit 1
}

# After the pool of the module was deleted: its machines and its class need the controller to end, so it must not go before.
drained() {
  waited=0
  while :; do
    held=
    {
      left NodePool karpenter.sh/v1/nodepools
      left NodeClaim karpenter.sh/v1/nodeclaims
      left EC2NodeClass karpenter.k8s.aws/v1/ec2nodeclasses "&fieldSelector=metadata.name%3D${OWN_POOL:-default}"
    } 2>"$WORK/held"
    [ -n "$held" ] || return 0
    if is_forced; then return 0; fi
    [ "$waited" -lt "${DRAIN_SECONDS:-1800}" ] || break
    sleep "${POLL_SECONDS:-5}"
    waited=$((waited + ${POLL_SECONDS:-5}))
  done
  cat "$WORK/held" >&2
  echo "The pool is deleted, and its machines did not end in time: look for PodDisruptionBudgets and karpenter.sh/do-not-disrupt." >&2
  echo "Karpenter was not touched. Destroy again to go on; KARPENTER_FORCE_DESTROY=true leaves the machines behind." >&2
  exit 1
}

case "${1:-}" in
aws-auth-add) aws_auth add ;;
aws-auth-remove) aws_auth remove ;;
gate) gate ;;
drained) drained ;;
*)
  echo "usage: cluster.sh aws-auth-add | aws-auth-remove | gate | drained" >&2
  exit 2
  ;;
esac
