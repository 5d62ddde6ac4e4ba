// Adds the cluster, user and context of one kubeconfig to another under one name. Everything else stays as it is. Pure.
import { CaptError, isPlainObject } from '#lib'

interface Named {
  readonly name: string
  readonly [field: string]: unknown
}

export interface Kubeconfig {
  readonly [field: string]: unknown
  readonly clusters?: readonly Named[]
  readonly users?: readonly Named[]
  readonly contexts?: readonly Named[]
  readonly 'current-context'?: string
}

/** `added` has one context. A name that stands for another server is refused. */
export function mergeKubeconfig(into: Kubeconfig, added: Kubeconfig, name: string): Kubeconfig {
  const cluster = { ...added.clusters?.[0], name }
  const user = { ...added.users?.[0], name }
  const inner = added.contexts?.[0]?.['context']
  const context = { name, context: { ...(isPlainObject(inner) ? inner : {}), cluster: name, user: name } }
  const taken = into.clusters?.find((one) => one.name === name)
  if (taken && serverOf(taken) !== serverOf(cluster))
    throw new CaptError('CAPT_KUBECONFIG_NAME_TAKEN', `The kubeconfig has another cluster named ${name}`, {
      hint: 'give this one another name: --name NAME',
    })
  return {
    apiVersion: 'v1',
    kind: 'Config',
    ...into,
    clusters: replaced(into.clusters, cluster),
    users: replaced(into.users, user),
    contexts: replaced(into.contexts, context),
    'current-context': into['current-context'] || name,
  }
}

const serverOf = ({ cluster }: Named): unknown => (isPlainObject(cluster) ? cluster['server'] : undefined)

function replaced(all: readonly Named[] | undefined, one: Named): readonly Named[] {
  const list = all ?? []
  return list.some(({ name }) => name === one.name)
    ? list.map((old) => (old.name === one.name ? one : old))
    : [...list, one]
}
