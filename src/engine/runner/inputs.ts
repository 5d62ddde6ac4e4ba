// What a run works from: the rendered workspace, or for a destroy what was frozen with the last apply.
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Objects } from '#kube'
import { CaptError, messageOf } from '#lib'
import { type Bundle, loadBundle } from '../bundle.ts'
import type { RunRecord } from '../record/record.ts'
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
  if (verb === 'destroy' && record.bundle) {
    try {
      const bundle = await loadBundle(objects, owner, record.bundle)
      return { workspace: { ...bundle.workspace, credentials: credentialsOf(bundle, request) }, bundle }
    } catch (error) {
      if (!workspace) throw error
      say(`${messageOf(error)}; working from the template instead`)
    }
  }
  if (workspace) return { workspace }
  throw new CaptError(
    'CAPT_INPUTS_GONE',
    'there is state to destroy, but neither frozen inputs nor a template to do it with',
    {
      hint: 'bring the WorkspaceTemplate back, or set spec.retainWorkspaceOnDelete to let the infrastructure stay',
    },
  )
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
): Promise<void> {
  const path = join(layout.root, '.terraform.lock.hcl')
  if (!record.bundle || existsSync(path)) return
  const { files } = await loadBundle(objects, request.owner, record.bundle)
  const lockFile = files.find((file) => join(folder.work, file.path) === path)
  if (lockFile) writeFileSync(path, Buffer.from(lockFile.data, 'base64'), { mode: 0o600 })
}

/** A folder that an earlier object of the same name left is none of ours: it is moved aside, never taken for state. */
export function settleOwner(folder: Folder, workspaceId: string): void {
  const owner = readFact(folder, 'owner')
  if (owner && owner.workspaceId !== workspaceId) {
    const aside = `${folder.work}.${owner.workspaceId}`
    rmSync(aside, { recursive: true, force: true })
    if (existsSync(folder.work)) renameSync(folder.work, aside)
    for (const path of [folder.stateCopy, folder.stateAside, folder.messages, folder.errors])
      rmSync(path, { force: true })
  }
  writeFact(folder, 'owner', { workspaceId })
}
