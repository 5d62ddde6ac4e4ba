// The pods behind a failing stage, read in the workload cluster: why each does not run, and the last line of its log. What
// cannot be read is left out; the stage itself is reported anyway.
import {
  type AddonDelivery,
  type AnyObject,
  type Key,
  kindRef,
  kubeconfigSecretName,
  PodKind,
  type Secret,
  SecretKind,
} from '#api'
import { createClient, isKubeError, type Objects, readKubeconfigText } from '#kube'
import { type Clock, redact } from '#lib'
import type { Finding } from '#view'
import { person } from './finding.ts'

interface ContainerStatus {
  readonly name: string
  readonly ready?: boolean
  readonly restartCount?: number
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string }
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number; readonly message?: string }
  }
}

interface Pod extends AnyObject {
  readonly status?: {
    readonly phase?: string
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
  }
}

interface PodTrouble {
  readonly key: Key
  readonly container: string | undefined
  /** It restarted: the log of its last end says why. */
  readonly hasEnded: boolean
  readonly reason: string
}

/** Why a pod does not run; undefined when it does, or when it is done. */
export function troubleOf({ metadata, status }: Pod): PodTrouble | undefined {
  if (status?.phase === 'Succeeded' || metadata.deletionTimestamp) return undefined
  const key = { namespace: metadata.namespace!, name: metadata.name }
  const unscheduled = status?.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
  if (unscheduled)
    return { key, container: undefined, hasEnded: false, reason: `is not scheduled: ${unscheduled.message ?? ''}` }
  const sick = status?.containerStatuses?.find(({ ready }) => ready === false)
  if (!sick) return undefined
  const { waiting, terminated } = sick.state ?? {}
  const word = waiting?.reason ?? terminated?.reason ?? 'is not ready'
  const exit = terminated?.exitCode === undefined ? '' : ` (exit code ${terminated.exitCode})`
  const more = waiting?.message ?? terminated?.message
  const reason = `container ${sick.name}: ${word}${exit}${more ? `: ${more}` : ''}`
  return { key, container: sick.name, hasEnded: (sick.restartCount ?? 0) > 0, reason }
}

const MOST_PODS = 5

/** Findings about pods in the namespaces of Flux, Karpenter and other releases. Empty when every stage works, or nothing can be read. */
export async function examinePods(
  objects: Objects,
  delivery: AddonDelivery,
  clock: Clock,
): Promise<readonly Finding[]> {
  if (!(delivery.status?.stages ?? []).some(({ lastError }) => lastError !== undefined)) return []
  try {
    const { namespace = '' } = delivery.metadata
    const name = kubeconfigSecretName(delivery.spec.clusterName)
    const value = (await objects.get<Secret>(SecretKind, { namespace, name }))?.data?.['value']
    if (value === undefined) return []
    const kubeconfig = Buffer.from(value, 'base64').toString('utf8')
    const access = await readKubeconfigText(kubeconfig, { origin: 'the kubeconfig of the cluster', clock })
    const client = createClient(access, { clock })
    try {
      return await readTroubles(client)
    } finally {
      client.close()
    }
  } catch {
    return []
  }
}

type Workload = ReturnType<typeof createClient>

const HelmReleaseKind = kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease')

/** Those of Flux and Karpenter, and of every release. */
async function readNamespaces(client: Workload): Promise<ReadonlySet<string>> {
  const namespaces = new Set(['flux-system', 'kube-system', 'karpenter'])
  try {
    for await (const { metadata } of client.list<AnyObject>(HelmReleaseKind)) namespaces.add(metadata.namespace!)
  } catch (error) {
    // Without Flux there are no releases.
    if (!isKubeError(error)) throw error
  }
  return namespaces
}

async function readTroubles(client: Workload): Promise<readonly Finding[]> {
  const troubles: PodTrouble[] = []
  for (const namespace of await readNamespaces(client))
    for await (const pod of client.list<Pod>(PodKind, { namespace })) {
      const trouble = troubleOf(pod)
      if (trouble) troubles.push(trouble)
    }
  return await Promise.all(
    troubles.slice(0, MOST_PODS).map(async (trouble): Promise<Finding> => {
      const line = await readLastLine(client, trouble).catch(() => '')
      const { key, reason } = trouble
      const what = `Pod ${key.namespace}/${key.name} ${reason}${line ? `; its log ends: ${line.slice(0, 300)}` : ''}`
      return person('pod', redact(what), '')
    }),
  )
}

async function readLastLine(client: Workload, { key, container, hasEnded }: PodTrouble): Promise<string> {
  if (container === undefined) return ''
  const query = `container=${encodeURIComponent(container)}&tailLines=1${hasEnded ? '&previous=true' : ''}`
  const path = `/api/v1/namespaces/${key.namespace}/pods/${key.name}/log?${query}`
  const { status, text } = await client.raw(path, { timeoutMs: 5_000 })
  return status === 200 ? text.trim() : ''
}
