// Everything that the page knows, as signals; only the stream writes to it.
import { computed, signal } from '@preact/signals'
import type { ClusterSections, FleetRow, Hello, LogMessage, PlanMessage } from '../messages.ts'
import { countGroups, type Filter, selectRows } from '../model/filter.ts'
import { pathOf, type Route, routeOf, topicOf } from '../model/route.ts'
import { openStream, type StreamState } from './stream.ts'
import { readToken, storeToken } from './token.ts'

const MAX_LINES = 4_000

const token = signal(readToken())
export const route = signal<Route>(routeOf(location.pathname))
export const connection = signal<StreamState>({ is: 'connecting', message: '' })
export const hello = signal<Hello | undefined>(undefined)
/** What is wrong with the API server; empty when it answers. */
export const upstream = signal('')
export const now = signal(Date.now())

export const rows = signal<ReadonlyMap<string, FleetRow> | undefined>(undefined)
export const filter = signal<Filter>({ text: '', order: 'attention' })
export const listed = computed(() => selectRows(rows.value?.values() ?? [], filter.value))
export const counts = computed(() => countGroups(rows.value?.values() ?? []))

/** Undefined until the first answer; null when there is no such cluster. */
export const cluster = signal<ClusterSections | null | undefined>(undefined)
export const log = signal<LogMessage | undefined>(undefined)
export const plan = signal<PlanMessage | null>(null)

let close = () => {}
let shown = ''

function follow(): void {
  close()
  if (token.value === '') {
    connection.value = { is: 'refused', message: '' }
    return
  }
  close = openStream(
    topicOf(route.value),
    token.value,
    {
      hello: (message) => {
        hello.value = message
        upstream.value = ''
      },
      fleet: (message) => {
        rows.value = new Map(message.rows.map((row) => [row.id, row]))
      },
      rows: ({ set, gone }) => {
        const next = new Map(rows.value)
        for (const row of set) next.set(row.id, row)
        for (const id of gone) next.delete(id)
        rows.value = next
      },
      cluster: ({ gone, sections }) => {
        cluster.value = gone ? null : ({ ...cluster.value, ...sections } as ClusterSections)
      },
      log: (message) => {
        const before = message.reset ? [] : (log.value?.lines ?? [])
        log.value = { ...message, lines: [...before, ...message.lines].slice(-MAX_LINES) }
      },
      plan: (message) => {
        plan.value = message.plan
      },
      upstream: ({ message }) => {
        upstream.value = message
      },
    },
    (state) => {
      connection.value = state
    },
  )
}

/** Shows the view of the address bar; what belongs to another cluster or run is dropped. */
function show(): void {
  const next = routeOf(location.pathname)
  const id = next.view === 'fleet' ? '' : `${next.namespace}/${next.name}`
  if (id !== shown) cluster.value = undefined
  shown = id
  log.value = undefined
  plan.value = null
  route.value = next
  follow()
}

export function go(next: Route): void {
  history.pushState(null, '', pathOf(next))
  show()
  scrollTo(0, 0)
}

export function signIn(text: string): void {
  token.value = storeToken(text)
  follow()
}

export function start(): void {
  addEventListener('popstate', show)
  // A new link in the same tab brings a new token.
  addEventListener('hashchange', () => {
    token.value = readToken()
    follow()
  })
  setInterval(() => {
    if (!document.hidden) now.value = Date.now()
  }, 1_000)
  show()
}

interface Answer {
  readonly isDone: boolean
  readonly message: string
}

export async function decide(namespace: string, name: string, hash: string, deny: boolean): Promise<Answer> {
  try {
    const response = await fetch('/api/approve', {
      method: 'POST',
      headers: { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' },
      body: JSON.stringify({ namespace, name, plan: hash, deny }),
    })
    const answer = (await response.json()) as { message?: string; hint?: string; user?: string; isSuspended?: boolean }
    if (!response.ok)
      return { isDone: false, message: [answer.message ?? 'It was refused', answer.hint].filter(Boolean).join('; ') }
    const suspended = answer.isSuspended ? ' It is suspended: nothing starts before spec.suspend is false.' : ''
    return { isDone: true, message: `${deny ? 'Denied' : 'Approved'} as ${answer.user}.${suspended}` }
  } catch {
    return { isDone: false, message: 'capt does not answer; nothing was approved' }
  }
}
