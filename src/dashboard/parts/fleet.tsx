// The fleet: how it is doing as a whole, filters, and a list of which only the rows on screen are in the document.
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { FleetRow } from '../messages.ts'
import type { Group, Order } from '../model/filter.ts'
import { ageOf } from '../model/text.ts'
import { windowOf } from '../model/window.ts'
import { counts, filter, listed, now, rows } from '../state/store.ts'
import { Copy, Link, Progress, StateIcon } from './marks.tsx'

const ROW = 56
const GROUPS: readonly (readonly [Group | undefined, string])[] = [
  [undefined, 'All'],
  ['attention', 'Need attention'],
  ['progress', 'In progress'],
  ['ready', 'Ready'],
  ['other', 'Paused or pending'],
]
const ORDERS: readonly (readonly [Order, string])[] = [
  ['attention', 'Attention first'],
  ['name', 'Name'],
  ['recent', 'Last change'],
]

export function Fleet() {
  const all = rows.value
  if (!all) return <p class="loading">Reading clusters…</p>
  return (
    <div class="fleet">
      <h1>Clusters</h1>
      {all.size === 0 ? <Empty /> : <Filters total={all.size} />}
      {all.size > 0 && <List />}
    </div>
  )
}

function Empty() {
  return (
    <div class="empty">
      <p>There is no cluster yet. To make one:</p>
      <Copy text="capt apply -f cluster.yaml" />
    </div>
  )
}

function Filters({ total }: { total: number }) {
  const change = (next: Partial<typeof filter.value>) => {
    filter.value = { ...filter.value, ...next }
  }
  return (
    <div class="filters">
      <div class="groups" role="group" aria-label="Filter by state">
        {GROUPS.map(([group, label]) => {
          const count = group === undefined ? total : counts.value[group]
          return (
            <button
              type="button"
              key={label}
              class={group === undefined ? 'chip' : `chip of-${group}`}
              aria-pressed={filter.value.group === group}
              disabled={count === 0 && filter.value.group !== group}
              onClick={() => change({ group })}
            >
              {label} <b>{count}</b>
            </button>
          )
        })}
      </div>
      <input
        id="search"
        type="search"
        placeholder="Search name, region, version, message"
        aria-label="Search clusters"
        value={filter.value.text}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <select
        aria-label="Order"
        value={filter.value.order}
        onChange={(event) => change({ order: event.currentTarget.value as Order })}
      >
        {ORDERS.map(([order, label]) => (
          <option key={order} value={order}>
            {label}
          </option>
        ))}
      </select>
    </div>
  )
}

function List() {
  const shown = listed.value
  const box = useRef<HTMLDivElement>(null)
  const scroll = useSignal({ top: 0, height: 800 })
  useEffect(() => {
    const element = box.current!
    const measure = () => {
      scroll.value = { top: element.scrollTop, height: element.clientHeight }
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => observer.disconnect()
  }, [])
  const { first, last } = windowOf(shown.length, ROW, scroll.value.top, scroll.value.height)
  const move = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    focusRow(box.current!, by, shown.length)
  }
  return (
    <div class="table" role="table" aria-label="Clusters" aria-rowcount={shown.length + 1}>
      <div class="row head" role="row" aria-rowindex={1}>
        {['Cluster', 'State', 'Version', 'Region', 'Since'].map((title) => (
          <span role="columnheader" key={title}>
            {title}
          </span>
        ))}
      </div>
      <div
        class="scroll"
        role="rowgroup"
        ref={box}
        onKeyDown={move}
        tabIndex={0}
        style={{ flexBasis: `${(shown.length || 2) * ROW}px` }}
      >
        <div class="space" role="presentation" style={{ height: `${shown.length * ROW}px` }}>
          {shown.slice(first, last).map((row, i) => (
            <Row key={row.id} row={row} index={first + i} />
          ))}
        </div>
        {shown.length === 0 && <p class="empty">No cluster matches.</p>}
      </div>
    </div>
  )
}

function Row({ row, index }: { row: FleetRow; index: number }) {
  const { namespace, name, state, word, fact, run, plans, stops, version, region } = row
  const to = { view: 'cluster', namespace, name } as const
  return (
    <div
      class="row"
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      style={{ transform: `translateY(${index * ROW}px)` }}
    >
      <span class="name" role="cell">
        <StateIcon state={state} />
        <span>
          <Link to={to}>{name}</Link>
          <small>{namespace}</small>
        </span>
      </span>
      <span class="state" role="cell">
        <span class={`word is-${state}`}>{word}</span>
        {plans > 0 && <span class="tag">{plans === 1 ? 'plan to approve' : `${plans} plans to approve`}</span>}
        {stops > 0 && state === 'ready' && (
          <span class="tag bad">{stops === 1 ? '1 problem' : `${stops} problems`}</span>
        )}
        {run ? (
          <Progress done={run.done} of={run.of} label={`${run.verb} of ${name}`} />
        ) : (
          <span class="fact" title={fact}>
            {state === 'ready' ? '' : fact}
          </span>
        )}
      </span>
      <span role="cell">{version}</span>
      <span role="cell">{region}</span>
      <span class="age" role="cell">
        {ageOf(row.since, now.value)}
      </span>
    </div>
  )
}

/** Moves the focus to the link of the next row, and scrolls as far as that row needs. */
function focusRow(box: HTMLElement, by: number, count: number): void {
  const current = document.activeElement?.closest<HTMLElement>('[data-index]')?.dataset['index']
  const index = current === undefined ? 0 : Math.min(count - 1, Math.max(0, Number(current) + by))
  const top = index * ROW
  if (top < box.scrollTop) box.scrollTop = top
  if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight
  const focus = () => box.querySelector<HTMLElement>(`[data-index="${index}"] a`)?.focus({ preventScroll: true })
  focus()
  requestAnimationFrame(focus)
}
