// From the request to an initialized work folder: inputs, credentials, files, `terraform init`.
import type { Progress } from '../messages.ts'
import { type RecordChange, readRecord } from '../record/record-store.ts'
import type { RunContext } from './context.ts'
import { RunFailure } from './failure.ts'
import { BundleStore } from './inputs/bundle-store.ts'
import { type Credentials, credentialRefs, readCredentials } from './inputs/credentials.ts'
import { findInputs, type Inputs, restoreLockFile } from './inputs/inputs.ts'
import { clearForFetch, type Layout, layOut, layOutFrozen, markFetched, needsFetch } from './inputs/layout.ts'
import { cliConfigFile, sharePackages } from './inputs/providers.ts'
import { PlanStore } from './plan/plan-store.ts'
import { terraformEnvironment } from './process/environment.ts'
import { TerraformRun } from './process/terraform-run.ts'
import type { WorkspaceState } from './state/workspace-state.ts'
import type { Authorized, LaidOut, Prepared, Resolved, Settled } from './values.ts'

/** A destroy of a workspace whose state is empty ends here. */
export function hasNothingToDestroy(context: RunContext, { state }: Settled): boolean {
  const { request, writer } = context
  if (request.verb !== 'destroy' || writer.record.backend !== undefined) return false
  if ((state.info?.addresses.length ?? 0) > 0) return false
  context.note('There is nothing to destroy')
  return true
}

export async function resolveInputs(context: RunContext, settled: Settled): Promise<Resolved> {
  const inputs = await findInputs(context)
  return { ...settled, inputs, refs: credentialRefs(inputs.workspace) }
}

export async function authorize(context: RunContext, resolved: Resolved): Promise<Authorized> {
  const { request, folder, world } = context
  const { inputs, state } = resolved
  const { namespace, cluster } = request.owner
  const moves = cluster !== undefined
  const credentials = await readCredentials(world.objects, namespace, inputs.workspace, folder, moves)
  context.addSecrets(credentials.secrets)
  return {
    ...resolved,
    credentials,
    terraform: createTerraform(context, inputs, credentials, state, await workspaceIdOf(context)),
  }
}

/** A speculative run uses that of its target: resources are tagged with it, unless they were imported without. */
async function workspaceIdOf({ request, writer, world }: RunContext): Promise<string | undefined> {
  const { speculativeFor: name, owner } = request
  const target = name === undefined ? undefined : await readRecord(world.objects, { namespace: owner.namespace, name })
  const { workspaceId, imported } = target?.record ?? writer.record
  return imported ? undefined : workspaceId
}

function createTerraform(
  context: RunContext,
  { workspace }: Inputs,
  credentials: Credentials,
  state: WorkspaceState,
  workspaceId: string | undefined,
): TerraformRun {
  const { request, folder, writer, stopping } = context
  const { env, clock } = context.world
  return new TerraformRun({
    folder,
    tool: request.tool,
    env: terraformEnvironment({
      own: env,
      workspace,
      credentials: credentials.env,
      cliConfig: cliConfigFile(request.shared, request.providerMirror, env),
      workspaceId,
      freeBytes: process.availableMemory(),
    }),
    clock,
    stop: stopping.signal,
    graceMs: request.graceSeconds * 1000,
    note: (text) => context.note(text),
    onProgress: (progress) => writer.progress(progressOf(context, state, progress), clock.now()),
    stopped: () => new RunFailure(stopping.fault(request.timeoutSeconds)),
  })
}

/** Adds to the record what Terraform has reported. */
export function progressOf({ writer }: RunContext, { saved }: WorkspaceState, progress: Progress): RecordChange {
  const { text, address, counts } = progress
  const isStarted = writer.record.run?.phase === 'Apply'
  return (record) => ({
    ...record,
    ...(saved ? { state: saved } : {}),
    run: { ...record.run!, ...(isStarted ? { progress: text, address } : { phase: 'Plan' }), plan: counts },
  })
}

export async function layOutInputs(context: RunContext, authorized: Authorized): Promise<LaidOut> {
  const { state, credentials } = authorized
  const layout = await toLayout(context, authorized)
  context.addSecrets(layout.secrets)
  return { ...authorized, layout, plans: new PlanStore(context, state, credentials.fingerprint) }
}

async function toLayout(
  { folder, request }: RunContext,
  { inputs, credentials, terraform }: Authorized,
): Promise<Layout> {
  const { workspace, bundle } = inputs
  if (bundle) return layOutFrozen(folder, { ...bundle, workspace }, credentials)
  // A check fetches it again: what its address stands for may have moved.
  const isStale = request.check !== undefined || needsFetch(folder, workspace)
  if (workspace.source.kind === 'remote' && isStale) {
    clearForFetch(folder)
    await terraform.fetch(folder.work, workspace.source.address)
    markFetched(folder, workspace)
  }
  return layOut(folder, workspace, credentials)
}

export async function initialize(context: RunContext, laidOut: LaidOut): Promise<Prepared> {
  const { request, writer } = context
  const { state, layout, terraform, inputs } = laidOut
  await state.moveTo(layout.root)
  await restoreLockFile(context, layout)
  await terraform.init(layout, inputs.bundle !== undefined, () => sharePackages(layout.root, request.shared))
  writer.progress((record) => ({ ...record, run: { ...record.run!, phase: 'Plan' } }))
  return { ...laidOut, bundles: new BundleStore(context, layout) }
}
