// Reads what a person points a command at: files, folders of manifests, or standard input.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { checkManifests, type Manifest, readManifests, toCaptError, upgradeManifests } from '#api'
import { CaptError, fileFaultOf } from '#lib'
import type { Io } from './command.ts'
import { hangingLine } from './hanging-line.ts'

interface SourceText {
  readonly name: string
  readonly text: string
}

const MANIFEST = /\.(ya?ml|json)$/

/** Every file named, every manifest below every folder named, in a stable order; standard input when nothing is named. */
export async function readSources(names: readonly string[], io: Io): Promise<SourceText[]> {
  const wanted = names.length === 0 ? ['-'] : names
  const texts: SourceText[] = []
  for (const name of wanted) texts.push(...(await readOne(name, io)))
  return texts
}

async function readOne(name: string, io: Io): Promise<SourceText[]> {
  if (name === '-' || !(await isFolder(resolve(io.cwd, name)))) return [await readSource(name, io)]
  const entries = await readdir(resolve(io.cwd, name), { recursive: true })
  const files = entries.filter((entry) => MANIFEST.test(entry)).sort()
  return await Promise.all(files.map((file) => readSource(join(name, file), io)))
}

/** The manifests of files, folders and standard input: all of them are read and checked, or an error is thrown. */
export async function loadManifests(files: readonly string[], io: Io): Promise<readonly Manifest[]> {
  const sources = await readSources(files, io)
  const manifests = sources.flatMap(({ name, text }) => readManifests(text, name))
  if (manifests.length === 0)
    throw new CaptError('CAPT_INVALID', `There is no manifest in ${files.join(', ')}`, {
      hint: 'a manifest has apiVersion, kind and metadata.name',
    })
  const upgraded = upgradeManifests(manifests)
  for (const note of upgraded.notes) io.stderr.write(`note: ${note}\n`)
  const [first, ...more] = checkManifests(upgraded.manifests)
  if (!first) return upgraded.manifests
  const write = (head: string, text: string) => io.stderr.write(hangingLine(head, text, io.stderr))
  for (const { subject, path, message, at, hint } of more.slice(0, 20)) {
    write('also: ', `${subject}: ${path ? `${path}: ` : ''}${message}`)
    write('  at   ', at)
    if (hint) write('  hint ', hint)
  }
  const error = toCaptError(first, more.length)
  throw new CaptError(error.code, error.message, {
    at: first.at,
    hint: [first.hint, 'nothing was applied'].filter(Boolean).join('; '),
  })
}

export async function readSource(name: string, io: Io): Promise<SourceText> {
  if (name === '-') {
    return { name: 'standard input', text: Buffer.concat(await Array.fromAsync(io.stdin)).toString('utf8') }
  }
  try {
    return { name, text: await readFile(resolve(io.cwd, name), 'utf8') }
  } catch (error) {
    throw new CaptError('CAPT_FILE_UNREADABLE', `${name} cannot be read: ${fileFaultOf(error)}`, {
      hint: 'give a file or folder that exists',
      cause: error,
    })
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}
