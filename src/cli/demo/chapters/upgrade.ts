// The fourth chapter: Kubernetes is upgraded, its plan is shown as a person would read it, and approved.
import { clusterKind, WorkspaceTemplateApply } from '#api'
import { decideOnPlan, readPlanText } from '#engine'
import { performUpgrade, planUpgrade, readState } from '#upgrade'
import { clusterTree } from '#view'
import { renderPlan } from '../../commands/clusters/upgrade-plan.ts'
import { outlinePlan } from '../plan-outline.ts'
import { CLUSTER, type Story } from '../story.ts'

const APPLY = { namespace: CLUSTER.namespace, name: `${CLUSTER.name}-eks-controlplane-apply` }

export async function showUpgrade(story: Story): Promise<void> {
  const { screen, connected, io, isSimulated } = story
  const kind = clusterKind('v1beta2')
  const plan = planUpgrade(await readState(kind, CLUSTER.name, connected), undefined)
  const approval = isSimulated ? '' : ', with a plan that a person approves'
  const manual = `kubectl patch wtapply ${APPLY.name} --type merge -p '{"spec":{"approval":"Manual"}}'`
  screen.chapter(`An upgrade to Kubernetes ${plan.to}${approval}`, [
    ...(isSimulated ? [] : [{ run: manual }]),
    { run: `capt upgrade ${CLUSTER.name}` },
  ])
  screen.text(`\n${renderPlan(plan)}\n`)
  if (!isSimulated) {
    const body = { spec: { approval: 'Manual' } }
    await connected.objects.patch(WorkspaceTemplateApply, APPLY, { type: 'merge', body })
  }
  const ports = {
    ...connected,
    clusterKind: kind,
    clock: io.clock,
    signal: io.signal,
    progress: () => {},
    live: () => {},
  }
  await story.until('waiting for the control plane to settle', async () => {
    const outcome = await performUpgrade(ports, CLUSTER.name, { target: plan.to, waitMs: 0 })
    return outcome.is === 'late' ? undefined : outcome
  })
  // A simulated plan changes nothing that anybody could approve.
  if (!isSimulated) await approvePlan(story)
  await reportVersions(story, plan.to)
}

async function approvePlan({ screen, connected: { objects }, io, until }: Story): Promise<void> {
  const {
    hash = '',
    change,
    add,
    destroy,
  } = await until('waiting for the plan', ({ applies }) => {
    const proposed = applies.find(({ metadata }) => metadata.name === APPLY.name)?.status?.plan
    return proposed?.approval === 'Required' ? proposed : undefined
  })
  const text = await readPlanText(objects, APPLY)
  const evidence = `${hash}: ${add} to add, ${change} to change, ${destroy} to destroy`
  screen.fact({ subject: 'control plane', word: 'plan waits', evidence, state: 'waiting' })
  screen.text('\n')
  screen.command({ run: `capt plan ${APPLY.name}`, about: 'every attribute; in short:' })
  if (text) screen.text(outlinePlan(text))
  screen.command({ run: `capt approve ${APPLY.name} --plan ${hash}`, about: 'here the demo itself approves' })
  screen.text('\n')
  const { user } = await decideOnPlan(objects, APPLY, { plan: hash, deny: false }, io.clock.now())
  screen.fact({ subject: 'control plane', word: 'plan approved', evidence: `by ${user}`, state: 'working' })
}

async function reportVersions(story: Story, to: string): Promise<void> {
  const { screen } = story
  let isUpgraded = false
  const pool = await story.until('waiting for the new version', (found) => {
    const { controlPlane, pools = [] } = found
    if (!isUpgraded && controlPlane?.status?.version === `v${to}.0`) {
      isUpgraded = true
      screen.fact({ subject: 'control plane', word: 'upgraded', evidence: `runs v${to}.0` })
    }
    const moved = pools.find(({ status }) => status?.version === to)
    return moved && clusterTree(found).state === 'ready' ? moved : undefined
  })
  const { readyReplicas = 0 } = pool.status ?? {}
  const evidence = `${pool.metadata.name}: ${readyReplicas} nodes replaced, ${to}, after the control plane`
  screen.fact({ subject: 'pool', word: 'upgraded', evidence })
}
