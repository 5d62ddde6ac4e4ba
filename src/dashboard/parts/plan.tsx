// The plan that waits for approval: every change with its attributes, and the decision. It is approved by its hash, so
// another plan that took its place meanwhile is refused.
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { PlanMessage } from '../messages.ts'
import { ageOf } from '../model/text.ts'
import { decide, hello, now } from '../state/store.ts'
import { Copy } from './marks.tsx'

const SIGNS: Readonly<Record<string, readonly [string, string]>> = {
  create: ['+', 'will be created'],
  update: ['~', 'will be changed in place'],
  delete: ['−', 'will be destroyed'],
  replace: ['±', 'must be replaced'],
  move: ['→', 'has another address'],
}

type Decision = 'approve' | 'deny'

export function Plan({ plan, namespace, name }: { plan: PlanMessage; namespace: string; name: string }) {
  const asked = useSignal<Decision | undefined>(undefined)
  const answer = useSignal<string>('')
  const left = Date.parse(plan.expiresAt) - now.value
  const count = (...actions: string[]) => plan.changes.filter(({ action }) => actions.includes(action)).length
  const confirm = async () => {
    const deny = asked.value === 'deny'
    asked.value = undefined
    answer.value = 'Sending…'
    answer.value = (await decide(namespace, name, plan.hash, deny)).message
  }
  return (
    <section class="plan" aria-labelledby="plan">
      <h2 id="plan">Plan to approve</h2>
      <p class="fact">
        <code>{plan.hash}</code> made {ageOf(plan.madeAt, now.value)} ago,{' '}
        {left > 0
          ? `expires in ${ageOf(new Date(now.value - left).toISOString(), now.value)}`
          : 'has expired and is made again'}
        {plan.because === 'Guard' ? '. It replaces or destroys what the guard names.' : '.'}
      </p>
      <p class="counts">
        <span class="add">{count('create', 'replace')} to add</span>
        <span class="change">{count('update')} to change</span>
        <span class="destroy">{count('delete', 'replace')} to destroy</span>
      </p>
      <ul class="changes">
        {plan.changes.map((change) => (
          <Change key={change.address} change={change} />
        ))}
      </ul>
      {plan.without > 0 && <p>The attributes of {plan.without} changes are left out: there are too many.</p>}
      {plan.outputs.length > 0 && <Lines lines={plan.outputs} />}
      {hello.value?.allowWrites ? (
        <div class="decide">
          <button type="button" class="primary" disabled={left <= 0} onClick={() => (asked.value = 'approve')}>
            Approve
          </button>
          <button type="button" class="quiet" onClick={() => (asked.value = 'deny')}>
            Deny
          </button>
        </div>
      ) : (
        <p>
          This page is read-only. To approve: <Copy text={`capt approve ${name} -n ${namespace} --plan ${plan.hash}`} />
        </p>
      )}
      <p class="answer" role="status">
        {answer.value}
      </p>
      {asked.value && (
        <Confirm
          decision={asked.value}
          name={name}
          hash={plan.hash}
          onYes={confirm}
          onNo={() => (asked.value = undefined)}
        />
      )}
    </section>
  )
}

function Change({ change: { address, action, reason, from, lines } }: { change: PlanMessage['changes'][number] }) {
  const [sign, words] = SIGNS[action] ?? ['', action]
  const title = (
    <>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      <code>{address}</code> {words}
      {from ? `, was ${from}` : ''}
      {reason ? <small> {reason}</small> : ''}
    </>
  )
  if (lines.length === 0) return <li class={`act-${action} bare`}>{title}</li>
  return (
    <li class={`act-${action}`}>
      <details open>
        <summary>{title}</summary>
        <Lines lines={lines} />
      </details>
    </li>
  )
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <pre class="lines">
      {lines.map((line, i) => {
        const sign = line.trimStart().slice(0, 2)
        const name = sign === '+ ' ? 'add' : sign === '- ' ? 'destroy' : sign === '~ ' ? 'change' : ''
        return (
          <span key={i} class={name}>
            {`${line}\n`}
          </span>
        )
      })}
    </pre>
  )
}

interface ConfirmProps {
  readonly decision: Decision
  readonly name: string
  readonly hash: string
  onYes(): void
  onNo(): void
}

function Confirm({ decision, name, hash, onYes, onNo }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} onClose={onNo} aria-labelledby="question">
      <h2 id="question">{decision === 'approve' ? `Apply this plan of ${name}?` : `Deny this plan of ${name}?`}</h2>
      <p>
        {decision === 'approve'
          ? 'Terraform starts at once and changes exactly what the plan shows.'
          : 'Nothing is changed. It is planned again when its inputs change, or by capt retry.'}
      </p>
      <p>
        Plan <code>{hash}</code>
      </p>
      <div class="decide">
        <button type="button" class={decision === 'approve' ? 'primary' : 'danger'} onClick={onYes}>
          {decision === 'approve' ? 'Apply' : 'Deny'}
        </button>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
      </div>
    </dialog>
  )
}
