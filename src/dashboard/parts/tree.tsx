// The live tree of a cluster: every object with its state, one fact and an age. Arrow keys move as in any tree.
import { useSignal } from '@preact/signals'
import type { Branch } from '../messages.ts'
import { ageOf } from '../model/text.ts'
import { flatten, type TreeLine } from '../model/tree.ts'
import { now } from '../state/store.ts'
import { Link, StateIcon } from './marks.tsx'

interface TreeProps {
  readonly branch: Branch
  readonly namespace: string
  readonly cluster: string
  /** Names of applies, which have a view of their own. */
  readonly runs: ReadonlySet<string>
}

export function Tree({ branch, namespace, cluster, runs }: TreeProps) {
  const closed = useSignal<ReadonlySet<string>>(new Set())
  const toggle = (path: string, open: boolean) => {
    const next = new Set(closed.value)
    if (open) next.delete(path)
    else next.add(path)
    closed.value = next
  }
  const itemOf = (event: Event) => (event.target as Element).closest<HTMLElement>('[role=treeitem]')
  const fold = (event: MouseEvent) => {
    const item = itemOf(event)
    if (item && (event.target as Element).closest('.fold'))
      toggle(item.dataset['path']!, item.getAttribute('aria-expanded') === 'false')
  }
  const move = (event: KeyboardEvent) => {
    const item = itemOf(event)
    if (item && step(event.key, item, toggle)) event.preventDefault()
  }
  return (
    <div class="tree" role="tree" tabIndex={-1} aria-label={`Objects of ${cluster}`} onKeyDown={move} onClick={fold}>
      {flatten(branch, closed.value).map((line) => (
        <Row key={line.path} line={line} link={runs.has(line.branch.name) ? { namespace, cluster } : undefined} />
      ))}
    </div>
  )
}

/** Whether the key means something here. */
function step(key: string, item: HTMLElement, toggle: (path: string, open: boolean) => void): boolean {
  const items = [...item.parentElement!.querySelectorAll<HTMLElement>('[role=treeitem]')]
  const at = items.indexOf(item)
  const levelOf = (one: HTMLElement) => Number(one.getAttribute('aria-level'))
  const path = item.dataset['path']!
  const expanded = item.getAttribute('aria-expanded')
  const steps: Readonly<Record<string, () => void>> = {
    ArrowDown: () => items[at + 1]?.focus(),
    ArrowUp: () => items[at - 1]?.focus(),
    ArrowRight: () => (expanded === 'false' ? toggle(path, true) : items[at + 1]?.focus()),
    ArrowLeft: () =>
      expanded === 'true'
        ? toggle(path, false)
        : items.findLast((one, i) => i < at && levelOf(one) < levelOf(item))?.focus(),
    Home: () => items[0]?.focus(),
    End: () => items.at(-1)?.focus(),
    Enter: () => item.querySelector<HTMLElement>('a')?.click(),
  }
  steps[key]?.()
  return steps[key] !== undefined
}

interface RowProps {
  readonly line: TreeLine
  readonly link: { readonly namespace: string; readonly cluster: string } | undefined
}

function Row({ line: { branch, path, depth, isOpen }, link }: RowProps) {
  const [kind, name] = branch.name.includes('/') ? branch.name.split('/', 2) : [undefined, branch.name]
  return (
    <div
      class="branch"
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={isOpen}
      tabIndex={depth === 0 ? 0 : -1}
      data-path={path}
      style={{ '--depth': depth }}
    >
      <span class={isOpen === undefined ? '' : 'fold'} aria-hidden="true">
        {isOpen === undefined ? '' : isOpen ? '▾' : '▸'}
      </span>
      <StateIcon state={branch.state} />
      <span class="title">
        {kind && <small>{kind}</small>}
        {link ? (
          <Link to={{ view: 'run', namespace: link.namespace, name: link.cluster, run: branch.name }}>{name}</Link>
        ) : (
          name
        )}
      </span>
      <span class={`word is-${branch.state}`}>{branch.word}</span>
      <span class="fact">{branch.fact}</span>
      <span class="age">{ageOf(branch.since, now.value)}</span>
    </div>
  )
}
