// Traps of the controller's role: what its policies and its trust deny, and what no longer fits into it.
import { INLINE_POLICY_LIMIT, isAtLeast, parseVersion, sizeOf } from '#catalog'
import { choose, hasProvider } from '../plan/choose.ts'
import { policyOf } from '../plan/controller-role.ts'
import { type Look, person, when } from './trap.ts'

export const permissionTraps: Look = (survey) => [...permissions(survey), ...policySize(survey)]

/** Mistakes of guides that people followed by hand. */
const permissions: Look = (survey) => {
  const { controllerRole, kubernetes, cluster: own } = survey
  if (!controllerRole) return []
  const documents = Object.values(controllerRole.inline)
  const text = JSON.stringify(documents)
  const trust = JSON.stringify(controllerRole.trust ?? '')
  const [running] = kubernetes.karpenter
  const subject = running && `system:serviceaccount:${running.namespace}:`
  const isModern =
    running?.version === undefined || !parseVersion(running.version) || isAtLeast(running.version, '0.32.0')
  return [
    ...when(isModern && text.includes('ec2:ResourceTag/Name'), () =>
      person(
        'terminate',
        `role ${controllerRole.name} may end machines by their Name tag alone: nodes since 0.32 are named otherwise, so TerminateInstances is denied and they never go`,
        'use the policy that capt writes',
        `capt karpenter plan ${own.name} --output files`,
      ),
    ),
    ...when(trust.includes('oidc-provider') && !hasProvider(survey), () =>
      person(
        'oidc',
        'the controller role trusts an OIDC provider, and IAM has none for this cluster',
        'make it',
        `eksctl utils associate-iam-oidc-provider --cluster ${own.name} --approve`,
      ),
    ),
    ...when(subject !== undefined && trust.includes('system:serviceaccount:') && !trust.includes(subject), () =>
      person(
        'trust',
        `the controller role trusts another namespace than ${running!.namespace}: AssumeRoleWithWebIdentity is denied`,
        `let its trust name ${subject}karpenter`,
      ),
    ),
  ]
}

/** IAM counts all inline policies of a role together, without white space. */
const policySize: Look = (survey) => {
  const { controllerRole } = survey
  if (!controllerRole) return []
  const { choices, refusals } = choose(survey, {})
  if (refusals.some(({ field }) => field === '--version')) return []
  const others = Object.entries(controllerRole.inline).filter(([name]) => name !== choices.names.controllerPolicy)
  const taken = others.reduce((sum, [, document]) => sum + sizeOf(document as object), 0)
  const needed = sizeOf(policyOf(survey, choices.version.value))
  return when(taken > 0 && taken + needed > INLINE_POLICY_LIMIT, () =>
    person(
      'policy',
      `role ${controllerRole.name} holds ${taken} characters of inline policies of others, and Karpenter ${choices.version.value} needs ${needed}: IAM allows ${INLINE_POLICY_LIMIT} in all`,
      'make managed policies of those of others (capt explain CAPT_POLICY_TOO_LARGE)',
      `aws iam list-role-policies --role-name ${controllerRole.name}`,
    ),
  )
}
