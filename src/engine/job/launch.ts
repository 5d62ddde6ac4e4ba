// Starts the Job of one run: first what its pod needs (identity, Secret, token), then the Job. Each step may be repeated: a
// manager that died halfway is followed by one that does them again.
import {
  type AnyObject,
  allowsNamespace,
  JobKind,
  RoleBindingKind,
  RoleKind,
  type Secret,
  SecretKind,
  ServiceAccountKind,
} from '#api'
import { ignore, isKubeError, type Objects } from '#kube'
import { type Clock, type Log, redact } from '#lib'
import type { RunFault } from '../faults/faults.ts'
import type { StartRequest, TagCounter } from '../port.ts'
import type { Limits } from '../queue/limits.ts'
import type { RunRecord } from '../record/record.ts'
import { isTransient } from '../retrying-objects.ts'
import { RunFailure } from '../runner/failure.ts'
import { credentialRefs, holdSecret } from '../runner/inputs/credentials.ts'
import { toRunRequest } from '../runner/inputs/folder.ts'
import { credentialsOf } from '../runner/inputs/inputs.ts'
import { loadBundle } from '../saved/bundle.ts'
import { lastTool } from '../tool/last-tool.ts'
import type { ObjectKey, Resources, Workspace } from '../workspace.ts'
import { type IdentityInput, renderIdentity } from './render-identity.ts'
import { CLOSING_SECONDS, renderJob, withTemplate } from './render-job.ts'
import { type JobRequest, type MountedSecret, toMounted, toRunSecret } from './run-secret.ts'

export interface JobEngineOptions {
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  /** Where Jobs, their Secrets and the accounts of workspaces are. It exists. */
  readonly runNamespace: string
  /** The image with Terraform and the same program. */
  readonly image: string
  /** The account that the runs of a namespace have towards the cloud. */
  accountOf(namespace: string): string
  /** How pods reach the API server. */
  readonly access: { readonly server: string; readonly caData?: string | undefined }
  readonly resources?: Resources
  readonly limits?: Limits
  /** How long Terraform may take to stop when it is asked to. */
  readonly graceSeconds?: number
  readonly countTagged?: TagCounter
  /** Reports the apply whose Job or pod has changed. */
  onJobChange?(handler: (key: ObjectKey) => void): void
}

export const GRACE_SECONDS = 120
/** Names of the settings in the namespace of the runs begin with it. */
const SETTINGS = 'capt-run'
/** An API server that is away is retried for ten minutes before a runner gives up. */
const SAVING_SECONDS = 600

interface TokenRequest extends AnyObject {
  readonly spec: { readonly expirationSeconds?: number }
  readonly status?: { readonly token?: string }
}

export async function launchJob(options: JobEngineOptions, request: StartRequest, record: RunRecord): Promise<void> {
  try {
    await launch(options, request, record)
  } catch (error) {
    throw toRefusal(error, options.runNamespace)
  }
}

async function launch(options: JobEngineOptions, request: StartRequest, record: RunRecord): Promise<void> {
  const { objects, image, access, graceSeconds = GRACE_SECONDS } = options
  const { owner } = request
  const run = record.run!
  const job = run.job!
  const workspace = await inputsOf(objects, request, record)
  const connection = await connectionOf(objects, request)
  const { speculativeFor } = request
  const account = await makeIdentity(options, { owner, record, connectionSecret: connection.granted, speculativeFor })
  const last = await lastTool(objects, request, record)
  const passedOn = toRunRequest(request, run.id, graceSeconds)
  const asked: JobRequest = { ...passedOn, job, ...(last === undefined ? {} : { lastTool: last }) }
  const credentials = [...(await copyCredentials(objects, request, workspace)), ...connection.refused]
  const secret = await objects.apply<Secret>(
    SecretKind,
    toRunSecret({ key: job, account, access, request: asked, credentials }),
  )
  await putToken(objects, account, secret, request.timeoutSeconds + graceSeconds)
  const serviceAccount = options.accountOf(owner.namespace)
  const resources = withTemplate(options.resources, request.workspace?.resources)
  const made = { owner, run, job, image, serviceAccount, settings: SETTINGS, graceSeconds, resources }
  // Its name has the run in it: an earlier attempt to start this very run may have made it.
  await objects.create<AnyObject>(JobKind, renderJob(made)).catch(ignore('AlreadyExists'))
}

/** What the API server says about the objects of a run, with a name: it refuses for reasons that a person can change. */
function toRefusal(error: unknown, runNamespace: string): unknown {
  if (!isKubeError(error, 'Forbidden', 'Invalid', 'NotFound', 'NamespaceTerminating')) return error
  const message = redact(error.message)
  const fail = (kind: RunFault['kind'], code: string, text: string, hint: string) =>
    new RunFailure({ kind, code, message: text, hint }, error)
  if (/exceeded quota/i.test(message)) {
    const hint = `raise the ResourceQuota of the namespace ${runNamespace}, or lower --concurrent-runs`
    return fail('capacity', 'CAPT_RUN_QUOTA_EXCEEDED', `the quota refuses what the run needs: ${message}`, hint)
  }
  if (isKubeError(error, 'NotFound')) {
    const hint = `create the namespace ${runNamespace} with the objects of config/rbac/runs, or correct --run-namespace`
    return fail('dependency', 'CAPT_RUN_REFUSED', `the namespace of the runs cannot be used: ${message}`, hint)
  }
  const hint = 'change the role, policy or webhook that refuses it, or the --run options of the manager'
  return fail('dependency', 'CAPT_RUN_REFUSED', `what the run needs is refused: ${message}`, hint)
}

/** What the run works from, as far as its credentials are concerned: a destroy uses what was frozen. */
async function inputsOf(
  objects: Objects,
  request: StartRequest,
  record: RunRecord,
): Promise<Pick<Workspace, 'credentials' | 'secretEnv'> | undefined> {
  if (request.verb === 'apply' || !record.bundle) return request.workspace
  try {
    const bundle = await loadBundle(objects, request.owner, record.bundle)
    return { secretEnv: bundle.workspace.secretEnv, credentials: credentialsOf(bundle, request) }
  } catch (error) {
    if (isTransient(error)) throw error
    return request.workspace
  }
}

/** The runner checks them once more, and says what is wrong with them. */
async function copyCredentials(
  objects: Objects,
  { owner }: StartRequest,
  workspace: Pick<Workspace, 'credentials' | 'secretEnv'> | undefined,
): Promise<readonly MountedSecret[]> {
  const copies: MountedSecret[] = []
  for (const ref of workspace ? credentialRefs(workspace) : []) {
    const found = await objects.get<Secret>(SecretKind, ref)
    const isAllowed = found !== undefined && allowsNamespace(found, owner.namespace)
    const held =
      found && isAllowed ? await holdSecret(objects, found, owner.namespace, owner.cluster !== undefined) : found
    copies.push(toMounted(ref, held, isAllowed))
  }
  return copies
}

/** A Secret of another namespace is written only where its owner consents; the runner reports it otherwise. */
async function connectionOf(
  objects: Objects,
  { owner, verb, workspace }: StartRequest,
): Promise<{ readonly granted?: ObjectKey; readonly refused: readonly MountedSecret[] }> {
  const target = verb === 'apply' ? workspace?.connectionSecret : undefined
  if (!target) return { refused: [] }
  if (target.namespace === owner.namespace) return { granted: target, refused: [] }
  const found = await objects.get<Secret>(SecretKind, target)
  const isAllowed = found !== undefined && allowsNamespace(found, owner.namespace)
  return isAllowed ? { granted: target, refused: [] } : { refused: [{ ref: target }] }
}

/** Made at the first run: a namespace that is being deleted takes no new ones. Returns the account. */
export async function makeIdentity(
  { objects, runNamespace }: JobEngineOptions,
  input: Omit<IdentityInput, 'runNamespace'>,
): Promise<AnyObject> {
  const { account, grants } = renderIdentity({ ...input, runNamespace })
  const made = await objects.apply<AnyObject>(ServiceAccountKind, account)
  for (const { role, binding } of grants) {
    await objects.apply(RoleKind, role)
    await objects.apply(RoleBindingKind, binding)
  }
  return made
}

/** Puts a token of the account into the Secret of the run. */
export async function putToken(
  objects: Objects,
  account: AnyObject,
  secret: AnyObject,
  seconds: number,
): Promise<void> {
  const token = await requestToken(objects, account, secret, seconds)
  const { namespace = '', name } = secret.metadata
  const body = { data: { token: Buffer.from(token).toString('base64') } }
  await objects.patch(SecretKind, { namespace, name }, { type: 'merge', body })
}

/** Bound to the run's Secret: it ends when that is deleted. */
async function requestToken(objects: Objects, account: AnyObject, secret: AnyObject, seconds: number): Promise<string> {
  const expirationSeconds = seconds + CLOSING_SECONDS + SAVING_SECONDS
  const asked = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { namespace: account.metadata.namespace, name: account.metadata.name },
    spec: {
      expirationSeconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: secret.metadata.name, uid: secret.metadata.uid },
    },
  } as TokenRequest
  const { spec, status } = await objects.create<TokenRequest>(ServiceAccountKind, asked, { subresource: 'token' })
  const granted = spec.expirationSeconds ?? expirationSeconds
  if (granted < expirationSeconds) {
    throw new RunFailure({
      kind: 'user',
      code: 'CAPT_RUN_TOKEN_SHORTENED',
      message: `the API server gives out tokens for ${granted} seconds; a run with this timeout needs one for ${expirationSeconds}`,
      hint: 'lower spec.timeout of the apply, or raise --service-account-max-token-expiration of the API server',
    })
  }
  if (!status?.token) {
    throw new RunFailure({
      kind: 'dependency',
      code: 'CAPT_RUN_REFUSED',
      message: 'the API server gave no token for the run',
      hint: 'look at the admission webhooks for serviceaccounts/token',
    })
  }
  return status.token
}
