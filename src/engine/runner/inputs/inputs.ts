// What a run works from: the rendered workspace, or for a destroy what was frozen with the last apply.
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CaptError, isCaptError, messageOf } from '#lib'
import type { Owner } from '../../owner.ts'
import { isFresh, rebuildRecord } from '../../record/rebuild.ts'
import type { RunRecord } from '../../record/record.ts'
import { readRecord } from '../../record/record-store.ts'
import { isTransient } from '../../retrying-objects.ts'
import { type Bundle, loadBundle } from '../../saved/bundle.ts'
import { decideInputs, type InputSource } from '../../state/reconstruct.ts'
import { observeState } from '../../state/state-store.ts'
import type { ObjectKey, Workspace } from '../../workspace.ts'
import type { RunContext } from '../context.ts'
import { type Folder, type RunRequest, readFact, readOwnFolder, writeFact } from './folder.ts'
import type { Layout } from './layout.ts'

export interface Inputs {
  readonly workspace: Workspace
  /** Set: lay out exactly these files. */
  readonly bundle?: Bundle
}

/** A destroy uses what the last apply used; only when nothing was frozen, the template as it is now. */
export async function findInputs(context: RunContext): Promise<Inputs> {
  const { request, world, writer } = context
  const { record } = writer
  const { owner, verb, workspace } = request
  let lost: InputSource = verb === 'destroy' ? 'none' : 'unread'
  if (verb === 'destroy' && record.bundle) {
    try {
      const bundle = await loadBundle(world.objects, owner, record.bundle)
      return { workspace: { ...bundle.workspace, credentials: credentialsOf(bundle, request) }, bundle }
    } catch (error) {
      if (isTransient(error)) throw error
      lost = isCaptError(error, 'CAPT_BUNDLE_MISSING') ? 'missing' : 'damaged'
      context.note(messageOf(error))
    }
  }
  const inputs = decideInputs(owner.name, verb, lost, workspace !== undefined)
  if (inputs.is === 'stalled') throw new CaptError(inputs.code, inputs.message, { hint: inputs.hint })
  for (const note of inputs.notes) context.note(note)
  return { workspace: workspace! }
}

/** References are taken as they are now: a person may have corrected them to let the destroy go through. */
export function credentialsOf(
  bundle: Bundle,
  { workspace, credentials }: Pick<RunRequest, 'workspace' | 'credentials'>,
): readonly ObjectKey[] {
  if (workspace) return workspace.credentials
  if (!credentials) return bundle.workspace.credentials
  const others = bundle.workspace.credentials.filter((key) => !isSame(key, credentials))
  return [...others, credentials]
}

const isSame = (a: ObjectKey, b: ObjectKey) => a.namespace === b.namespace && a.name === b.name

/** Provider versions stay what they were, also on another machine. */
export async function restoreLockFile(context: RunContext, layout: Layout): Promise<void> {
  const { folder, request, world, writer } = context
  const { speculativeFor: target, owner } = request
  const path = join(layout.root, '.terraform.lock.hcl')
  if (target === undefined && existsSync(path)) return
  try {
    // A plan upon the state of another apply uses what that one uses.
    const key = { namespace: owner.namespace, name: target ?? owner.name }
    const record = target === undefined ? writer.record : (await readRecord(world.objects, key))?.record
    if (!record?.bundle) return
    const { files } = await loadBundle(world.objects, key, record.bundle)
    const lockFile = files.find((file) => join(folder.work, file.path) === path)
    if (lockFile) writeFileSync(path, Buffer.from(lockFile.data, 'base64'), { mode: 0o600 })
  } catch (error) {
    if (isTransient(error)) throw error
    context.note(`${messageOf(error)}; provider versions are selected again`)
  }
}

/**
 * A record that was lost and recreated takes over the id of the workspace and what the state Secret or the folder knows
 * of it, before anything is decided by it.
 */
export async function rebuildLostRecord(context: RunContext): Promise<void> {
  const { folder, request, writer, world } = context
  const { record } = writer
  if (!isFresh(record)) return
  const { kept } = world.handover?.saved ?? (await observeState(world.objects, request.owner))
  const inFolder = readOwnFolder(folder, request.owner)
  const known = rebuildRecord(record, { kept, report: inFolder?.report })
  // A folder without a report still knows the id.
  const rebuilt = known === record && inFolder ? { ...record, workspaceId: inFolder.workspaceId } : known
  if (rebuilt.workspaceId === record.workspaceId) return
  await writer.update(({ lostRun: _rebuilt, ...now }) => ({ ...now, ...rebuilt, run: now.run! }))
  context.note('The run record was lost; it was rebuilt from what is kept beside it')
}

/** A folder that an earlier object of the same name left is none of ours: it is moved aside, never taken for state. */
export function claimFolder(folder: Folder, { uid }: Owner, { workspaceId }: RunRecord): void {
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
