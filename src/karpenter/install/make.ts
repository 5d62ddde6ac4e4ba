// Makes or changes one resource of an installation. Each of these may be repeated: what is there already is no error.
import { type ConfigMap, ConfigMapKind, NamespaceKind } from '#api'
import {
  addRoleToProfile,
  addTag,
  attachPolicy,
  createAccessEntry,
  createAssociation,
  createInstanceProfile,
  createQueue,
  createRole,
  deleteAssociation,
  isAwsError,
  listAssociations,
  putInlinePolicy,
  putRule,
  readInstanceProfile,
  setQueuePolicy,
  updateTrust,
} from '#aws'
import { CaptError, createBackoff, pause } from '#lib'
import { EC2NodeClassKind, MANAGED_LABEL, NodePoolKind } from '../kinds.ts'
import { addNodeRole, removeNodeRole } from '../plan/aws-auth.ts'
import { OWNER_TAG } from '../plan/observe.ts'
import type { Step } from '../plan/plan.ts'
import { bringFlux } from './flux.ts'
import type { Site } from './site.ts'

/** Everything but the release, which has a procedure of its own. */
export async function make({ resource, do: action }: Step, site: Site): Promise<void> {
  const { aws, cluster, objects } = site
  const { name, of = '', value = '', desired = {} } = resource
  const tags = { [OWNER_TAG]: cluster.name }
  const isNew = action === 'create'
  switch (resource.type) {
    case 'node-role':
    case 'controller-role':
      return isNew ? await createRole(aws, name, desired, tags) : await updateTrust(aws, name, desired)
    case 'attached-policy':
      return await attachPolicy(aws, of, name)
    case 'inline-policy':
      return await putInlinePolicy(aws, of, name, desired)
    case 'instance-profile':
      if (isNew) await createInstanceProfile(aws, name, tags)
      if ((await readInstanceProfile(aws, name))?.roles.length === 0) await addRoleToProfile(aws, name, of)
      return
    case 'queue':
      return isNew ? await createQueue(aws, name, desired, tags) : await setQueuePolicy(aws, name, desired)
    case 'rule': {
      const { description, pattern } = desired as { description: string; pattern: object }
      // EventBridge takes tags of new rules alone.
      return await putRule(aws, name, { description, pattern, queueArn: of }, isNew ? tags : {})
    }
    case 'access-entry':
      return await onceKnown(site, () => createAccessEntry(aws, cluster.name, name, tags))
    case 'association': {
      const [namespace = '', serviceAccount = ''] = name.split('/')
      if (!isNew)
        for (const one of await listAssociations(aws, cluster.name))
          if (`${one.namespace}/${one.serviceAccount}` === name) await deleteAssociation(aws, cluster.name, one.id)
      return await onceKnown(site, () =>
        createAssociation(aws, cluster.name, { namespace, serviceAccount, roleArn: of, tags }),
      )
    }
    case 'tag':
      return await addTag(aws, name, of, value)
    case 'spot-role':
      return void (await aws.query('iam', 'CreateServiceLinkedRole', { AWSServiceName: 'spot.amazonaws.com' }))
    case 'aws-auth':
      return await editMapRoles(site, (text) => addNodeRole(text, name))
    case 'namespace':
      return void (await objects.apply(NamespaceKind, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, labels: { [MANAGED_LABEL]: 'made' } },
      }))
    case 'node-class':
    case 'node-pool': {
      const kind = resource.type === 'node-pool' ? NodePoolKind : EC2NodeClassKind
      const { metadata, spec } = desired as {
        metadata: { name: string; labels?: Record<string, string> }
        spec: Record<string, unknown>
      }
      // An upgrade changes the image alone: everything else may have been edited since.
      if (!isNew)
        return void (await objects.patch(
          kind,
          { name },
          { type: 'merge', body: { spec: { amiSelectorTerms: spec['amiSelectorTerms'] } } },
        ))
      const labels = { ...metadata.labels, [MANAGED_LABEL]: 'made' }
      return void (await objects.create(kind, {
        apiVersion: `${kind.group}/${kind.version}`,
        kind: kind.kind,
        metadata: { ...metadata, labels },
        spec,
      } as never))
    }
    case 'flux':
      return await bringFlux(value, site)
    case 'definition':
      // The chart brings it.
      return
    case 'release':
    case 'autoscaler':
    case 'node-group-size':
      throw new Error(`a ${resource.type} has a procedure of its own`)
  }
}

const SETTLE_ATTEMPTS = 8

/** EKS learns of a new role seconds after IAM made it, and refuses it until then. */
async function onceKnown({ clock, signal }: Site, call: () => Promise<void>): Promise<void> {
  const backoff = createBackoff({ baseMs: 500, maxMs: 5000, random: Math.random })
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isUnsettled = isAwsError(error) && error.awsCode === 'InvalidParameterException'
      if (!isUnsettled || backoff.failures + 1 >= SETTLE_ATTEMPTS) throw error
      await pause(clock, backoff.next(), signal)
    }
  }
}

/** Refused with a conflict when somebody else edits aws-auth at the same time; then the command is run again. */
async function editMapRoles({ objects }: Site, edit: (text: string) => string): Promise<void> {
  const key = { namespace: 'kube-system', name: 'aws-auth' }
  const map = await objects.get<ConfigMap>(ConfigMapKind, key)
  if (!map)
    throw new CaptError('CAPT_KARPENTER_ACCESS', 'ConfigMap kube-system/aws-auth is gone', {
      hint: 'restore it: without it the nodes of managed groups cannot join either',
    })
  const before = map.data?.['mapRoles'] ?? ''
  const after = edit(before)
  if (after !== before)
    await objects.replace<ConfigMap>(ConfigMapKind, { ...map, data: { ...map.data, mapRoles: after } })
}

export const dropNodeRole = async (site: Site, arn: string): Promise<void> =>
  await editMapRoles(site, (text) => removeNodeRole(text, arn))
