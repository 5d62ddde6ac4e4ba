// One run of Terraform: its progress, the plan to approve, its resources as they appear, and the end of its log.
import { useEffect, useRef } from 'preact/hooks'
import type { RunView } from '../messages.ts'
import { plannedResources, type Resource, resourcesOf } from '../model/resources.ts'
import { ageOf, durationOf } from '../model/text.ts'
import { cluster, log, now, plan } from '../state/store.ts'
import { Advice, Copy, Link, Progress, StateBadge, StateIcon } from './marks.tsx'
import { Plan } from './plan.tsx'

export function Run({ namespace, name, run: wanted }: { namespace: string; name: string; run: string }) {
  const found = cluster.value
  if (found === undefined) return <p class="loading">Reading {wanted}…</p>
  const run = found?.runs.find((one) => one.name === wanted)
  if (!run)
    return (
      <div class="empty">
        <h1>There is no run {wanted}</h1>
        <p>
          <Link to={{ view: 'cluster', namespace, name }}>The cluster {name}</Link>
        </p>
      </div>
    )
  const lines = log.value?.lines ?? []
  const logged = resourcesOf(lines)
  const resources = logged.length > 0 ? logged : plannedResources(run)
  const more = logged.length > 0 ? 0 : (run.plan?.more ?? 0)
  return (
    <article class="run">
      <Heading run={run} />
      {run.stop && run.plan?.approval !== 'Required' && (
        <section class="stop" aria-label={`Problem of ${run.name}`}>
          <p class="what">{run.stop.what}</p>
          <dl>
            <dt>Why</dt>
            <dd>{run.stop.why}</dd>
            <dt>What to do</dt>
            <dd>
              <Advice text={run.stop.todo} />
            </dd>
          </dl>
        </section>
      )}
      {plan.value && <Plan plan={plan.value} namespace={namespace} name={wanted} />}
      <div class={plan.value ? 'columns one' : 'columns even'}>
        {!plan.value && <Resources resources={resources} more={more} />}
        <Log lines={lines} note={log.value?.note} isOpen={run.finishedAt === undefined} />
      </div>
      <p class="same">
        The same in a terminal: <Copy text={`capt logs ${wanted} -n ${namespace} --follow`} />
      </p>
    </article>
  )
}

function Heading({ run }: { run: RunView }) {
  const started = Date.parse(run.startedAt ?? '')
  const took = Number.isNaN(started)
    ? ''
    : run.finishedAt
      ? `took ${durationOf(Date.parse(run.finishedAt) - started)}, ended ${ageOf(run.finishedAt, now.value)} ago`
      : `for ${durationOf(now.value - started)}`
  const facts = [
    run.verb ? `terraform ${run.verb}` : '',
    run.queue ? `queued, ${run.queue}` : (run.phase ?? ''),
    run.attempt && run.attempt > 1 ? `attempt ${run.attempt}` : '',
    took,
  ]
  return (
    <div class="heading">
      <h1>{run.name}</h1>
      <StateBadge state={run.state} word={run.word} />
      <p>{facts.filter(Boolean).join(' · ')}</p>
      {run.of !== undefined && run.finishedAt === undefined && (
        <div class="wide">
          <Progress done={run.done!} of={run.of} label={`Resources of ${run.name}`} />
          {run.address && <code>{run.address}</code>}
        </div>
      )}
    </div>
  )
}

const STEPS = { planned: 'planned', working: 'working', done: 'ready', failed: 'stalled' } as const
const WORDS: Readonly<Record<string, readonly [string, string, string]>> = {
  create: ['will be created', 'creating', 'created'],
  update: ['will be changed', 'changing', 'changed'],
  delete: ['will be destroyed', 'destroying', 'destroyed'],
  replace: ['will be replaced', 'replacing', 'replaced'],
}

function wordOf({ action, step }: Resource): string {
  if (step === 'failed') return 'failed'
  const [planned, working, done] = WORDS[action] ?? [action, action, action]
  return step === 'planned' ? planned : step === 'working' ? working : done
}

function Resources({ resources, more }: { resources: readonly Resource[]; more: number }) {
  const done = resources.filter(({ step }) => step === 'done').length
  return (
    <section aria-labelledby="resources">
      <h2 id="resources">Resources {resources.length > 0 && <small>{`${done} of ${resources.length} done`}</small>}</h2>
      {resources.length === 0 && <p class="fact">None yet.</p>}
      <ul class="resources" tabIndex={0} aria-label="Resources">
        {resources.map((resource) => (
          <li key={resource.address} class={`step-${resource.step}`}>
            <StateIcon state={STEPS[resource.step]} />
            <code>{resource.address}</code>
            <span>{wordOf(resource)}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="fact">and {more} more</p>}
    </section>
  )
}

function Log({ lines, note, isOpen }: { lines: readonly string[]; note: string | undefined; isOpen: boolean }) {
  const box = useRef<HTMLPreElement>(null)
  const follows = useRef(true)
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  return (
    <section aria-labelledby="log">
      <h2 id="log">Log {isOpen && lines.length > 0 && <small>live</small>}</h2>
      {note && <p class="fact">{note}</p>}
      <pre
        class={note && lines.length === 0 ? 'log none' : 'log'}
        ref={box}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Log"
        onScroll={({ currentTarget: at }) => {
          follows.current = at.scrollTop + at.clientHeight > at.scrollHeight - 40
        }}
      >
        {lines.join('\n')}
      </pre>
    </section>
  )
}
