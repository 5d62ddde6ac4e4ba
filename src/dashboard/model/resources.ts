// The resources of a run: planned, under way, done. From the lines of its log, or from its plan where the log is elsewhere
// or has none. Pure.
import type { RunView } from '../messages.ts'

type Step = 'planned' | 'working' | 'done' | 'failed'

export interface Resource {
  readonly address: string
  /** create, update, delete, replace. */
  readonly action: string
  readonly step: Step
  readonly took: string
}

const LINE = /^\d{2}:\d{2}:\d{2} (.+?): ((?:plan to|Creat|Modif|Destr).*)$/
const BEGUN: Readonly<Record<string, string>> = { Creating: 'create', Modifying: 'update', Destroying: 'delete' }
const ENDED = /^(Creation|Modifications|Destruction) complete after (\S+)/
const ACTION: Readonly<Record<string, string>> = { Creation: 'create', Modifications: 'update', Destruction: 'delete' }

/** The resource that a line is about, as the line describes it. */
function readResource(line: string): Resource | undefined {
  const [, address, text] = LINE.exec(line) ?? []
  if (address === undefined || text === undefined) return undefined
  const planned = /^plan to (\w+)/.exec(text)?.[1]
  if (planned) return { address, action: planned, step: 'planned', took: '' }
  const ended = ENDED.exec(text)
  if (ended) return { address, action: ACTION[ended[1]!]!, step: 'done', took: ended[2]! }
  const begun = /^(Creating|Modifying|Destroying)\b/.exec(text)?.[1]
  if (begun) return { address, action: BEGUN[begun]!, step: 'working', took: '' }
  return / errored\b/.test(text) ? { address, action: '', step: 'failed', took: '' } : undefined
}

/** In the order in which they were first named; the last line about a resource counts. */
export function resourcesOf(lines: readonly string[]): readonly Resource[] {
  const found = new Map<string, Resource>()
  for (const line of lines) {
    const one = readResource(line)
    if (!one) continue
    const before = found.get(one.address)
    // A replacement is destroyed first and made afterwards: it stays a replacement.
    const action = before?.action === 'replace' || one.action === '' ? (before?.action ?? '') : one.action
    found.set(one.address, { ...one, action })
  }
  return [...found.values()]
}

/** What the status knows: the changes of the plan, and the resource that Terraform works on. */
export function plannedResources({ plan, address: current, phase }: RunView): readonly Resource[] {
  return (plan?.changes ?? []).map(({ address, action }) => {
    const step = phase === 'Succeeded' ? 'done' : address === current ? 'working' : 'planned'
    return { address, action, step, took: '' }
  })
}
