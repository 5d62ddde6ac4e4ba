// The probe pod of a node-pool stage: the proof, on request, that machines really come. A ready NodePool only says that
// its spec is good; role, subnets, quota and the way to the API server show when a machine has to join.
import type { AddonDelivery, AddonStage, AnyObject, Key } from '#api'
import { hashOf, isPlainObject, parseDuration } from '#lib'
import type { Manifest } from './manifests.ts'
import { CONTENT_ANNOTATION, MANAGED_LABEL, STAGE_LABEL } from './names.ts'
import type { Rendered } from './render-stage.ts'

const POOL_LABEL = 'karpenter.sh/nodepool'
/** Runs as nobody in particular: the image needs no rights at all. */
const USER = 65_535
const LEAST_DEADLINE_SECONDS = 60

/** One per stage, in a namespace that every cluster has, so that it is found again by its name alone. */
export function probeKey(stage: string): Key {
  return { namespace: 'kube-system', name: `capt-verify-${stage}` }
}

/**
 * Undefined when the stage asks for none. It does not travel in a ClusterResourceSet: core and capt both see to it that
 * what a set delivers stays there, and this pod is to come once and to go.
 */
export function renderProbePod(stage: AddonStage, rendered: Rendered | undefined): AnyObject | undefined {
  const { nodePool } = stage
  if (!nodePool?.verify || rendered?.is !== 'ready') return undefined
  const { image, timeout } = nodePool.verify
  const pool = rendered.parts.flatMap((part) => part.manifests).find((manifest) => manifest.kind === 'NodePool')
  const spec = {
    nodeSelector: { [POOL_LABEL]: nodePool.name },
    tolerations: taintsOf(pool).map(toToleration),
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    // If nobody ever comes back for it, it ends by itself and its machine can go.
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

/** Stages whose probe pod may be out. */
export function openProbes({ status }: Pick<AddonDelivery, 'status'>): readonly string[] {
  const open = (status?.stages ?? []).filter(({ verification }) => verification && !verification.endedAt)
  return open.map(({ name }) => name)
}

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect?: string
}

/** Startup taints are left out: whoever takes them off is part of what is to be proven. */
function taintsOf(pool: Manifest | undefined): readonly Taint[] {
  const spec = isPlainObject(pool?.spec) ? pool.spec : {}
  const template = isPlainObject(spec['template']) ? spec['template']['spec'] : undefined
  const taints = isPlainObject(template) ? template['taints'] : undefined
  return Array.isArray(taints) ? (taints as readonly Taint[]) : []
}

function toToleration({ key, value, effect }: Taint): object {
  const match = value === undefined || value === '' ? { operator: 'Exists' } : { operator: 'Equal', value }
  return { key, ...match, ...(effect ? { effect } : {}) }
}
