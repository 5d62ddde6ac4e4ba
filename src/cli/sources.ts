// Reads what a person points a command at: files, folders of manifests, or standard input.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CaptError, messageOf } from '#lib'
import type { Io } from './command.ts'

export interface SourceText {
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

export async function readSource(name: string, io: Io): Promise<SourceText> {
  if (name === '-') {
    const chunks: Uint8Array[] = []
    for await (const chunk of io.stdin) chunks.push(chunk)
    return { name: 'standard input', text: Buffer.concat(chunks).toString('utf8') }
  }
  try {
    return { name, text: await readFile(resolve(io.cwd, name), 'utf8') }
  } catch (error) {
    throw new CaptError('CAPT_FILE_UNREADABLE', `${name} cannot be read: ${messageOf(error)}`, {
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
