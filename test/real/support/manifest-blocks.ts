// The manifests that people may copy: every file under examples/ and every YAML block in the pages.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { isPlainObject } from '#lib'

export interface Block {
  /** `docs/install.md:31`. */
  readonly at: string
  readonly text: string
  readonly objects: readonly { readonly apiVersion: string; readonly kind: string }[]
}

export function manifestBlocks(root: string): Block[] {
  const pages = ['README.md', ...below(root, 'docs', '.md')].filter((path) => existsSync(join(root, path)))
  return [
    ...below(root, 'examples', '.yaml').map((path) => toBlock(`${path}:1`, readFileSync(join(root, path), 'utf8'))),
    ...pages.flatMap((path) => fences(path, readFileSync(join(root, path), 'utf8'))),
  ].filter(({ objects }) => objects.length > 0)
}

function below(root: string, folder: string, end: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(end))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

function fences(path: string, page: string): Block[] {
  return [...page.matchAll(/^( *)```ya?ml\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const line = page.slice(0, match.index).split('\n').length
    return toBlock(`${path}:${line}`, match[2]!.replaceAll(new RegExp(`^${match[1]}`, 'gm'), ''))
  })
}

/** Text that is no list of whole objects, such as a part of one, has no objects. */
function toBlock(at: string, text: string): Block {
  const documents = parseAllDocuments(text)
  if (documents.some(({ errors }) => errors.length > 0)) throw new Error(`${at}: is not YAML`)
  const values = documents.map((document) => document.toJS() as unknown).filter((value) => value !== null)
  const isObject = (value: unknown): value is Block['objects'][number] =>
    isPlainObject(value) && typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string'
  return { at, text, objects: values.every(isObject) ? values : [] }
}
