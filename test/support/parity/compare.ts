// Asks both servers and names every field in which their answers differ. What the two choose themselves (uids, times,
// versions) is masked.
import { isDeepStrictEqual } from 'node:util'
import type { Loose, RawAnswer, RawApi, RawOptions } from '#testing'
import type { Difference } from './differences.ts'
import type { Ask, Memory, Step } from './step.ts'

export interface Side {
  readonly api: RawApi
  readonly memory: Memory
}

export interface Verdict {
  /** One line per field that differs without a reason. */
  readonly unexplained: readonly string[]
  /** Reasons that a step gives although nothing differs any more. */
  readonly outdated: readonly string[]
}

const PATIENCE_MS = 240_000

/** `reasons` are the differences that are known to show in this step. */
export async function compareStep(
  step: Step,
  ours: Side,
  real: Side,
  reasons: readonly Pick<Difference, 'name' | 'lines'>[] = [],
): Promise<Verdict> {
  if (step.realOnly) {
    await perform(step, real)
    return { unexplained: [], outdated: [] }
  }
  const [mine, theirs] = [await perform(step, ours), await perform(step, real)]
  const [left, right] = step.narrow ? step.narrow(mine, theirs) : [mine, theirs]
  const lines = differences(mask(left, ''), mask(right, ''), '')
  return {
    unexplained: lines.filter((line) => !reasons.some((reason) => reason.lines.test(line))),
    outdated: reasons.filter((reason) => !lines.some((line) => reason.lines.test(line))).map((reason) => reason.name),
  }
}

async function perform(step: Step, side: Side): Promise<Loose> {
  if (step.events !== undefined) return { events: (await watchWhile(step, side)) as unknown as Loose }
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const answer = await ask(step, side)
    const isDone = step.until === undefined || step.until(answer)
    if (!isDone && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      continue
    }
    if (isDone) Object.assign(side.memory, step.remember?.(answer))
    const { code, headers, body } = answer
    const type = `${headers['content-type'] ?? ''}`
    return { code, type, warning: headers['warning'], body } as unknown as Loose
  }
}

function ask({ method, path, body, ...rest }: Ask, { api, memory }: Side): Promise<RawAnswer> {
  const options: RawOptions = {
    ...(rest.type ? { type: rest.type } : {}),
    ...(rest.accept ? { accept: rest.accept } : {}),
    ...(rest.token === undefined ? {} : { token: rest.token }),
  }
  const sent = typeof body === 'function' ? (body as (memory: Memory) => unknown)(memory) : body
  return api.call(method, fill(path, memory), sent, options)
}

function fill(path: string, memory: Memory): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(memory[name] ?? `nothing-about-${name}`))
}

async function watchWhile(step: Step, side: Side): Promise<readonly unknown[]> {
  const watch = await side.api.watch(fill(step.path, side.memory), step.accept ? { accept: step.accept } : {})
  try {
    for (const one of step.meanwhile ?? []) await ask(one, side)
    await watch.until(step.events!)
    return watch.events.slice(0, step.events)
  } finally {
    watch.close()
  }
}

const CHOSEN = new Set([
  'uid',
  'creationTimestamp',
  'time',
  'resourceVersion',
  'deletionTimestamp',
  'lastTransitionTime',
  'continue',
])

function mask(value: unknown, key: string): unknown {
  if (typeof value === 'string') {
    if (CHOSEN.has(key) && value !== '') return `<${key}>`
    return value
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
      .replace(/\b(\d+[dhms])+\b/, '<age>')
      .replace(/\b(made-|Made_|kube-api-access-)[a-z0-9]{5}\b/g, '$1<letters>')
  }
  if (Array.isArray(value)) {
    const list = value.map((item) => mask(item, ''))
    // Owners are sorted by their times, which the two servers do not share.
    return key === 'managedFields' ? list.sort((a, b) => (ownerText(a) < ownerText(b) ? -1 : 1)) : list
  }
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [`${mask(name, '')}`, mask(inner, name)]))
}

function ownerText(entry: unknown): string {
  const { manager, operation, subresource } = entry as Record<string, string>
  return `${manager} ${operation} ${subresource ?? ''}`
}

function differences(ours: unknown, real: unknown, path: string): string[] {
  if (isDeepStrictEqual(ours, real)) return []
  const both = [ours, real].every((value) => value !== null && typeof value === 'object')
  if (!both || Array.isArray(ours) !== Array.isArray(real)) {
    return [`${path}: ours ${JSON.stringify(ours)}, real ${JSON.stringify(real)}`]
  }
  const [a, b] = [ours as Record<string, unknown>, real as Record<string, unknown>]
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].flatMap((name) => differences(a[name], b[name], path === '' ? name : `${path}.${name}`))
}
