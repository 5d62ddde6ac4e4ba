// Small signs that several views share: states, buttons that copy, progress, links between views.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { State } from '../messages.ts'
import { pathOf, type Route } from '../model/route.ts'
import { piecesOf } from '../model/text.ts'
import { go } from '../state/store.ts'

/** Shapes differ as well as colours. */
const SHAPES: Readonly<Record<State | 'planned', string>> = {
  planned: '',
  ready: 'M5 8.2l2.1 2.1L11.2 6',
  working: 'M8 4.2v3.8l2.6 1.6',
  waiting: 'M5 8h.01M8 8h.01M11 8h.01',
  stalled: 'M8 4.6v4M8 11.3h.01',
  paused: 'M6.3 5.6v4.8M9.7 5.6v4.8',
  deleting: 'M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  unknown: 'M6.4 6.3a1.7 1.7 0 113 1.1c-.6.6-1.4.9-1.4 1.7M8 11.4h.01',
}

export function StateIcon({ state }: { state: State | 'planned' }) {
  return (
    <svg class={`icon is-${state}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <circle cx="8" cy="8" r="6.5" />
      <path d={SHAPES[state]} />
    </svg>
  )
}

export function StateBadge({ state, word }: { state: State; word: string }) {
  return (
    <span class={`badge is-${state}`}>
      <StateIcon state={state} />
      {word}
    </span>
  )
}

export function Link({ to, class: name, children }: { to: Route; class?: string; children: ComponentChildren }) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    go(to)
  }
  return (
    <a href={pathOf(to)} class={name} onClick={follow}>
      {children}
    </a>
  )
}

export function Copy({ text }: { text: string }) {
  const isCopied = useSignal(false)
  const copy = async () => {
    await navigator.clipboard?.writeText(text)
    isCopied.value = true
    setTimeout(() => {
      isCopied.value = false
    }, 1_500)
  }
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="copy" onClick={copy} aria-label={`Copy the command ${text}`}>
        {isCopied.value ? 'Copied' : 'Copy'}
      </button>
    </span>
  )
}

/** A sentence whose commands can be copied. */
export function Advice({ text }: { text: string }) {
  return (
    <>
      {piecesOf(text).map((piece, i) =>
        piece.isCommand ? <Copy key={`${i}${piece.text}`} text={piece.text.trim()} /> : piece.text,
      )}
    </>
  )
}

export function Progress({ done, of, label }: { done: number; of: number; label: string }) {
  const share = of === 0 ? 0 : Math.round((done / of) * 100)
  return (
    <span class="progress">
      <span class="bar" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={of} aria-valuenow={done}>
        <span style={{ width: `${share}%` }} />
      </span>
      <span class="count">
        {done} of {of}
      </span>
    </span>
  )
}
