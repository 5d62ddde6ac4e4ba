// Which objects a command means: kinds and names on the command line, manifests of files, a label selector, namespaces.
import { type AnyObject, apiVersionOf, type KindRef, notFound } from '#api'
import { askServer, type Connected, kindFinder } from '#kube'
import { CaptError, parseJson, parseSelector } from '#lib'
import { type Arguments, filesOption, type Io, type Option } from '../command.ts'
import { findKind, selectionsOf } from '../resources.ts'
import { loadManifests } from '../sources.ts'

export const FILE_OPTION = filesOption('The objects of a file, a folder or - for standard input.')

export const SELECTOR_OPTION = {
  selector: {
    type: 'string',
    short: 'l',
    value: 'SELECTOR',
    about: 'Only objects with these labels: app=web,tier!=db.',
    check: (value) =>
      isSelector(value) ? undefined : 'write key=value, key!=value, key, !key or "key in (a,b)", with commas between',
  },
} as const satisfies Record<string, Option>

export const EVERYWHERE_OPTION = {
  'all-namespaces': { type: 'boolean', short: 'A', about: 'Look into every namespace.' },
} as const satisfies Record<string, Option>

function isSelector(text: string): boolean {
  try {
    parseSelector(text, () => new Error())
    return true
  } catch {
    return false
  }
}

/** Objects of one kind in one namespace; all of them when no name is given. */
export interface Group {
  readonly kind: KindRef
  readonly names: readonly string[]
  /** Undefined: every namespace. */
  readonly namespace: string | undefined
  readonly selector?: string
}

export const filesOf = (args: Arguments): readonly string[] =>
  (args.values['filename'] as readonly string[] | undefined) ?? []

/** `words` are the positional arguments; empty groups when neither they nor a file name anything. */
export async function groupsOf(
  words: readonly string[],
  args: Arguments,
  { connected, io, command }: { readonly connected: Connected; readonly io: Io; readonly command: string },
): Promise<readonly Group[]> {
  const files = filesOf(args)
  const selector = args.values['selector']
  const isEverywhere = args.values['all-namespaces'] === true
  if (files.length > 0) {
    if (words.length > 0 || selector !== undefined)
      throw new CaptError('CAPT_USAGE', 'Objects are named by a file or by words and labels, not by both', {
        hint: `capt ${command} -f cluster.yaml, or capt ${command} cluster demo`,
      })
    return groupsOfFiles(files, connected, io)
  }
  const groups: Group[] = []
  for (const { word, names } of selectionsOf(words, command)) {
    const kind = await findKind(word, connected)
    if (names.length > 0 && (selector !== undefined || isEverywhere))
      throw new CaptError(
        'CAPT_USAGE',
        `Names cannot be combined with ${selector === undefined ? '--all-namespaces' : '--selector'}`,
        { hint: selector === undefined ? 'name the namespace with -n' : 'leave out the names, or the selector' },
      )
    groups.push({
      kind,
      names,
      namespace: isEverywhere ? undefined : connected.namespace,
      ...(typeof selector === 'string' ? { selector } : {}),
    })
  }
  return groups
}

/** The objects of manifests, grouped by kind and namespace in the order of the files. */
async function groupsOfFiles(files: readonly string[], connected: Connected, io: Io): Promise<readonly Group[]> {
  const find = kindFinder(connected)
  const groups = new Map<string, Group>()
  for (const { object } of await loadManifests(files, io)) {
    const kind = await find(object.apiVersion, object.kind)
    const namespace = object.metadata.namespace ?? connected.namespace
    const id = `${kind.group}/${kind.kind}/${namespace}`
    const names = [...(groups.get(id)?.names ?? []), object.metadata.name]
    groups.set(id, { kind, names: [...new Set(names)], namespace })
  }
  return [...groups.values()]
}

/** Answers for a group, one per request: a list, or one per name. Names that do not exist are in `missing`. */
export async function askGroup(group: Group, accept: string, connected: Connected) {
  const { kind, names } = group
  const bodies: string[] = []
  const missing: CaptError[] = []
  for (const name of names.length === 0 ? [undefined] : names) {
    const what = `get ${kind.kind}${name === undefined ? 's' : ` ${name}`}`
    const body = await askServer(connected, pathOf(group, name), { what, accept, kind })
    if (body !== undefined) bodies.push(body)
    else if (name === undefined) throw notServed(kind, connected)
    else missing.push(notFound(kind, { namespace: group.namespace ?? connected.namespace, name }))
  }
  return { bodies, missing }
}

/** The objects of a group as the server has them. */
export async function readGroup(group: Group, connected: Connected) {
  const { bodies, missing } = await askGroup(group, 'application/json', connected)
  const { kind } = group
  const objects = bodies
    .map((body) => parseJson(body) as AnyObject & { readonly items?: readonly AnyObject[] })
    .flatMap((found) => found.items ?? [found])
    .map((object): AnyObject => ({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind }))
  return { objects, missing }
}

function pathOf({ kind, namespace, selector }: Group, name?: string): string {
  const base = kind.group === '' ? `/api/${kind.version}` : `/apis/${apiVersionOf(kind)}`
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const query = selector === undefined ? '' : `?labelSelector=${encodeURIComponent(selector)}`
  return `${base}${scope}/${kind.plural}${name === undefined ? query : `/${encodeURIComponent(name)}`}`
}

function notServed(kind: KindRef, { server }: Connected): CaptError {
  return new CaptError('CAPT_KUBE_KIND_NOT_SERVED', `${server} does not serve ${kind.kind} in ${apiVersionOf(kind)}`, {
    hint: 'install capt there, or use an embedded home: capt up --data DIR',
  })
}
