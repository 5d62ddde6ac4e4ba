// The permissions that capt and its templates need, as one policy document for each part, so that an identity gets only
// the parts it uses. The preflight check of `capt doctor` asks for the same actions.
import { CLUSTER_TYPES } from './cluster-types.ts'
import { IDENTITY_TYPES } from './identity-types.ts'
import type { Need, Scope } from './need.ts'
import { NETWORK_TYPES } from './network-types.ts'
import { KARPENTER_CALLS, MANAGER_CALLS } from './own-calls.ts'
import { MODULE_TYPES, TEMPLATE_TYPES } from './templates.ts'

export interface NeededPolicy {
  readonly name: 'network' | 'cluster' | 'node-groups' | 'machines' | 'capt' | 'karpenter-existing'
  /** Who needs it. */
  readonly about: string
  readonly needs: readonly Need[]
}

export const TYPE_NEEDS: readonly Need[] = [...NETWORK_TYPES, ...CLUSTER_TYPES, ...IDENTITY_TYPES]

function needsOfTemplate(folder: string): readonly Need[] {
  const { types, modules } = TEMPLATE_TYPES[folder]!
  const used = new Set([...types, ...modules.flatMap((module) => MODULE_TYPES[module]!)])
  return TYPE_NEEDS.filter(({ of }) => used.has(of))
}

export const NEEDED_POLICIES: readonly NeededPolicy[] = [
  {
    name: 'network',
    about: 'runs of the template `vpc`; not needed in existing VPCs',
    needs: needsOfTemplate('vpc'),
  },
  {
    name: 'cluster',
    about: "runs of the template `eks-controlplane`: EKS, its first nodes, and Karpenter's roles and queue",
    needs: needsOfTemplate('eks-controlplane'),
  },
  { name: 'node-groups', about: 'runs of the template `node-group`', needs: needsOfTemplate('node-group') },
  { name: 'machines', about: 'runs of the template `machine`', needs: needsOfTemplate('machine') },
  { name: 'capt', about: 'the manager, `capt up` and `capt doctor`', needs: MANAGER_CALLS },
  {
    name: 'karpenter-existing',
    about: '`capt karpenter` on a cluster that capt did not make',
    needs: KARPENTER_CALLS,
  },
]

export interface ScopedActions extends Scope {
  readonly actions: readonly string[]
}

/** The actions of these policies, once for each scope; unrestricted ones first. */
export function neededActions(names: readonly NeededPolicy['name'][]): readonly ScopedActions[] {
  return byScope(NEEDED_POLICIES.filter(({ name }) => names.includes(name)).flatMap(({ needs }) => needs))
}

function byScope(needs: readonly Need[]): readonly ScopedActions[] {
  const scopes = new Map<string, { scope: Scope; actions: Set<string> }>()
  for (const { actions, resources, condition } of needs) {
    const scope = { ...(resources ? { resources } : {}), ...(condition ? { condition } : {}) }
    const key = JSON.stringify(scope)
    const found = scopes.get(key) ?? { scope, actions: new Set() }
    for (const action of actions) found.actions.add(action)
    scopes.set(key, found)
  }
  return [...scopes]
    .sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1))
    .map(([, { scope, actions }]) => ({ ...scope, actions: [...actions].sort() }))
    .filter(({ actions }) => actions.length > 0)
}

interface PolicyDocument {
  readonly Version: '2012-10-17'
  readonly Statement: readonly {
    readonly Effect: 'Allow'
    readonly Action: readonly string[]
    readonly Resource: readonly string[]
    readonly Condition?: Scope['condition']
  }[]
}

export function neededPolicy(name: NeededPolicy['name']): PolicyDocument {
  return {
    Version: '2012-10-17',
    Statement: neededActions([name]).map(({ actions, resources = ['*'], condition }) => ({
      Effect: 'Allow',
      Action: actions,
      Resource: resources,
      ...(condition ? { Condition: condition } : {}),
    })),
  }
}
