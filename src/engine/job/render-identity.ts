// Who a run is towards the API: an account, and a role for each namespace that names the objects of one workspace and
// nothing else. `create` of a name that is not known yet cannot be limited to names, so a run writes by server-side apply,
// whose address has the name; the role allows `create` for the same names.
import { type AnyObject, keyText, LeaseKind, RoleBindingKind, RoleKind, SecretKind, toKey } from '#api'
import {
  ALL_SLOTS,
  backupName,
  bundleName,
  KEEP_FINALIZER,
  leaseName,
  planName,
  recordName,
  runCopyName,
  STATE_PARTS,
  slotName,
  stateNames,
  suffixOf,
  WORKSPACE_LABEL,
} from '../names.ts'
import type { Owner } from '../owner.ts'
import type { RunRecord } from '../record/record.ts'
import type { ObjectKey } from '../workspace.ts'
import { APPLY_ANNOTATION } from './render-job.ts'

export interface IdentityInput {
  readonly owner: Owner
  /** Where the account and the token live: beside the run's Secret. */
  readonly runNamespace: string
  /** Names things that were stored by another engine, under names of their own. */
  readonly record: RunRecord
  readonly connectionSecret?: ObjectKey | undefined
  /** Name of the apply whose state a speculative run reads. */
  readonly speculativeFor?: string | undefined
}

interface Identity {
  readonly account: AnyObject
  /** A Role and its RoleBinding for each namespace. */
  readonly grants: readonly { readonly role: AnyObject; readonly binding: AnyObject }[]
}

/** On the account: namespaces beside that of the apply which have a role for it. */
export const ROLES_ANNOTATION = 'capt.appthrust.com/role-namespaces'

/** On the account: the Secret that outputs are written to, `namespace/name`. */
const CONNECTION_ANNOTATION = 'capt.appthrust.com/connection-secret'

export function connectionOfAccount(account: AnyObject | undefined): ObjectKey | undefined {
  const { namespace, name } = toKey(account?.metadata.annotations?.[CONNECTION_ANNOTATION] ?? '')
  return namespace === undefined ? undefined : { namespace, name }
}

export const identityName = (suffix: string): string => `capt-workspace-${suffix}`

export function renderIdentity(input: IdentityInput): Identity {
  const { owner, runNamespace, record, connectionSecret, speculativeFor } = input
  const suffix = suffixOf(owner)
  const name = identityName(suffix)
  const labels = { 'app.kubernetes.io/managed-by': 'capt', [WORKSPACE_LABEL]: suffix }
  const isNear = connectionSecret?.namespace === owner.namespace
  const own = [
    rule('', SecretKind.plural, SECRET_VERBS, [
      ...fixedNames(suffix),
      ...named(suffix, record),
      ...(connectionSecret && isNear ? [connectionSecret.name] : []),
    ]),
    ...(speculativeFor === undefined
      ? []
      : [rule('', SecretKind.plural, ['get'], fixedNames(suffixOf({ ...owner, name: speculativeFor })))]),
    rule('coordination.k8s.io', LeaseKind.plural, ['get', 'create', 'update', 'patch'], [leaseName(suffix)]),
    ...(owner.cluster === undefined ? [] : [rule('cluster.x-k8s.io', 'clusters', ['get'], [owner.cluster])]),
  ]
  const far =
    connectionSecret && !isNear
      ? [{ namespace: connectionSecret.namespace, rules: [rule('', 'secrets', FAR_VERBS, [connectionSecret.name])] }]
      : []
  const account: AnyObject = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: {
      namespace: runNamespace,
      name,
      labels,
      annotations: {
        [APPLY_ANNOTATION]: `${owner.namespace}/${owner.name}`,
        [ROLES_ANNOTATION]: far.map(({ namespace }) => namespace).join(','),
        ...(connectionSecret ? { [CONNECTION_ANNOTATION]: keyText(connectionSecret) } : {}),
      },
    },
    automountServiceAccountToken: false,
  } as AnyObject
  const grants = [{ namespace: owner.namespace, rules: own }, ...far].map(({ namespace, rules }) => {
    // A namespace that is being deleted keeps them until the workspace is gone.
    const metadata = { namespace, name, labels, finalizers: [KEEP_FINALIZER] }
    const group = RoleKind.group
    return {
      role: { apiVersion: `${group}/v1`, kind: RoleKind.kind, metadata, rules } as AnyObject,
      binding: {
        apiVersion: `${group}/v1`,
        kind: RoleBindingKind.kind,
        metadata,
        roleRef: { apiGroup: group, kind: RoleKind.kind, name },
        subjects: [{ kind: 'ServiceAccount', name, namespace: runNamespace }],
      } as AnyObject,
    }
  })
  return { account, grants }
}

/** Reading and writing what is kept, and taking it away; never a list. */
const SECRET_VERBS = ['get', 'create', 'patch', 'delete']
/** A Secret of another namespace exists already, and is its owner's to delete. */
const FAR_VERBS = ['get', 'patch']

const rule = (group: string, resource: string, verbs: readonly string[], resourceNames: readonly string[]) => ({
  apiGroups: [group],
  resources: [resource],
  resourceNames: [...new Set(resourceNames)],
  verbs,
})

/** Two more parts may be read than written: a read of the state looks beyond a gap. */
const READ_BEYOND = 2

/** What every workspace has. The slots also hold the versions of its providers, which a speculative run reads. */
const fixedNames = (suffix: string): readonly string[] => [
  recordName(suffix),
  ...stateNames(suffix, STATE_PARTS + READ_BEYOND),
  ...ALL_SLOTS.map((slot) => slotName(suffix, slot)),
]

/** What lies under a name made from its content: a run of the engine `local` stored it. */
function named(suffix: string, record: RunRecord): readonly string[] {
  const { bundle, spare = [], plan, backups, pending = [], side = [] } = record
  const each = (parts: number, nameOf: (part: number) => string) =>
    Array.from({ length: parts }, (_, part) => nameOf(part))
  return [
    ...[bundle, ...spare].flatMap((ref) =>
      ref && !ref.slots ? each(ref.parts, (part) => bundleName(suffix, ref.id, part)) : [],
    ),
    ...(plan && !plan.slots ? each(plan.parts, (part) => planName(suffix, plan.id, part)) : []),
    ...[...backups, ...pending, ...side].flatMap((ref) => {
      if (ref.slots) return []
      const { serial, run } = ref
      // One more: a copy is read until it is whole.
      return each(ref.parts + 1, (part) =>
        run === undefined ? backupName(suffix, serial, part) : runCopyName(suffix, serial, run, part),
      )
    }),
  ]
}
