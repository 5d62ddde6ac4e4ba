// What a run works from: the rendered workspace, or for a destroy what was frozen with the last apply.
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Objects } from '#kube'
import { CaptError, isCaptError, messageOf } from '#lib'
import { type Bundle, loadBundle } from '../bundle.ts'
import type { Owner } from '../owner.ts'
import { isPassing } from '../patient.ts'
import { isFresh, rebuildRecord } from '../record/rebuild.ts'
import type { RunRecord } from '../record/record.ts'
import type { RecordChange } from '../record/record-store.ts'
import { decideInputs, type InputSource } from '../state/reconstruct.ts'
import { observeState, type StateCopy } from '../state/state-store.ts'
import type { ObjectKey, Workspace } from '../workspace.ts'
import { type Folder, type RunRequest, readFact, writeFact } from './folder.ts'
import type { Layout } from './prepare.ts'

export interface Inputs {
  readonly workspace: Workspace
  /** Set: lay out exactly these files. */
  readonly bundle?: Bundle
}

/** A destroy uses what the last apply used; only when nothing was frozen, the template as it is now. */
export async function findInputs(
  objects: Objects,
  request: RunRequest,
  record: RunRecord,
  say: (text: string) => void,
): Promise<Inputs> {
  const { owner, verb, workspace } = request
  let lost: InputSource = verb === 'destroy' ? 'none' : 'unread'
  if (verb === 'destroy' && record.bundle) {
    try {
      const bundle = await loadBundle(objects, owner, record.bundle)
      return { workspace: { ...bundle.workspace, credentials: credentialsOf(bundle, request) }, bundle }
    } catch (error) {
      if (isPassing(error)) throw error
      lost = isCaptError(error, 'CAPT_BUNDLE_MISSING') ? 'missing' : 'damaged'
      say(messageOf(error))
    }
  }
  const hasTemplate = workspace !== undefined
  const inputs = decideInputs({ name: owner.name, verb, bundle: lost, plan: 'none', hasTemplate })
  if (inputs.is === 'stalled') throw new CaptError(inputs.code, inputs.message, { hint: inputs.hint })
  for (const note of inputs.notes) say(note)
  return { workspace: workspace! }
}

/** References are taken as they are now: a person may have corrected them to let the destroy go through. */
function credentialsOf(bundle: Bundle, { workspace, credentials }: RunRequest): readonly ObjectKey[] {
  if (workspace) return workspace.credentials
  if (!credentials) return bundle.workspace.credentials
  const others = bundle.workspace.credentials.filter((key) => !isSame(key, credentials))
  return [...others, credentials]
}

const isSame = (a: ObjectKey, b: ObjectKey) => a.namespace === b.namespace && a.name === b.name

/** Provider versions stay what they were, also on another machine. */
export async function restoreLockFile(
  objects: Objects,
  request: RunRequest,
  record: RunRecord,
  folder: Folder,
  layout: Layout,
  say: (text: string) => void,
): Promise<void> {
  const path = join(layout.root, '.terraform.lock.hcl')
  if (!record.bundle || existsSync(path)) return
  try {
    const { files } = await loadBundle(objects, request.owner, record.bundle)
    const lockFile = files.find((file) => join(folder.work, file.path) === path)
    if (lockFile) writeFileSync(path, Buffer.from(lockFile.data, 'base64'), { mode: 0o600 })
  } catch (error) {
    if (isPassing(error)) throw error
    say(`${messageOf(error)}; providers are chosen anew`)
  }
}

/**
 * A record that was lost and made anew takes over the id of the workspace and what the state Secret or the folder knows of
 * it, before anything is decided by it.
 */
export async function rebuildLostRecord(session: RebuildSession): Promise<void> {
  const { folder, request, keeper, world } = session
  const { record } = keeper
  if (!isFresh(record)) return
  const seen = world.handover?.saved ?? (await observeState(world.objects, request.owner))
  const inFolder = readFact(folder, 'owner')
  const isOurs = inFolder !== undefined && inFolder.uid === request.owner.uid && inFolder.uid !== ''
  const fromState = rebuildRecord(record, seen.kept)
  // The state Secret knows more than the folder: the id, and everything that is kept beside it.
  const rebuilt = fromState === record && isOurs ? { ...record, workspaceId: inFolder.workspaceId } : fromState
  if (rebuilt.workspaceId === record.workspaceId) return
  await keeper.update((now) => ({ ...now, ...rebuilt, run: now.run! }))
  session.say('The run record was lost; it was rebuilt from what is kept beside it')
}

interface RebuildSession {
  readonly folder: Folder
  readonly request: RunRequest
  readonly keeper: { readonly record: RunRecord; update(change: RecordChange): Promise<void> }
  readonly world: { readonly objects: Objects; readonly handover?: { readonly saved?: StateCopy } | undefined }
  say(text: string): void
}

/** A folder that an earlier object of the same name left is none of ours: it is moved aside, never taken for state. */
export function settleOwner(folder: Folder, { uid }: Owner, { workspaceId }: RunRecord): void {
  const owner = readFact(folder, 'owner')
  if (owner && owner.workspaceId !== workspaceId) {
    const aside = `${folder.work}.${owner.workspaceId}`
    rmSync(aside, { recursive: true, force: true })
    if (existsSync(folder.work)) renameSync(folder.work, aside)
    for (const path of [folder.stateCopy, folder.stateAside, folder.messages, folder.errors])
      rmSync(path, { force: true })
  }
  writeFact(folder, 'owner', { workspaceId, uid })
}
