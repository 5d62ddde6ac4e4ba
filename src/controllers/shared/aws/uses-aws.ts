// Whether the runs of a template reach AWS: a simulated one is made without credentials.
import { allowsNamespace, type Key, type ObjectRef, WorkspaceTemplate } from '#api'
import type { Cache } from '#kube'

/** A template that may not be read from this namespace does not run either. */
export function usesAws(cache: Cache, ref: ObjectRef, namespace: string): boolean | 'missing' {
  const key: Key = { namespace: ref.namespace ?? namespace, name: ref.name }
  const template = cache.get<WorkspaceTemplate>(WorkspaceTemplate, key)
  if (!template) return 'missing'
  if (!allowsNamespace(template, namespace)) return false
  const { source, module } = template.spec.template.spec.forProvider
  return source === 'Remote' || NAMES_AWS.test(module)
}

/** `provider "aws"`, `resource "aws_vpc"`, `"hashicorp/aws"`, `"terraform-aws-modules/eks/aws//modules/karpenter"` */
const NAMES_AWS = /["/]aws(_[a-z0-9_]+)?["/]/
