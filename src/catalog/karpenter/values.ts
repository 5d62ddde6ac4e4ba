// Helm values for one cluster's Karpenter release: our defaults, then the user's values as Helm would merge them,
// then the placement guard, which nothing may take away.
import { CaptError, isPlainObject } from '#lib'
import { type Affinity, checkNodeSelector, isGuarded, mergeGuard } from '../placement/placement.ts'
import { isAtLeast } from '../version.ts'
import { lintValues, valueAt } from './values-lint.ts'
import { mergeValues, type Values } from './values-merge.ts'

type Identity = 'podIdentity' | 'irsa'

export interface KarpenterValuesInput {
  readonly version: string
  readonly clusterName: string
  /** Name of the queue, not its URL or ARN. */
  readonly interruptionQueue?: string | undefined
  readonly identity: Identity
  /** Controller role; needed for irsa, not used for podIdentity. */
  readonly roleArn?: string | undefined
  readonly namespace: string
  readonly serviceAccount?: string | undefined
  readonly replicas?: number | undefined
  /** `Chart` adds only identity and cluster name: a release that is taken over renders the same pods. `Capt` when left out. */
  readonly defaults?: 'Capt' | 'Chart' | undefined
  readonly affinity?: Affinity | undefined
  /** Free values; they win over everything above except identity, cluster name and the guard. */
  readonly values?: Values | undefined
}

const ROLE_ANNOTATION = 'eks.amazonaws.com/role-arn'
export const SERVICE_ACCOUNT = 'karpenter'

/** Upstream leaves resources empty; without a memory limit the controller cannot tune its garbage collector. */
const DEFAULT_RESOURCES = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } }

export function renderKarpenterValues(input: KarpenterValuesInput): Record<string, unknown> {
  if (!isAtLeast(input.version, '0.32.0'))
    throw invalid(
      `Karpenter ${input.version} reads settings.aws.*, which capt does not write`,
      'choose a version from docs/compatibility.md',
    )
  const merged = mergeValues(ownValues(input), checkedValues(input))
  checkFixed(merged, input)
  const nodeSelector = merged['nodeSelector']
  if (isPlainObject(nodeSelector)) checkNodeSelector(nodeSelector as Record<string, string>)
  if (input.defaults === 'Chart' && isGuarded(input.values?.['affinity'] as Affinity | null | undefined)) return merged
  return { ...merged, affinity: mergeGuard((merged['affinity'] ?? {}) as Affinity) }
}

function ownValues(input: KarpenterValuesInput): Values {
  if (input.identity === 'irsa' && !input.roleArn)
    throw invalid('identity irsa needs the ARN of the controller role', 'give roleArn, or use podIdentity')
  const serviceAccount = {
    create: true,
    name: input.serviceAccount ?? SERVICE_ACCOUNT,
    ...(input.identity === 'irsa' ? { annotations: { [ROLE_ANNOTATION]: input.roleArn } } : {}),
  }
  const replicas = input.replicas === undefined ? {} : { replicas: input.replicas }
  if (input.defaults === 'Chart') return { ...replicas, serviceAccount, settings: { clusterName: input.clusterName } }
  return {
    ...replicas,
    serviceAccount,
    controller: { resources: DEFAULT_RESOURCES },
    settings: {
      clusterName: input.clusterName,
      ...(input.interruptionQueue ? { interruptionQueue: queueName(input.interruptionQueue) } : {}),
    },
    ...(input.affinity ? { affinity: input.affinity } : {}),
  }
}

function queueName(queue: string): string {
  if (!/[:/]/.test(queue)) return queue
  throw invalid(`interruptionQueue ${queue} is not a queue name`, 'give the name, not the URL or ARN')
}

function checkedValues({ version, values = {} }: KarpenterValuesInput): Values {
  if (!isPlainObject(values)) throw invalid('values is not a map', 'write chart values as a map')
  const refused = lintValues(version, values).filter((finding) => finding.refused)
  if (refused.length === 0) return values
  throw new CaptError('CAPT_KARPENTER_VALUES_REFUSED', refused.map(({ message }) => message).join('; '), {
    hint: 'capt karpenter convert --values FILE rewrites values of old charts',
  })
}

/** Values that identity and trust depend on: changed here, they would differ from what IAM has. */
function checkFixed(merged: Values, input: KarpenterValuesInput): void {
  const fixed: readonly [string, unknown, unknown][] = [
    ['settings.clusterName', valueAt(merged, 'settings.clusterName'), input.clusterName],
    ['serviceAccount.name', valueAt(merged, 'serviceAccount.name'), input.serviceAccount ?? SERVICE_ACCOUNT],
    [
      `serviceAccount.annotations.${ROLE_ANNOTATION}`,
      roleAnnotation(merged),
      input.identity === 'irsa' ? input.roleArn : undefined,
    ],
  ]
  for (const [path, actual, expected] of fixed) {
    if (actual === expected) continue
    throw new CaptError('CAPT_KARPENTER_VALUES_CONFLICT', `values: ${path} must be ${expected ?? 'left out'} here`, {
      hint: 'it belongs to the identity of the release; change the identity, cluster or service account setting instead',
    })
  }
}

function roleAnnotation(values: Values): unknown {
  const annotations = valueAt(values, 'serviceAccount.annotations')
  return isPlainObject(annotations) ? annotations[ROLE_ANNOTATION] : undefined
}

const invalid = (message: string, hint: string) => new CaptError('CAPT_KARPENTER_VALUES_INVALID', message, { hint })
