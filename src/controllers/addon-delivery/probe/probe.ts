// The probe pod of a node-pool stage: verifies on request that nodes join. A ready NodePool only proves that its spec is
// valid; role, subnets, quota and the route to the API server are tested when a node has to join.
import type { AddonDelivery, AddonStage, AnyObject, Key } from '#api'
import { hashOf, parseDuration } from '#lib'
import { readPath } from '../health/path.ts'
import type { Manifest } from '../manifests/manifests.ts'
import { CONTENT_ANNOTATION, MANAGED_LABEL, STAGE_LABEL } from '../names.ts'
import { typeOf } from '../stages/registry.ts'
import type { Rendered } from '../stages/render/rendered.ts'

const POOL_LABEL = 'karpenter.sh/nodepool'
/** An unprivileged user: the image needs no rights. */
const USER = 65_535
const LEAST_DEADLINE_SECONDS = 60

/** One per stage, in a namespace that every cluster has, so that its name alone identifies it. */
export function probeKey(stage: string): Key {
  return { namespace: 'kube-system', name: `capt-verify-${stage}` }
}

/**
 * Undefined when the stage requests none. Not delivered by a ClusterResourceSet: core and capt both keep what a set
 * delivers, and this pod is temporary.
 */
export function renderProbePod(stage: AddonStage, rendered: Rendered | undefined): AnyObject | undefined {
  const options = typeOf(stage).verification?.(stage)
  if (!options || rendered?.is !== 'ready') return undefined
  const { image, timeout } = options
  const pool = rendered.parts.flatMap((part) => part.manifests).find((manifest) => manifest.kind === 'NodePool')
  const spec = {
    nodeSelector: { [POOL_LABEL]: options.pool },
    tolerations: taintsOf(pool).map(toToleration),
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    // Ends without a manager too, so that its node can be consolidated.
    activeDeadlineSeconds: Math.max(LEAST_DEADLINE_SECONDS, Math.ceil(parseDuration(timeout) / 1000)),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: USER, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'probe',
        image,
        resources: { requests: { cpu: '10m', memory: '16Mi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  }
  const labels = { 'app.kubernetes.io/name': 'capt-verify', [MANAGED_LABEL]: 'true', [STAGE_LABEL]: stage.name }
  const annotations = { [CONTENT_ANNOTATION]: hashOf({ content: rendered.hash, spec }) }
  const metadata = { ...probeKey(stage.name), labels, annotations } as AnyObject['metadata']
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec } as AnyObject
}

/** Stages whose probe pod may exist. */
export function openProbes({ status }: Pick<AddonDelivery, 'status'>): readonly string[] {
  const open = (status?.stages ?? []).filter(({ verification }) => verification && !verification.endedAt)
  return open.map(({ name }) => name)
}

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect?: string
}

/** Startup taints are not tolerated: removing them is part of what is verified. */
function taintsOf(pool: Manifest | undefined): readonly Taint[] {
  const taints = readPath(pool, 'spec.template.spec.taints')
  return Array.isArray(taints) ? (taints as readonly Taint[]) : []
}

function toToleration({ key, value, effect }: Taint): object {
  const match = value === undefined || value === '' ? { operator: 'Exists' } : { operator: 'Equal', value }
  return { key, ...match, ...(effect ? { effect } : {}) }
}
