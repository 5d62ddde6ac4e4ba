// What a run in a Job is given, in one Secret beside the Job: its request, copies of the credentials, and how it reaches the
// API. The token is bound to it and ends with it, so the Job does not own it: a runner whose Job was deleted still saves.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type AnyObject, type OwnerReference, type Secret, SecretKind, ServiceAccountKind } from '#api'
import type { Objects } from '#kube'
import { CaptError, parseJson, systemClock, toKubeconfig } from '#lib'
import { type RunRequest, writeFact } from '../runner/inputs/folder.ts'
import { toolFor } from '../tool/choose-tool.ts'
import { findTools } from '../tool/find-terraform.ts'
import type { ObjectKey } from '../workspace.ts'
import { retryDenied } from './retry-denied.ts'
import { runnerObjects } from './runner-objects.ts'

/** A Secret that credentials come from, as the manager read it. `secret` is absent where there is none. */
export interface MountedSecret {
  readonly ref: ObjectKey
  readonly secret?: Secret
}

/** The pod finds Terraform by itself, and works in a folder of its own. */
export type JobRequest = Omit<RunRequest, 'tool' | 'seen' | 'shared' | 'providerMirror'>

interface RunPayload {
  readonly request: JobRequest
  readonly credentials: readonly MountedSecret[]
}

/** A Secret holds 1 MiB. */
const MAX_BYTES = 1000 * 1024

interface SecretTarget {
  readonly key: ObjectKey
  /** The account of the workspace, which owns it: nothing is left when the workspace is forgotten. */
  readonly account: AnyObject
  readonly access: { readonly server: string; readonly caData?: string | undefined }
}

interface SecretInput extends SecretTarget, RunPayload {}

export function toRunSecret({ request, credentials, ...target }: SecretInput): Secret {
  const secret = toTokenSecret(target)
  const data = { request: pack(request), credentials: pack(credentials), ...secret.data }
  const bytes = Object.values(data).reduce((sum, text) => sum + (text.length * 3) / 4, 0)
  if (bytes > MAX_BYTES) {
    throw new CaptError(
      'CAPT_RUN_TOO_LARGE',
      `the inputs of the run take ${(bytes / 1024).toFixed(0)} KiB packed; 1000 KiB reach a Job`,
      { hint: 'take the module from a repository (source: Remote) instead of writing it into the template' },
    )
  }
  return { ...secret, data }
}

/** Of a runner that has read the rest: how it reaches the API. */
export function toTokenSecret({ key, account, access }: SecretTarget): Secret {
  const { server, caData } = access
  // Beside the kubeconfig, which names it relative to itself.
  const user = { tokenFile: 'token' }
  const kubeconfig = JSON.stringify(toKubeconfig({ name: 'capt', server, caData, user, namespace: key.namespace }))
  const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') }
  const labels = { 'app.kubernetes.io/managed-by': 'capt' }
  const { name, uid = '' } = account.metadata
  const owner: OwnerReference = { apiVersion: 'v1', kind: ServiceAccountKind.kind, name, uid }
  const metadata = { ...key, labels, ownerReferences: [owner] }
  return { apiVersion: 'v1', kind: SecretKind.kind, metadata, type: 'Opaque', data }
}

/** What the pod mounts, read by the runner in it. */
function readMounted(folder: string): RunPayload & { readonly kubeconfig: string } {
  const path = (name: string) => join(folder, name)
  if (!existsSync(path('request'))) {
    throw new CaptError('CAPT_RUN_UNKNOWN', `there is no run in ${folder}`, {
      hint: 'runs are started by capt manager with the engine job, not by hand',
    })
  }
  return {
    request: unpack(readFileSync(path('request'))) as JobRequest,
    credentials: unpack(readFileSync(path('credentials'))) as readonly MountedSecret[],
    kubeconfig: path('kubeconfig'),
  }
}

interface MountedRun {
  readonly kubeconfig: string
  /** The API with no more than the role of the run allows. */
  limit(objects: Objects): Objects
}

/** Prepares the folder of a run from what the pod mounts. The image has Terraform; the run refuses what does not fit its template. */
export async function openMounted(
  from: string,
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<MountedRun> {
  const { request, credentials, kubeconfig } = readMounted(from)
  const tools = await findTools({ env })
  const choice = toolFor(tools, request, request.lastTool)
  const tool = choice.ok ? choice.tool : tools[0]!
  writeFact({ path: folder }, 'request', { ...request, tool, shared: dirname(folder) })
  const { owner, runId, speculativeFor } = request
  const retrying = (objects: Objects) => retryDenied(objects, owner, systemClock, speculativeFor)
  return { kubeconfig, limit: (objects) => runnerObjects(retrying(objects), { owner, runId, credentials }) }
}

/** Of a Secret, what a run needs to know. One that does not consent is named, and its values stay where they are. */
export function toMounted(ref: ObjectKey, found: Secret | undefined, isAllowed: boolean): MountedSecret {
  if (!found) return { ref }
  const { apiVersion, kind, metadata, type, data } = found
  const { managedFields: _noise, ...kept } = metadata as AnyObject['metadata'] & { managedFields?: unknown }
  return {
    ref,
    secret: { apiVersion, kind, metadata: kept, ...(type ? { type } : {}), ...(isAllowed ? { data } : {}) } as Secret,
  }
}

const pack = (value: unknown): string => gzipSync(JSON.stringify(value)).toString('base64')
const unpack = (bytes: Buffer): unknown => parseJson(gunzipSync(bytes).toString('utf8'))
