// Reads Terraform's JSON lines: what is planned, what is done, what went wrong. Pure; unknown types are ignored, a
// line that is not JSON is output of another program and is kept as text.
import { type PlannedChange, reasonText } from './runner/plan/changes.ts'
import { type Fields, fieldsOf, textOf } from './runner/plan/fields.ts'

export interface PlanCounts {
  readonly add: number
  readonly change: number
  readonly destroy: number
  readonly replace: number
  /** Resources with another address than before; left out when there is none. */
  readonly moved?: number
}

export interface Diagnostic {
  readonly summary: string
  readonly detail: string
  readonly address: string
  /** `main.tf:14`, when it is about text. */
  readonly at: string
}

export type Message =
  | ({ readonly is: 'planned' } & PlannedChange)
  | { readonly is: 'started'; readonly address: string; readonly action: string; readonly text: string }
  | { readonly is: 'finished'; readonly address: string; readonly action: string; readonly text: string }
  | { readonly is: 'errored'; readonly address: string; readonly action: string; readonly text: string }
  | { readonly is: 'diagnostic'; readonly level: 'error' | 'warning'; readonly diagnostic: Diagnostic }
  | { readonly is: 'text'; readonly text: string }

export function readMessage(line: string): Message | undefined {
  if (line.trim() === '') return undefined
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    return { is: 'text', text: line }
  }
  const fields = fieldsOf(parsed)
  const text = textOf(fields['@message'])
  const hook = fieldsOf(fields['hook'])
  const address = textOf(fieldsOf(hook['resource'])['addr'])
  const action = textOf(hook['action'])
  switch (fields['type']) {
    case 'planned_change': {
      const change = fieldsOf(fields['change'])
      const reason = reasonText(textOf(change['reason']))
      const from = textOf(fieldsOf(change['previous_resource'])['addr'])
      return {
        is: 'planned',
        address: textOf(fieldsOf(change['resource'])['addr']),
        action: textOf(change['action']),
        ...(reason === undefined ? {} : { reason }),
        ...(from === '' ? {} : { from }),
      }
    }
    case 'apply_start':
      return { is: 'started', address, action, text }
    case 'apply_complete':
      return { is: 'finished', address, action, text }
    case 'apply_errored':
      return { is: 'errored', address, action, text }
    case 'diagnostic':
      return readDiagnostic(fieldsOf(fields['diagnostic']))
    default:
      return text === '' ? undefined : { is: 'text', text }
  }
}

function readDiagnostic(fields: Fields): Message {
  const range = fieldsOf(fields['range'])
  const file = textOf(range['filename'])
  const start = fieldsOf(range['start'])['line']
  const line = typeof start === 'number' ? start : 1
  const varFile = VARIABLES_FILE.exec(file)
  const variable = varFile ? variableIn(fieldsOf(fields['snippet']), textOf(fields['detail'])) : ''
  return {
    is: 'diagnostic',
    level: fields['severity'] === 'error' ? 'error' : 'warning',
    diagnostic: {
      summary: textOf(fields['summary']),
      detail: textOf(fields['detail']),
      address: textOf(fields['address']) || variable,
      at: varFile ? placeInVariables(varFile[1]!, line, variable) : file === '' ? '' : `${file}:${line}`,
    },
  }
}

/** Files with variables are ours: their paths say nothing to a person, the name of the variable does. */
const VARIABLES_FILE = /(?:^|\/)([^/]+)\.tfvars(?:\.json)?$/

/** The name before the value that Terraform points at, in HCL or JSON; its detail names it otherwise. */
function variableIn(snippet: Fields, detail: string): string {
  const offset = snippet['highlight_start_offset']
  const before = Buffer.from(textOf(snippet['code'])).subarray(0, typeof offset === 'number' ? offset : 0)
  const name = /([A-Za-z_][\w-]*)"?\s*[:=]\s*$/.exec(before.toString('utf8'))?.[1]
  return name === undefined ? (/\bvar\.[A-Za-z_][\w-]*/.exec(detail)?.[0] ?? '') : `var.${name}`
}

function placeInVariables(name: string, line: number, variable: string): string {
  if (variable !== '') return variable
  return /^\d+$/.test(name) ? `varFiles[${Number(name)}]:${line}` : ''
}

/** What the messages of one run have reported so far. Grows with the number of resources, not of lines. */
export class Progress {
  /** What is planned for each address, and how many of each: counting again at every line would cost more than the run. */
  readonly #planned = new Map<string, PlannedChange>()
  readonly #actions = new Map<string, number>()
  readonly #inFlight = new Map<string, string>()
  /** What was done to each address. */
  readonly #finished = new Map<string, string>()
  readonly #errored = new Map<string, string>()
  readonly errors: Diagnostic[] = []
  /** Variables that Terraform warned about: they have a value and no declaration. */
  readonly undeclared = new Set<string>()
  #moved = 0
  #steps = 0
  #address = ''

  add(message: Message): void {
    switch (message.is) {
      case 'planned':
        this.#plan(message)
        return
      case 'started':
        this.#address = message.address
        this.#inFlight.set(message.address, message.action)
        return
      case 'finished':
        this.#inFlight.delete(message.address)
        // The object that a new one has replaced may be deleted after it.
        if (message.action !== 'delete' || this.#finished.get(message.address) !== 'create')
          this.#finished.set(message.address, message.action)
        this.#steps++
        return
      case 'errored':
        this.#inFlight.delete(message.address)
        this.#errored.set(message.address, message.action)
        return
      case 'diagnostic':
        if (message.level === 'error' && this.errors.length < 20) this.errors.push(message.diagnostic)
        if (message.level === 'warning') this.#warn(message.diagnostic)
        return
      default:
    }
  }

  #warn({ summary, detail }: Diagnostic): void {
    const name = summary === 'Value for undeclared variable' ? /variable named "([^"]+)"/.exec(detail)?.[1] : undefined
    if (name !== undefined) this.undeclared.add(name)
  }

  #plan({ is: _is, ...change }: Extract<Message, { readonly is: 'planned' }>): void {
    const { address, action } = change
    const before = this.#planned.get(address)?.action
    if (action === 'noop' || action === 'read' || action === before) return
    if (before !== undefined) this.#actions.set(before, (this.#actions.get(before) ?? 0) - 1)
    this.#planned.set(address, change)
    this.#actions.set(action, (this.#actions.get(action) ?? 0) + 1)
    if (change.from !== undefined && before === undefined) this.#moved++
  }

  get changes(): readonly PlannedChange[] {
    return [...this.#planned.values()]
  }

  get counts(): PlanCounts {
    const of = (action: string) => this.#actions.get(action) ?? 0
    const moved = this.#moved
    return {
      add: of('create'),
      change: of('update'),
      destroy: of('delete'),
      replace: of('replace'),
      ...(moved > 0 ? { moved } : {}),
    }
  }

  get total(): number {
    const { add, change, destroy, replace } = this.counts
    return add + change + destroy + 2 * replace
  }

  /** `31 of 54`; empty as long as nothing is planned. */
  get text(): string {
    return this.total === 0 ? '' : `${Math.min(this.#steps, this.total)} of ${this.total}`
  }

  /** The resource that Terraform began last. */
  get address(): string {
    return this.#address
  }

  /** What is planned for each address. */
  get planned(): ReadonlyMap<string, PlannedChange> {
    return this.#planned
  }

  /** Addresses under way, and those reported as made: what a killed run may have left out of the state. */
  get inFlight(): ReadonlyMap<string, string> {
    return this.#inFlight
  }

  get finished(): ReadonlyMap<string, string> {
    return this.#finished
  }

  /** Terraform may have made part of them: only the state that it wrote after that knows. */
  get errored(): ReadonlyMap<string, string> {
    return this.#errored
  }
}
