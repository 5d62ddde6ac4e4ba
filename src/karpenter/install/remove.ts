// Removes one thing that the journal says capt made, if it is still there and still capt's.
import { type ConfigMap, ConfigMapKind, NamespaceKind } from '#api'
import {
  deleteAccessEntry,
  deleteAssociation,
  deleteInlinePolicy,
  deleteInstanceProfile,
  deleteQueue,
  deleteRole,
  deleteRule,
  detachPolicy,
  listAssociations,
  readInstanceProfile,
  readQueue,
  readRole,
  readRule,
  removeTag,
} from '#aws'
import { CaptError } from '#lib'
import type { ResourceRef } from '../journal.ts'
import { getOne, MANAGED_LABEL } from '../kinds.ts'
import { OWNER_TAG } from '../plan/observe.ts'
import { removeFlux } from './flux.ts'
import { dropNodeRole } from './make.ts'
import { removeDefinition } from './release.ts'
import type { Site } from './site.ts'

type Tagged = { readonly tags: Readonly<Record<string, string>> } | undefined

/** Pools, classes and the release go before, in the order of a teardown. */
export async function remove(ref: ResourceRef, site: Site): Promise<void> {
  const { aws, cluster, objects } = site
  const { name, of = '', value = '' } = ref
  const ours = (found: Tagged) => found?.tags[OWNER_TAG] === cluster.name
  switch (ref.type) {
    case 'node-role':
    case 'controller-role': {
      const role = await readRole(aws, name)
      if (!role || !ours(role)) return
      const [foreign] = [...role.attached, ...Object.keys(role.inline)]
      if (foreign !== undefined)
        throw new CaptError(
          'CAPT_KARPENTER_FOREIGN',
          `role ${name} holds the policy ${foreign}, which capt did not put there`,
          {
            hint: 'remove that policy from the role if nothing else needs it',
          },
        )
      return await deleteRole(aws, name)
    }
    case 'attached-policy':
      return await detachPolicy(aws, of, name)
    case 'inline-policy':
      return await deleteInlinePolicy(aws, of, name)
    case 'instance-profile':
      return ours(await readInstanceProfile(aws, name)) ? await deleteInstanceProfile(aws, name) : undefined
    case 'queue':
      return ours(await readQueue(aws, name)) ? await deleteQueue(aws, name) : undefined
    case 'rule':
      return ours(await readRule(aws, name)) ? await deleteRule(aws, name) : undefined
    case 'access-entry':
      return await deleteAccessEntry(aws, cluster.name, name)
    case 'association':
      for (const one of await listAssociations(aws, cluster.name))
        if (`${one.namespace}/${one.serviceAccount}` === name && one.roleArn === of)
          await deleteAssociation(aws, cluster.name, one.id)
      return
    case 'tag':
      return await removeTag(aws, name, of, value)
    case 'aws-auth':
      return (await objects.get<ConfigMap>(ConfigMapKind, { namespace: 'kube-system', name: 'aws-auth' }))
        ? await dropNodeRole(site, name)
        : undefined
    case 'namespace': {
      const namespace = await getOne(objects, NamespaceKind, { name })
      if (namespace?.metadata.labels?.[MANAGED_LABEL] === 'made') await objects.delete(NamespaceKind, { name })
      return
    }
    case 'definition':
      return await removeDefinition(name, site)
    case 'flux':
      return await removeFlux(site)
    case 'spot-role':
    case 'release':
    case 'node-class':
    case 'node-pool':
    case 'autoscaler':
    case 'node-group-size':
      return
  }
}
