// The kubeconfig by which runners reach the API server that the manager works for, and the pod that both run in.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PodIdentity } from '#engine'
import type { ServerAccess } from '#kube'
import { toKubeconfig, writeSecret } from '#lib'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Tokens are rotated on disk, in a pod and in a home, so the runner reads the file. */
export function runnerKubeconfig(to: ServerAccess, tokenFile = `${SERVICE_ACCOUNT}/token`): string {
  const user = { tokenFile }
  const caData = to.ca && Buffer.from(to.ca).toString('base64')
  return JSON.stringify(toKubeconfig({ name: 'capt', server: to.server, caData, user, namespace: to.namespace }))
}

/** Returns the path of the file. */
export function writeKubeconfig(workDir: string, text: string): string {
  mkdirSync(workDir, { recursive: true, mode: 0o700 })
  const path = join(workDir, 'kubeconfig')
  writeSecret(path, text)
  return path
}

/**
 * Whether Terraform runs for one namespace only: in a pod it runs as the user of the manager and can read the token of its
 * service account, so tenants that do not trust each other must not share it.
 */
export function isSingleTenant(options: {
  readonly isInPod: boolean
  /** Undefined where nothing runs Terraform. */
  readonly engineName: string | undefined
  readonly namespace?: string | undefined
  readonly allowSharedRunner?: boolean | undefined
}): boolean {
  const { isInPod, engineName, namespace, allowSharedRunner = false } = options
  if (engineName === undefined || engineName === 'simulated' || engineName === 'job') return false
  return isInPod && namespace === undefined && !allowSharedRunner
}

/** The token that Kubernetes mounts into a pod names that pod. Undefined outside of one, and for tokens without a claim. */
export function podOfToken(file = `${SERVICE_ACCOUNT}/token`): PodIdentity | undefined {
  try {
    const claims = JSON.parse(Buffer.from(readFileSync(file, 'utf8').split('.')[1]!, 'base64url').toString()) as {
      readonly 'kubernetes.io'?: { readonly namespace?: string; readonly pod?: { name?: string; uid?: string } }
    }
    const { namespace, pod } = claims['kubernetes.io'] ?? {}
    if (!namespace || !pod?.name || !pod.uid) return undefined
    return { namespace, name: pod.name, uid: pod.uid }
  } catch {
    return undefined
  }
}
