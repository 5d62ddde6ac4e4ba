// Inputs frozen with a run: root module, downloaded modules, lock file, variables. A destroy works from them when the
// template, its sources or the module registry are gone. Credentials are not among them.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, normalize, sep } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type Secret, SecretKind } from '#api'
import type { Objects } from '#kube'
import { CaptError, isPlainObject, parseJson, shortHash } from '#lib'
import { bundleName, slotName, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { BundleRef } from '../record/record.ts'
import { deleteHeld } from '../state/state-secrets.ts'
import type { ObjectKey, Workspace } from '../workspace.ts'
import { countParts, readPart, toParts } from './chunks.ts'

export const MAX_BUNDLE_BYTES = 8 * 1024 * 1024

interface FrozenFile {
  readonly path: string
  readonly mode: number
  readonly data: string
}

export interface Bundle {
  readonly workspace: Workspace
  /** `terraform 1.11.4` */
  readonly tool: string
  readonly files: readonly FrozenFile[]
}

/** Never frozen: state, plans, providers (the lock file names them), credentials, and version control of modules. */
const LEFT_OUT = [
  /^terraform\.tfstate/,
  /(^|\/)terraform\.tfstate(\.backup)?$/,
  /(^|\/)\.terraform\.tfstate/,
  /\.capt-/,
  /(^|\/)\.git(\/|$)/,
  /(^|\/)\.terraform\/providers(\/|$)/,
  /(^|\/)\.terraform\/terraform\.tfstate$/,
  /(^|\/)errored\.tfstate$/,
  /(^|\/)crash\.log$/,
]

export function packBundle(folder: string, workspace: Workspace, tool: string): Buffer {
  const files: FrozenFile[] = []
  let raw = 0
  for (const path of filesBelow(folder)) {
    if (LEFT_OUT.some((pattern) => pattern.test(path))) continue
    const { size, mode } = statSync(join(folder, path))
    raw += size
    // Compressed text rarely shrinks more than tenfold: beyond this there is no need to read and try.
    if (raw > MAX_BUNDLE_BYTES * 16) throw tooLarge(raw)
    files.push({ path, mode: mode & 0o777, data: readFileSync(join(folder, path)).toString('base64') })
  }
  const packed = gzipSync(JSON.stringify({ version: 1, workspace, tool, files }))
  if (packed.length > MAX_BUNDLE_BYTES) throw tooLarge(packed.length)
  return packed
}

function tooLarge(bytes: number): CaptError {
  const size = `${(bytes / 1024 / 1024).toFixed(1)} MiB`
  return new CaptError(
    'CAPT_BUNDLE_TOO_LARGE',
    `the module and its submodules take ${size} packed; 8 MiB can be kept with a run`,
    {
      hint: 'leave examples, tests and binaries out of the module, or refer to a smaller one',
    },
  )
}

function unpackBundle(packed: Buffer): Bundle {
  const parsed: unknown = parseJson(gunzipSync(packed).toString('utf8'))
  if (!isPlainObject(parsed) || parsed['version'] !== 1) {
    throw new CaptError('CAPT_BUNDLE_UNREADABLE', 'the inputs kept with the last run are of an unknown form', {
      hint: 'they were written by another version of capt; run that version',
    })
  }
  return parsed as unknown as Bundle
}

/** Puts the frozen files back. A path that would leave the folder is refused. */
export async function restoreFiles(folder: string, bundle: Bundle): Promise<void> {
  for (const { path, mode, data } of bundle.files) {
    const inside = normalize(path)
    if (inside.startsWith('..') || inside.startsWith(sep)) continue
    await mkdir(dirname(join(folder, inside)), { recursive: true, mode: 0o700 })
    await writeFile(join(folder, inside), Buffer.from(data, 'base64'), { mode: mode | 0o600 })
  }
}

/** Known before anything is written: the same inputs have the same name. */
export function bundleRef(packed: Buffer, hash: string, tool: string): BundleRef {
  return { id: shortHash(packed.toString('latin1')), parts: countParts(packed), bytes: packed.length, hash, tool }
}

function nameOf(key: ObjectKey, { id, slots }: BundleRef, part: number): string {
  const slot = slots?.[part]
  return slot === undefined ? bundleName(suffixOf(key), id, part) : slotName(suffixOf(key), slot)
}

/** Writing the same bundle again changes nothing. */
export async function saveBundle(objects: Objects, owner: Owner, packed: Buffer, ref: BundleRef): Promise<void> {
  const secrets = toParts(owner, 'bundle', packed, (part) => nameOf(owner, ref, part))
  for (const secret of secrets) await objects.apply(SecretKind, secret)
}

export async function loadBundle(objects: Objects, key: ObjectKey, ref: BundleRef): Promise<Bundle> {
  const parts: Buffer[] = []
  for (let part = 0; part < ref.parts; part++) {
    const name = nameOf(key, ref, part)
    const secret = await objects.get<Secret>(SecretKind, { namespace: key.namespace, name })
    const data = secret && readPart(secret, 'bundle')
    if (data === undefined) {
      throw new CaptError(
        'CAPT_BUNDLE_MISSING',
        `Secret ${key.namespace}/${name} with inputs of the last run is gone`,
        {
          hint: 'restore it from a backup, or bring the template back: the run then uses that',
        },
      )
    }
    parts.push(data)
  }
  const packed = Buffer.concat(parts)
  if (ref.slots && shortHash(packed.toString('latin1')) !== ref.id) {
    // A slot may hold what an interrupted run left in it.
    throw new CaptError('CAPT_BUNDLE_MISSING', `the inputs of the last run were not stored whole`, {
      hint: 'bring the template back: the run then uses that',
    })
  }
  return unpackBundle(packed)
}

export async function deleteBundle(objects: Objects, key: ObjectKey, ref: BundleRef): Promise<void> {
  for (let part = 0; part < ref.parts; part++) {
    await deleteHeld(objects, SecretKind, { namespace: key.namespace, name: nameOf(key, ref, part) })
  }
}

function filesBelow(folder: string, prefix = ''): readonly string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`
      if (LEFT_OUT.some((pattern) => pattern.test(path))) return []
      if (entry.isDirectory()) return filesBelow(folder, path)
      // A link is followed once: modules use them for shared files.
      return entry.isFile() || (entry.isSymbolicLink() && isFile(join(folder, path))) ? [path] : []
    })
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
