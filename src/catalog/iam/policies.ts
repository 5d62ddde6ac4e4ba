// The controller policy for one Karpenter version: one inline policy under IAM's limit for a role. The limit is checked
// here, not by AWS half way through an apply.
import { CaptError } from '#lib'
import { isAtLeast } from '../version.ts'
import { eksIntegration, iamIntegration, interruption, resourceDiscovery, zonalShift } from './policy-integrations.ts'
import { nodeLifecycle, type PolicyScope, type Statement } from './policy-statements.ts'

/** Characters without whitespace of all inline policies of one role together. */
export const INLINE_POLICY_LIMIT = 10_240

interface PolicyDocument {
  readonly Version: '2012-10-17'
  readonly Statement: readonly Statement[]
}

const OLDEST = '0.32.0'

function statementsFor(version: string, scope: PolicyScope): readonly Statement[] {
  if (!isAtLeast(version, OLDEST))
    throw new CaptError('CAPT_KARPENTER_TOO_OLD', `capt writes no controller policy for Karpenter ${version}`, {
      hint: `versions before ${OLDEST} are only a place to come from; choose one from capt matrix`,
    })
  return [
    ...nodeLifecycle(version, scope),
    ...iamIntegration(version, scope),
    ...eksIntegration(scope),
    ...interruption(scope),
    ...zonalShift(version, scope),
    ...resourceDiscovery(version, scope),
  ]
}

/** Everything in one document, for a role's inline policy. */
export function inlineControllerPolicy(version: string, scope: PolicyScope): PolicyDocument {
  const document = joinedPolicy(version, scope)
  const size = sizeOf(document)
  if (size <= INLINE_POLICY_LIMIT) return document
  throw new CaptError(
    'CAPT_POLICY_TOO_LARGE',
    `The controller policy for cluster ${scope.clusterName} has ${size} characters, the limit is ${INLINE_POLICY_LIMIT}`,
    {
      hint: 'use the split managed policies',
    },
  )
}

/** The same without checking the size: for templates whose names are filled in later. */
export function joinedPolicy(version: string, scope: PolicyScope): PolicyDocument {
  return { Version: '2012-10-17', Statement: statementsFor(version, scope) }
}

export function sizeOf(document: object): number {
  return JSON.stringify(document).replace(/\s/g, '').length
}
