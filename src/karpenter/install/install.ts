// Executes a plan: the journal first, then every resource in order, then the release and the pools. Interrupted at any
// point, the next run observes what is there and continues.
import { addRefs, type Journal, type ResourceRef, readJournal, writeJournal } from '../journal.ts'
import { releaseHash } from '../plan/observe.ts'
import type { Plan } from '../plan/plan.ts'
import { aliasOf } from '../plan/pools.ts'
import { OLDEST_FLUX, type Survey } from '../survey/survey.ts'
import { attempt } from './attempt.ts'
import { describe, toRef } from './describe.ts'
import { make } from './make.ts'
import { bringRelease } from './release.ts'
import type { Site } from './site.ts'

const NEXT = 'run the same command again to continue, or with --rollback to undo what was made'

export async function install(plan: Plan, survey: Survey, site: Site): Promise<void> {
  let kept = await readJournal(site.objects)
  // Named before they are made: a run that is killed in between leaves nothing that no journal knows.
  const made = addRefs(
    kept?.journal.made ?? [],
    plan.steps.filter((step) => step.do === 'create').map(({ resource }) => toRef(resource)),
  )
  const begun = journalOf(plan, survey, made, kept?.journal.release)
  kept = await writeJournal(site.objects, begun, kept?.object)
  for (const step of plan.steps) {
    if (step.do === 'keep') continue
    const what = `${step.do} ${describe(step.resource)}`
    site.report(what)
    await attempt(what, NEXT, async () => {
      if (step.resource.type !== 'release') return await make(step, site)
      await bringRelease(step.resource, plan.choices.ownFlux ?? survey.kubernetes.flux?.version ?? OLDEST_FLUX, site)
      kept = await writeJournal(site.objects, { ...kept!.journal, release: releaseHash(step.resource) }, kept!.object)
    })
  }
  await writeJournal(site.objects, { ...kept.journal, phase: 'installed' }, kept.object)
}

function journalOf(
  { choices, steps }: Plan,
  survey: Survey,
  made: readonly ResourceRef[],
  release: string | undefined,
): Journal {
  const pinned = steps.find(({ resource }) => resource.type === 'node-class')?.resource.desired as
    | { spec: Record<string, unknown> }
    | undefined
  const image = pinned && aliasOf(pinned)
  return {
    format: 1,
    phase: 'installing',
    cluster: survey.cluster.name,
    region: survey.region,
    account: survey.accountId,
    version: choices.version.value,
    namespace: choices.namespace.value,
    identity: choices.identity.value,
    discoveryTag: choices.discoveryTag,
    ...(image === undefined ? {} : { image }),
    ...(release === undefined ? {} : { release }),
    made,
  }
}
