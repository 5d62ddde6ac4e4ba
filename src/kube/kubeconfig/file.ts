// Reads kubeconfig files and merges them the way kubectl does: the first file that names a cluster, user, context or
// the current context wins. Says which file and field is wrong; never quotes a value, which may be a secret.
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { CaptError, isPlainObject } from '#lib'

export type Fields = Readonly<Record<string, unknown>>

export interface Entry {
  readonly fields: Fields
  /** File the entry was read from, and the folder its relative paths start at. */
  readonly file: string
  readonly folder: string | undefined
}

export interface Kubeconfig {
  readonly currentContext: string | undefined
  readonly clusters: ReadonlyMap<string, Entry>
  readonly users: ReadonlyMap<string, Entry>
  readonly contexts: ReadonlyMap<string, Entry>
  /** For messages: the file, or all of them. */
  readonly origin: string
}

export function invalid(message: string, file: string, hint: string, cause?: unknown): CaptError {
  const options = { hint, at: file, ...(cause === undefined ? {} : { cause }) }
  return new CaptError('CAPT_KUBECONFIG_INVALID', message, options)
}

/** Files to read: the one given, those of KUBECONFIG, or the one in the home folder. */
export function kubeconfigPaths(env: Readonly<Record<string, string | undefined>>, path?: string): string[] {
  if (path !== undefined) return [path]
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((entry) => entry !== '')
  return listed.length > 0 ? listed : [join(env['HOME'] || homedir(), '.kube', 'config')]
}

export async function readKubeconfigFiles(paths: readonly string[]): Promise<Kubeconfig> {
  const found: Kubeconfig[] = []
  for (const path of paths) {
    const text = await readIfThere(path)
    if (text !== undefined) found.push(await parseKubeconfig(text, path, dirname(path)))
  }
  if (found.length === 0) {
    throw new CaptError('CAPT_KUBECONFIG_NOT_FOUND', `There is no kubeconfig at ${paths.join(' or ')}`, {
      hint: 'pass --kubeconfig, set KUBECONFIG, or create the file',
    })
  }
  return merge(found)
}

export async function parseKubeconfig(text: string, file: string, folder?: string): Promise<Kubeconfig> {
  const root = await parseText(text, file)
  if (!isPlainObject(root)) throw invalid('The kubeconfig is not a map', file, 'it needs clusters, users and contexts')
  if (root['kind'] !== undefined && root['kind'] !== 'Config') {
    throw invalid('kind: is not Config', file, 'this file is some other manifest: name a kubeconfig')
  }
  const current = root['current-context']
  return {
    currentContext: typeof current === 'string' && current !== '' ? current : undefined,
    clusters: entriesOf(root, 'clusters', 'cluster', file, folder),
    users: entriesOf(root, 'users', 'user', file, folder),
    contexts: entriesOf(root, 'contexts', 'context', file, folder),
    origin: file,
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const code = (cause as { code?: string }).code
    if (code === 'ENOENT') return undefined
    throw new CaptError('CAPT_KUBECONFIG_UNREADABLE', `The kubeconfig ${path} cannot be read (${code})`, {
      hint: 'check that it is a file and that you may read it',
      at: path,
      cause,
    })
  }
}

async function parseText(text: string, file: string): Promise<unknown> {
  try {
    return JSON.parse(text)
  } catch {
    // YAML then. The parser costs a megabyte, so only those pay who need it.
  }
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text)
  const [fault] = document.errors
  if (!fault) return document.toJS()
  // The parser's message quotes the line; only the place and the kind of fault leave here.
  const place = fault.linePos ? `line ${fault.linePos[0].line}` : 'somewhere'
  throw new CaptError('CAPT_KUBECONFIG_UNREADABLE', `The kubeconfig ${file} is neither YAML nor JSON`, {
    hint: `correct ${place}: ${fault.code}`,
    at: fault.linePos ? `${file}:${fault.linePos[0].line}` : file,
  })
}

function entriesOf(root: Fields, list: string, inner: string, file: string, folder?: string): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  const items = root[list] ?? []
  if (!Array.isArray(items))
    throw invalid(`${list}: is not a list`, file, `write ${list} as a list of name and ${inner}`)
  for (const [i, item] of items.entries()) {
    const at = `${list}[${i}]`
    const name: unknown = isPlainObject(item) ? item['name'] : undefined
    if (typeof name !== 'string') throw invalid(`${at}.name: is missing`, file, 'give every entry a name')
    const fields: unknown = (item as Fields)[inner] ?? {}
    if (!isPlainObject(fields)) throw invalid(`${at}.${inner}: is not a map`, file, `see the entry named ${name}`)
    if (!entries.has(name)) entries.set(name, { fields, file, folder })
  }
  return entries
}

function merge(found: readonly Kubeconfig[]): Kubeconfig {
  const first = (pick: (config: Kubeconfig) => ReadonlyMap<string, Entry>) =>
    new Map([...found].reverse().flatMap((config) => [...pick(config)]))
  return {
    currentContext: found.find(({ currentContext }) => currentContext !== undefined)?.currentContext,
    clusters: first(({ clusters }) => clusters),
    users: first(({ users }) => users),
    contexts: first(({ contexts }) => contexts),
    origin: found.map(({ origin }) => origin).join(delimiter),
  }
}
