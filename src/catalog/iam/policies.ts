// Controller policy documents for one Karpenter version: split into parts under IAM's limit for managed policies,
// or joined into one inline policy under the limit for a role. The limit is checked here, not by AWS half way through an apply.
import { CaptError } from '#lib'
import { partitionOf } from '../partitions.ts'
import { isAtLeast } from '../version.ts'
import { eksIntegration, iamIntegration, interruption, resourceDiscovery, zonalShift } from './policy-integrations.ts'
import { nodeLifecycle, type PolicyPart, type PolicyScope, type Statement } from './policy-statements.ts'

/** Characters without whitespace. */
export const MANAGED_POLICY_LIMIT = 6_144
/** All inline policies of one role together. */
export const INLINE_POLICY_LIMIT = 10_240

interface PolicyDocument {
  readonly Version: '2012-10-17'
  readonly Statement: readonly Statement[]
}

interface ControllerPolicy {
  readonly part: PolicyPart
  readonly document: PolicyDocument
  readonly size: number
}

const OLDEST = '0.32.0'

function parts(version: string, scope: PolicyScope): readonly (readonly [PolicyPart, readonly Statement[]])[] {
  if (!isAtLeast(version, OLDEST))
    throw new CaptError('CAPT_KARPENTER_TOO_OLD', `capt writes no controller policy for Karpenter ${version}`, {
      hint: `versions before ${OLDEST} are only a place to come from; choose one from capt matrix`,
    })
  return [
    ['node-lifecycle', nodeLifecycle(version, scope)],
    ['iam-integration', iamIntegration(version, scope)],
    ['eks-integration', eksIntegration(scope)],
    ['interruption', interruption(scope)],
    ['zonal-shift', zonalShift(version, scope)],
    ['resource-discovery', resourceDiscovery(version, scope)],
  ]
}

/** One managed policy per part, each under 6,144 characters; a part that outgrows the limit is cut between statements. */
export function controllerPolicy(version: string, scope: PolicyScope): ControllerPolicy[] {
  partitionOf(scope.partition)
  return parts(version, scope).flatMap(([part, statements]) =>
    packs(statements).map((pack) => {
      const document = toDocument(pack)
      return { part, document, size: sizeOf(document) }
    }),
  )
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

/** The joined statements without checking partition or size: for templates whose names are filled in later. */
export function joinedPolicy(version: string, scope: PolicyScope): PolicyDocument {
  return toDocument(parts(version, scope).flatMap(([, statements]) => statements))
}

function packs(statements: readonly Statement[]): Statement[][] {
  const done: Statement[][] = []
  let open: Statement[] = []
  for (const statement of statements) {
    const grown = [...open, statement]
    if (open.length > 0 && sizeOf(toDocument(grown)) > MANAGED_POLICY_LIMIT) {
      done.push(open)
      open = [statement]
    } else open = grown
    if (sizeOf(toDocument(open)) > MANAGED_POLICY_LIMIT)
      throw new CaptError(
        'CAPT_POLICY_TOO_LARGE',
        `Statement ${statement.Sid} alone is over the limit of ${MANAGED_POLICY_LIMIT} characters`,
      )
  }
  return open.length > 0 ? [...done, open] : done
}

const toDocument = (statements: readonly Statement[]): PolicyDocument => ({
  Version: '2012-10-17',
  Statement: statements,
})

export function sizeOf(document: object): number {
  return JSON.stringify(document).replace(/\s/g, '').length
}
