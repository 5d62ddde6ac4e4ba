// One cluster: what needs a person first, then its tree, its runs, its add-ons and what happened.
import type { ClusterSections, NamedStop, RunView, StageView, TimelineEntry } from '../messages.ts'
import { ageOf } from '../model/text.ts'
import { cluster, now } from '../state/store.ts'
import { Advice, Copy, Link, Progress, StateBadge, StateIcon } from './marks.tsx'
import { Nodes } from './nodes.tsx'
import { Tree } from './tree.tsx'

export function Cluster({ namespace, name }: { namespace: string; name: string }) {
  const found = cluster.value
  if (found === undefined) return <p class="loading">Reading {name}…</p>
  if (found === null)
    return (
      <div class="empty">
        <h1>There is no cluster {name}</h1>
        <p>
          It is not in the namespace {namespace}, or it has been deleted.{' '}
          <Link to={{ view: 'fleet' }}>All clusters</Link>
        </p>
      </div>
    )
  const { row, tree, stops, runs, nodes, stages, events } = found
  return (
    <article class="cluster">
      <Heading row={row} />
      <Stops stops={stops} />
      <Approvals runs={runs} namespace={namespace} cluster={name} />
      <div class="columns">
        <div>
          <section aria-labelledby="objects">
            <h2 id="objects">Objects</h2>
            <Tree branch={tree} namespace={namespace} cluster={name} runs={new Set(runs.map((run) => run.name))} />
          </section>
          {nodes.length > 0 && <Nodes nodes={nodes} />}
          {runs.length > 0 && (
            <section aria-labelledby="runs">
              <h2 id="runs">Terraform runs</h2>
              <div class="list">
                {runs.map((run) => (
                  <RunCard key={run.name} run={run} namespace={namespace} cluster={name} />
                ))}
              </div>
            </section>
          )}
          {stages.length > 0 && <Pipeline stages={stages} />}
        </div>
        <Timeline events={events} />
      </div>
      <p class="same">
        The same in a terminal: <Copy text={`capt describe cluster ${name} -n ${namespace}`} />
      </p>
    </article>
  )
}

function Heading({ row }: { row: ClusterSections['row'] }) {
  const facts = [row.version, row.region, row.namespace, row.since ? `for ${ageOf(row.since, now.value)}` : '']
  return (
    <div class="heading">
      <h1>{row.name}</h1>
      <StateBadge state={row.state} word={row.word} />
      <p>{facts.filter(Boolean).join(' · ')}</p>
    </div>
  )
}

function Stops({ stops }: { stops: readonly NamedStop[] }) {
  return (
    <>
      {stops.map(({ name, stop }) => (
        <section class="stop" key={name} aria-label={`Problem of ${name}`}>
          <h2>
            <StateIcon state="stalled" />
            {name}
          </h2>
          <p class="what">{stop.what}</p>
          <dl>
            <dt>Why</dt>
            <dd>{stop.why}</dd>
            <dt>What to do</dt>
            <dd>
              <Advice text={stop.todo} />
            </dd>
            {stop.safe && (
              <>
                <dt>Nothing is lost</dt>
                <dd>{stop.safe}</dd>
              </>
            )}
          </dl>
        </section>
      ))}
    </>
  )
}

function Approvals({
  runs,
  namespace,
  cluster: name,
}: {
  runs: readonly RunView[]
  namespace: string
  cluster: string
}) {
  return (
    <>
      {runs
        .filter(({ plan }) => plan?.approval === 'Required')
        .map((run) => (
          <section class="approval" key={run.name} aria-label={`Plan of ${run.name}`}>
            <p>
              <b>{run.name}</b> has a plan that waits for approval: {run.plan!.add} to add, {run.plan!.change} to
              change, {run.plan!.destroy} to destroy, {run.plan!.replace} to replace.
            </p>
            <Link to={{ view: 'run', namespace, name, run: run.name }} class="button">
              Review the plan
            </Link>
          </section>
        ))}
    </>
  )
}

function RunCard({ run, namespace, cluster: name }: { run: RunView; namespace: string; cluster: string }) {
  const isOpen = run.phase !== undefined && run.finishedAt === undefined
  return (
    <Link to={{ view: 'run', namespace, name, run: run.name }} class="line">
      <StateIcon state={run.state} />
      <b>{run.name}</b>
      <span class={`word is-${run.state}`}>{run.queue ? `queued, ${run.queue}` : run.word}</span>
      {isOpen && run.of !== undefined ? (
        <Progress done={run.done!} of={run.of} label={`Resources of ${run.name}`} />
      ) : (
        <span class="fact">{run.state === 'ready' ? `${run.resources ?? 0} resources` : run.fact}</span>
      )}
      <span class="age">{ageOf(run.finishedAt ?? run.startedAt, now.value)}</span>
    </Link>
  )
}

function Pipeline({ stages }: { stages: readonly StageView[] }) {
  return (
    <section aria-labelledby="addons">
      <h2 id="addons">Add-ons</h2>
      <ol class="pipeline">
        {stages.map((stage) => (
          <li key={stage.name} class={`of-${stage.state}`}>
            <div class="title">
              <StateIcon state={stage.state} />
              {stage.name}
              <small>{stage.version}</small>
              <span class={`word is-${stage.state}`}>{stage.word}</span>
            </div>
            <ul class="facts">
              <li>
                {stage.delivered === undefined
                  ? 'Not delivered yet'
                  : stage.delivered
                    ? 'Delivered'
                    : 'Being delivered'}
              </li>
              {stage.gate && (
                <li>
                  Gate <code>{stage.gate.label}</code> {stage.gate.open ? 'open' : 'closed'}
                </li>
              )}
              {stage.took && <li>Healthy after {stage.took}</li>}
            </ul>
            {stage.healthy !== 'True' && stage.message && <p>{stage.message}</p>}
            {stage.evidence.length > 0 && (
              <ul class="evidence" aria-label={`Evidence for ${stage.name}`}>
                {stage.evidence.map((fact) => (
                  <li key={fact}>{fact}</li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

function Timeline({ events }: { events: readonly TimelineEntry[] }) {
  return (
    <section class="timeline" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {events.length === 0 && <p class="fact">No events are kept any more.</p>}
      <ol>
        {events.map(({ id, time, isWarning, reason, message, about, count }) => (
          <li key={id} class={isWarning ? 'warning' : ''}>
            <span class="head">
              <b>{reason}</b>
              {count > 1 && <small>{count} times</small>}
              <time dateTime={time} title={time}>
                {ageOf(time, now.value)} ago
              </time>
            </span>
            <span class="message">{message}</span>
            <small>{about}</small>
          </li>
        ))}
      </ol>
    </section>
  )
}
