// The RBAC manifests that are made from the table of grants and from the kinds, by their path in the repository.
import { Document, isMap, isScalar, isSeq, visit } from 'yaml'
import { ALL_KINDS, type Kind, providerOf } from '#api'
import { CODE_KINDS, type Grant, grantsOf, PARTS, type Part, RUN_GRANTS, VERBS } from './roles.ts'

const NAMESPACE = 'capt-system'
const LABELS = { 'app.kubernetes.io/name': 'capt' }
const NOTE = '# Generated from scripts/roles.ts by npm run generate. Do not edit.\n'
const API = { apiVersion: 'rbac.authorization.k8s.io/v1' }

/** Which parts of the manager each clusterctl provider runs. */
export const PROVIDER_PARTS = {
  infrastructure: ['infrastructure', 'addons'],
  'control-plane': ['control-plane'],
} as const satisfies Record<string, readonly Part[]>

export function roleFiles(): Map<string, string> {
  const files = new Map<string, string>()
  const name = 'manager-role'
  const metadata = { name, labels: LABELS }
  const home = { name, namespace: NAMESPACE, labels: LABELS }
  const everything = grantsOf(PARTS)
  files.set(
    'config/rbac/cluster/manager-role.yaml',
    toText([role('ClusterRole', metadata, everything), binding('ClusterRole', metadata)]),
  )
  for (const [provider, parts] of Object.entries(PROVIDER_PARTS))
    files.set(`config/${provider}/cluster/manager-role.yaml`, toText([role('ClusterRole', { name }, grantsOf(parts))]))
  files.set(
    'config/overlays/namespaced/manager-role.yaml',
    toText([role('Role', home, everything), binding('Role', home)]),
  )
  const runs = { ...home, name: 'run-role' }
  files.set('config/rbac/runs/run-role.yaml', toText([role('Role', runs, RUN_GRANTS.runs), binding('Role', runs)]))
  const identities = { name: 'run-identity-role', labels: LABELS }
  const nearby = { ...home, name: identities.name }
  files.set(
    'config/rbac/run-identities/run-identity-role.yaml',
    toText([role('ClusterRole', identities, RUN_GRANTS.applies), binding('ClusterRole', identities)]),
  )
  files.set(
    'config/overlays/namespaced/run-identity-role.yaml',
    toText([role('Role', nearby, RUN_GRANTS.applies), binding('Role', nearby)]),
  )
  files.set('config/rbac/cluster/people-roles.yaml', toText(ALL_KINDS.flatMap(peopleRoles)))
  return files
}

interface Text {
  readonly object: object
  /** One per rule, in order. */
  readonly whys?: readonly string[]
}

function role(kind: 'Role' | 'ClusterRole', metadata: object, grants: readonly Grant[]): Text {
  const rules = grants.map(({ apiGroup, resource, verbs }) => ({ apiGroups: [apiGroup], resources: [resource], verbs }))
  return { object: { ...API, kind, metadata, rules }, whys: grants.map(({ why }) => why) }
}

function binding(kind: 'Role' | 'ClusterRole', metadata: { readonly name: string; readonly namespace?: string }): Text {
  const { name } = metadata
  return {
    object: {
      ...API,
      kind: `${kind}Binding`,
      metadata: { ...metadata, name: `${name}binding` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [{ kind: 'ServiceAccount', name: 'capt-controller-manager', namespace: NAMESPACE }],
    },
  }
}

/**
 * Viewer and editor of a kind, added to the roles view, edit and admin that every cluster has. The editor of a kind that
 * carries code is bound by hand: nobody gets it with edit or admin.
 */
function peopleRoles(kind: Kind): readonly Text[] {
  const { group, plural, singular } = kind
  const make = (word: string, roles: readonly string[], verbs: readonly string[]): Text => ({
    object: {
      ...API,
      kind: 'ClusterRole',
      metadata: {
        name: `${singular}-${word}-role`,
        labels: {
          ...LABELS,
          'cluster.x-k8s.io/provider': providerOf(kind),
          ...Object.fromEntries(roles.map((to) => [`rbac.authorization.k8s.io/aggregate-to-${to}`, 'true'])),
        },
      },
      rules: [
        { apiGroups: [group], resources: [plural], verbs },
        ...(kind.status ? [{ apiGroups: [group], resources: [`${plural}/status`], verbs: ['get'] }] : []),
      ],
    },
  })
  return [
    make('viewer', ['view'], ['get', 'list', 'watch']),
    make('editor', Object.hasOwn(CODE_KINDS, kind.kind) ? [] : ['edit', 'admin'], VERBS),
  ]
}

function toText(texts: readonly Text[]): string {
  const documents = texts.map(({ object, whys = [] }) => {
    const document = new Document(object)
    const rules = document.get('rules')
    if (isSeq(rules))
      for (const [i, why] of whys.entries()) if (isMap(rules.items[i])) rules.items[i].commentBefore = ` ${why}`
    visit(document, {
      Seq(_key, list) {
        if (list.items.every(isScalar)) list.flow = true
      },
    })
    return document.toString({ lineWidth: 0, flowCollectionPadding: false })
  })
  return NOTE + documents.join('---\n')
}
