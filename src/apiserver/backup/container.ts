// Several files as one stream of bytes: a line of JSON with their names and sizes, then their contents in that order.
import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isPlainObject, parseJson } from '#lib'

interface Entry {
  readonly name: string
  readonly bytes: number
}

const NEWLINE = 0x0a

/** Every file of the folder, by name. The folder must not change meanwhile. */
export async function* packFolder(folder: string): AsyncGenerator<Buffer> {
  const files: Entry[] = readdirSync(folder)
    .sort()
    .map((name) => ({ name, bytes: statSync(join(folder, name)).size }))
  yield Buffer.from(`${JSON.stringify({ files })}\n`)
  for (const { name } of files) for await (const chunk of createReadStream(join(folder, name))) yield chunk as Buffer
}

/** Undefined when the bytes are not exactly what their first line says. */
export function unpackFiles(bytes: Buffer): ReadonlyMap<string, Buffer> | undefined {
  const end = bytes.indexOf(NEWLINE)
  const entries = end < 0 ? undefined : readEntries(bytes.toString('utf8', 0, end))
  if (!entries) return undefined
  const files = new Map<string, Buffer>()
  let at = end + 1
  for (const { name, bytes: size } of entries) {
    files.set(name, bytes.subarray(at, at + size))
    at += size
  }
  return at === bytes.length && files.size === entries.length ? files : undefined
}

function readEntries(line: string): readonly Entry[] | undefined {
  try {
    const value = parseJson(line)
    const files: unknown = isPlainObject(value) ? value['files'] : undefined
    return Array.isArray(files) && files.every(isEntry) ? files : undefined
  } catch {
    return undefined
  }
}

function isEntry(value: unknown): value is Entry {
  if (!isPlainObject(value)) return false
  const { name, bytes } = value
  return typeof name === 'string' && typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0
}
