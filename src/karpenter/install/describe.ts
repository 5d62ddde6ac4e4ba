// One resource of an installation in words, and as the journal names it.
import type { ResourceRef } from '../journal.ts'

export const describe = ({ type, name }: Pick<ResourceRef, 'type' | 'name'>): string => `${WORDS[type]} ${name}`

export const toRef = ({ type, name, of, value }: ResourceRef): ResourceRef => ({
  type,
  name,
  ...(of === undefined ? {} : { of }),
  ...(value === undefined ? {} : { value }),
})

/** Every type in the words of its service. */
const WORDS: Readonly<Record<ResourceRef['type'], string>> = {
  flux: 'Flux in',
  'node-role': 'IAM role',
  'attached-policy': 'IAM attachment',
  'instance-profile': 'instance profile',
  queue: 'SQS queue',
  rule: 'EventBridge rule',
  'controller-role': 'IAM role',
  'inline-policy': 'IAM policy',
  'access-entry': 'EKS access entry',
  'aws-auth': 'aws-auth entry',
  association: 'Pod Identity association',
  tag: 'tag on',
  'spot-role': 'service-linked role',
  namespace: 'Namespace',
  definition: 'definition',
  release: 'release',
  'node-class': 'EC2NodeClass',
  'node-pool': 'NodePool',
  autoscaler: 'Cluster Autoscaler',
  'node-group-size': 'node group',
}
