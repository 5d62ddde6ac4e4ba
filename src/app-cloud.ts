// Where in AWS a workspace lives and with whose credentials, read from what its apply was told: the same words that its
// runs and the cluster's tokens use.
import type { WorkspaceTemplateApply } from '#api'
import type { AwsIdentity } from '#aws'
import { resolveIdentity } from '#controllers'
import type { Objects } from '#kube'

export interface AwsPlace {
  /** Undefined when the apply does not say. */
  readonly region: string | undefined
  readonly secretRef?: { readonly name: string; readonly namespace?: string }
  readonly roleArn?: string
  readonly externalId?: string
}

export function awsPlaceOf({ spec }: Pick<WorkspaceTemplateApply, 'spec'>): AwsPlace {
  const said = (name: string): string | undefined => {
    const value = spec.values?.[name] ?? spec.variables?.[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const roleArn = said('assume_role_arn')
  const externalId = said('assume_role_external_id')
  return {
    region: said('region') ?? said('aws_region'),
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
