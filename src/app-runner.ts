// The kubeconfig by which runners reach the API server that the manager works for.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerAccess } from '#kube'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** `isFixed`: the token does not change. In a pod it is rotated on disk, so the runner reads the file. */
export async function writeRunnerKubeconfig(workDir: string, to: ServerAccess, isFixed: boolean): Promise<string> {
  const user = isFixed ? { token: (await to.credentials.current()).token } : { tokenFile: `${SERVICE_ACCOUNT}/token` }
  const cluster = {
    server: to.server,
    ...(to.ca ? { 'certificate-authority-data': Buffer.from(to.ca).toString('base64') } : {}),
  }
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'capt', cluster }],
    users: [{ name: 'capt', user }],
    contexts: [{ name: 'capt', context: { cluster: 'capt', user: 'capt', namespace: to.namespace } }],
    'current-context': 'capt',
  }
  return writeKubeconfig(workDir, JSON.stringify(kubeconfig))
}

/** Returns the path of the file. */
export function writeKubeconfig(workDir: string, text: string): string {
  mkdirSync(workDir, { recursive: true, mode: 0o700 })
  const path = join(workDir, 'kubeconfig')
  writeFileSync(path, text, { mode: 0o600 })
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
  if (engineName === undefined || engineName === 'simulated') return false
  return isInPod && namespace === undefined && !allowSharedRunner
}
