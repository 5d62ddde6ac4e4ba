// The middle of a run: inputs, credentials, init, plan, freeze, apply. Everything it learns on the way goes into the trace.
import type { PlanCounts } from '../messages.ts'
import type { Suspect } from '../record/record.ts'
import { credentialRefs, readCredentials } from './credentials.ts'
import { terraformEnvironment } from './environment.ts'
import { RunFailure } from './failure.ts'
import { freeze } from './freeze.ts'
import { findInputs, type Inputs, restoreLockFile } from './inputs.ts'
import { refuseUnderPause } from './paused.ts'
import { clearForFetch, type Layout, layOut, layOutFrozen, markFetched, needsFetch, remoteBackend } from './prepare.ts'
import { cliConfigFile, sharePackages } from './providers.ts'
import type { Session } from './session.ts'
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
  const { layout, terraform, credentials } = trace
  await state.moveTo(layout.root)
  await restoreLockFile(objects, request, keeper.record, folder, layout)

  await terraform.init(layout, inputs.bundle !== undefined, () => sharePackages(layout.root, request.shared))
  keeper.progress((record) => ({ ...record, run: { ...record.run!, phase: 'Plan' } }))
  const counts = await plan(terraform, layout, verb)
  const backend = remoteBackend(layout.root)
  await refuseUnderPause(objects, owner)
  await freeze({
    session,
    state,
    layout,
    credentials,
    suspects,
    plan: terraform.progress.counts,
    changes: counts !== undefined,
    backend,
  })
  if (counts) await terraform.apply(layout, verb)
  else session.say('Nothing to change')
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

function tellProgress({ keeper, trace, world }: Session, state: WorkspaceState): void {
  const { text, address, counts } = trace.terraform!.progress
  const { saved } = state
  const isStarted = keeper.record.run?.phase === 'Apply'
  keeper.progress(
    (record) => ({
      ...record,
      ...(saved ? { state: saved } : {}),
      run: { ...record.run!, ...(isStarted ? { progress: text, address } : { phase: 'Plan' }), plan: counts },
    }),
    world.clock.now(),
  )
}
