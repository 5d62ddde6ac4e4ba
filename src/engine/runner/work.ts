// The middle of a run: inputs, credentials, init, plan, freeze, apply. Everything it learns on the way goes into the trace.
import { messageOf } from '#lib'
import type { PlanCounts } from '../messages.ts'
import type { Suspect } from '../record/record.ts'
import type { RecordChange } from '../record/record-store.ts'
import { BundleKeeper } from './bundle-keeper.ts'
import { credentialRefs, readCredentials } from './credentials.ts'
import { terraformEnvironment } from './environment.ts'
import { RunFailure } from './failure.ts'
import { freeze } from './freeze.ts'
import { watchInFlight } from './in-flight.ts'
import { findInputs, type Inputs, restoreLockFile } from './inputs.ts'
import { refuseUnderPause } from './paused.ts'
import { PlanKeeper } from './plan-keeper.ts'
import { clearForFetch, type Layout, layOut, layOutFrozen, markFetched, needsFetch, remoteBackend } from './prepare.ts'
import { cliConfigFile, sharePackages } from './providers.ts'
import type { Session, Trace } from './session.ts'
import { inDoubt, underWay } from './suspects.ts'
import { TerraformRun } from './terraform-run.ts'
import type { WorkspaceState } from './workspace-state.ts'

export async function work(session: Session, state: WorkspaceState, suspects: readonly Suspect[]): Promise<void> {
  const { request, keeper, folder, trace, world } = session
  const { objects } = world
  const { verb, owner } = request
  if (verb === 'destroy' && keeper.record.backend === undefined && (state.info?.addresses.length ?? 0) === 0) {
    session.say('There is nothing to destroy')
    return
  }
  const inputs = await findInputs(objects, request, keeper.record, (text) => session.say(text))
  trace.refs = credentialRefs(inputs.workspace)
  const moves = owner.cluster !== undefined
  trace.credentials = await readCredentials(objects, owner.namespace, inputs.workspace, folder, moves)
  session.learnSecrets(trace.credentials.secrets)
  trace.terraform = prepareTerraform(session, inputs, state)
  trace.layout = await layOutInputs(session, inputs)
  session.learnSecrets(trace.layout.secrets)
  trace.plans = new PlanKeeper(session, state)
  const { layout, terraform, credentials, plans } = trace
  await state.moveTo(layout.root)
  await restoreLockFile(objects, request, keeper.record, folder, layout, (text) => session.say(text))

  await terraform.init(layout, inputs.bundle !== undefined, () => sharePackages(layout.root, request.shared))
  keeper.progress((record) => ({ ...record, run: { ...record.run!, phase: 'Plan' } }))
  const bundles = new BundleKeeper(session, layout)
  trace.bundles = bundles
  const recalled = await plans.recall(layout)
  const counts = recalled ? recalled.counts : await plan(terraform, layout, verb)
  const backend = remoteBackend(layout.root)
  await refuseUnderPause(objects, owner)
  await freeze({
    session,
    state,
    bundles,
    credentials,
    suspects,
    counts: counts ?? terraform.progress.counts,
    // Where Terraform keeps the state itself, nobody else can say what a plan was made from.
    plan: counts && backend === undefined ? plans.announce(layout, counts) : plans.left,
    changes: counts !== undefined,
    backend,
  })
  if (counts) await apply(session, state, recalled !== undefined)
  else session.say('Nothing to change')
}

/** A plan of an earlier runner that Terraform refuses costs another plan, not the run. */
async function apply(session: Session, state: WorkspaceState, isRecalled: boolean): Promise<void> {
  const { trace, request, stopping } = session
  const { layout, terraform, plans } = trace as Required<Trace>
  const stop = keepInFlight(session, state)
  try {
    plans.keep()
    await terraform.apply(layout, request.verb)
  } catch (error) {
    const hasBegun = terraform.progress.address !== '' || terraform.wasKilled || stopping.signal.aborted
    if (!isRecalled || hasBegun || !(error instanceof RunFailure)) throw error
    session.say(`Planning again: Terraform refuses the earlier plan (${error.message})`)
    terraform.progress.errors.length = 0
    await plans.drop()
    if (await plan(terraform, layout, request.verb)) await terraform.apply(layout, request.verb)
  } finally {
    stop()
  }
}

/** For whoever takes this run up on another machine. */
function keepInFlight(session: Session, state: WorkspaceState): () => void {
  const { keeper, trace, world } = session
  const { progress } = trace.terraform!
  const isElsewhere = remoteBackend(trace.layout!.root) !== undefined
  return watchInFlight({
    clock: world.clock,
    now: () => (isElsewhere ? underWay(progress) : inDoubt(progress, state.savedAddresses)),
    async write(inFlight) {
      const told = progressOf(session, state)
      try {
        await keeper.update((record) => told({ ...record, run: { ...record.run!, inFlight } }))
      } catch (error) {
        world.log.warn('Writing down what is in flight failed', { error: messageOf(error) })
        throw error
      }
    },
  })
}

function plan(terraform: TerraformRun, layout: Layout, verb: 'apply' | 'destroy'): Promise<PlanCounts | undefined> {
  return verb === 'destroy' ? terraform.planDestroy(layout) : terraform.plan(layout, verb)
}

function prepareTerraform(session: Session, { workspace }: Inputs, state: WorkspaceState): TerraformRun {
  const { request, folder, keeper, trace, stopping } = session
  const { env, clock } = session.world
  return new TerraformRun({
    folder,
    tool: request.tool,
    env: terraformEnvironment({
      own: env,
      workspace,
      credentials: trace.credentials?.env ?? {},
      cliConfig: cliConfigFile(request.shared, request.providerMirror, env),
      workspaceId: keeper.record.workspaceId,
      freeBytes: process.availableMemory(),
    }),
    clock,
    stop: stopping.signal,
    graceMs: request.graceSeconds * 1000,
    say: (text) => session.say(text),
    onProgress: () => tellProgress(session, state),
    stopped: () => new RunFailure(stopping.fault(request.timeoutSeconds)),
  })
}

async function layOutInputs({ folder, trace }: Session, { workspace, bundle }: Inputs): Promise<Layout> {
  const credentials = trace.credentials!
  if (bundle) return layOutFrozen(folder, { ...bundle, workspace }, credentials)
  if (workspace.source.kind === 'remote' && needsFetch(folder, workspace)) {
    clearForFetch(folder)
    await trace.terraform!.fetch(folder.work, workspace.source.address)
    markFetched(folder, workspace)
  }
  return layOut(folder, workspace, credentials)
}

function tellProgress(session: Session, state: WorkspaceState): void {
  const { keeper, trace, world } = session
  trace.plans?.look()
  keeper.progress(progressOf(session, state), world.clock.now())
}

function progressOf({ keeper, trace }: Session, state: WorkspaceState): RecordChange {
  const { text, address, counts } = trace.terraform!.progress
  const { saved } = state
  const isStarted = keeper.record.run?.phase === 'Apply'
  return (record) => ({
    ...record,
    ...(saved ? { state: saved } : {}),
    run: { ...record.run!, ...(isStarted ? { progress: text, address } : { phase: 'Plan' }), plan: counts },
  })
}
