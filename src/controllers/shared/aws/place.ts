// Where in AWS a workspace is and with whose credentials, read from the variables of its apply: the same that its runs
// and the tokens of the cluster use.
import type { WorkspaceTemplateApply } from '#api'
import type { AwsIdentity } from '#aws'
import type { Objects } from '#kube'
import { resolveIdentity } from '../../control-plane/identity.ts'

interface AwsPlace {
  /** Undefined when the apply does not set one. */
  readonly region: string | undefined
  readonly secretRef?: { readonly name: string; readonly namespace?: string }
  readonly roleArn?: string
  readonly externalId?: string
}

export function awsPlaceOf({ spec }: Pick<WorkspaceTemplateApply, 'spec'>): AwsPlace {
  const variable = (name: string): string | undefined => {
    const value = spec.values?.[name] ?? spec.variables?.[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const roleArn = variable('assume_role_arn')
  const externalId = variable('assume_role_external_id')
  return {
    region: variable('region') ?? variable('aws_region'),
    ...(spec.credentialsRef ? { secretRef: spec.credentialsRef } : {}),
    ...(roleArn === undefined ? {} : { roleArn }),
    ...(externalId === undefined ? {} : { externalId }),
  }
}

/** The Secret is read each time, so that a rotated key is picked up. */
export async function identityAt(objects: Objects, place: AwsPlace, namespace: string): Promise<AwsIdentity> {
  const { region: _region, ...identity } = place
  return await resolveIdentity(objects, Object.keys(identity).length > 0 ? identity : undefined, namespace)
}
