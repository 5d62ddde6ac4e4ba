// Plays Terraform where there is none, and says so: modules made of terraform_data are worked out, nothing is run. Records,
// state and connection Secrets are kept like those of a real run, so that everything around it is the same.
import { randomUUID } from 'node:crypto'
import { type Key, keyText } from '#api'
import type { Objects } from '#kube'
import { CaptError, type Clock, type Json, type Log, messageOf, parseJson, toTimestamp } from '#lib'
import { attemptAfter } from '../local/open-run.ts'
import { livenessOf, ownIdentity } from '../lock/processes.ts'
import type { PlanCounts } from '../messages.ts'
import type { Owner } from '../owner.ts'
import type { Engine, ForgetOptions, StartRequest, WorkspaceView } from '../port.ts'
import { packed } from '../record/packed.ts'
import { type ClosedPhase, closeRun, isOpen, newRecord, type Run, type RunRecord } from '../record/record.ts'
import { readRecord, type Versioned, writeRecord } from '../record/record-store.ts'
import { forgetWorkspace } from '../recovery/forget.ts'
import { inspectWorkspace } from '../recovery/inspect.ts'
import { assembleVariables, declaredVariables } from '../render/variables.ts'
import { toRunFault } from '../runner/failure.ts'
import { readingOnce, readSource } from '../runner/inputs/credentials.ts'
import { listChanges, type PlannedChange } from '../runner/plan/changes.ts'
import { unknownEntries } from '../runner/plan/guard.ts'
import { packPlanText } from '../runner/plan/proposal.ts'
import { publicOutputs, writeConnectionSecret } from '../runner/record/outputs.ts'
import { readState, type StateInfo } from '../state/state-file.ts'
import { loadState, saveFirstState, saveState } from '../state/state-store.ts'
import type { ObjectKey, Workspace } from '../workspace.ts'
import { type Evaluated, evaluateModule } from './evaluate.ts'
import { unsupported } from './expression.ts'
import { checkSimulated, proposeSimulated } from './propose.ts'

interface SimulatedEngineOptions {
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  /** How long one resource takes. */
  readonly resourceMs?: number
}

const RESOURCE_MS = 80
/** Progress is for people: more often than this nobody reads it, and each report is a write. */
const PROGRESS_MS = 5000

export function createSimulatedEngine(options: SimulatedEngineOptions): Engine {
  const { objects, clock, log, resourceMs = RESOURCE_MS } = options
  const records = packed<Versioned>()
  const active = new Map<string, { readonly runId: string; cancelled: boolean; stopped: boolean }>()
  const listeners = new Set<(key: Key) => void>()
  const notify = ({ namespace, name }: ObjectKey) => {
    for (const listener of listeners) listener({ namespace, name })
  }
  const now = () => toTimestamp(clock.now())
  const pause = () => new Promise<void>((resolve) => void clock.after(resourceMs, resolve))

  async function play(request: StartRequest, run: Run, isFirst: boolean): Promise<void> {
    const { owner, verb, workspace } = request
    const id = keyText(owner)
    const act = { runId: run.id, cancelled: false, stopped: false }
    active.set(id, act)
    try {
      const target =
        verb === 'destroy' || !workspace
          ? NOTHING
          : evaluate(id, workspace, await variablesFromEnvironment(objects, owner, workspace))
      // With a first record there is hardly a state; one that was kept from an earlier life is met when ours is saved.
      const { speculativeFor: of } = request
      const assumed =
        of !== undefined ? await stateOf({ ...owner, name: of }) : isFirst ? undefined : await stateOf(owner)
      const counts = countChanges(assumed?.addresses ?? [], target.addresses)
      const steps = [...counts.made, ...counts.gone]
      if (request.check) {
        const drift = checkSimulated(counts.changes, request.check, run.id, now())
        return await close(owner, 'Planned', (record) => ({
          ...record,
          drift,
          run: { ...record.run!, plan: counts.plan },
        }))
      }
      const proposal = proposeSimulated(request, run, records.get(id)!.record, {
        ...counts,
        target,
        state: assumed,
        nowMs: clock.now(),
      })
      if (proposal) {
        await close(
          owner,
          'Planned',
          (record) => ({ ...record, proposed: proposal.proposed, run: { ...record.run!, plan: counts.plan } }),
          undefined,
          packPlanText(proposal.text),
        )
        return
      }
      const { approved, guard = [], givenGuard = false } = request.approval ?? {}
      const unknownGuard = givenGuard ? unknownEntries(guard, target.addresses) : []
      let notifiedAt = clock.monotonic()
      for (const [done, address] of steps.entries()) {
        const progress = `${done} of ${steps.length}`
        if (clock.monotonic() - notifiedAt >= PROGRESS_MS) {
          const open: Run = { ...run, phase: 'Apply', plan: counts.plan, progress, address: `${address} (simulated)` }
          const { record, version } = records.get(id)!
          records.set(id, { record: { ...record, run: open }, version })
          notifiedAt = clock.monotonic()
          notify(owner)
        }
        await pause()
        // Left open, like the run of a runner that died: the next manager resumes it.
        if (act.stopped) return
        if (act.cancelled) throw new Error('the run was cancelled')
      }
      const { serial, lineage, plan } = await save(owner, target, assumed, isFirst)
      if (verb === 'apply' && workspace?.connectionSecret) {
        await writeConnectionSecret(objects, owner, workspace.connectionSecret, target.outputs)
      }
      await close(owner, 'Succeeded', (record) => ({
        ...record,
        state: { serial, lineage, savedAt: now(), resources: target.addresses.length },
        run: {
          ...record.run!,
          plan,
          changes: listChanges(counts.changes),
          ...(unknownGuard.length > 0 ? { unknownGuard } : {}),
          ...(approved ? { approval: approved } : {}),
        },
        ...(verb === 'apply'
          ? { applied: { hash: run.hash, at: now(), runId: run.id, ...publicOutputs(target.outputs) } }
          : {}),
      }))
    } catch (error) {
      log.warn('Simulated run failed', { WorkspaceTemplateApply: id, error: messageOf(error) })
      await close(owner, act.cancelled ? 'Cancelled' : 'Failed', undefined, error).catch(() => undefined)
    } finally {
      active.delete(id)
      notify(owner)
    }
  }

  const stateOf = async (owner: Owner) => readState((await loadState(objects, owner)) ?? '')

  async function save(
    owner: Owner,
    target: Evaluated,
    before: StateInfo | undefined,
    isFirst: boolean,
  ): Promise<{ readonly serial: number; readonly lineage: string; readonly plan: PlanCounts }> {
    const { serial: last = 0, lineage = randomUUID(), addresses = [] } = before ?? {}
    const serial = last + 1
    const text = stateText(serial, lineage, target)
    if (isFirst && !(await saveFirstState(objects, owner, text)))
      return await save(owner, target, await stateOf(owner), false)
    if (!isFirst) await saveState(objects, owner, text, before ? 1 : 0)
    return { serial, lineage, plan: countChanges(addresses, target.addresses).plan }
  }

  async function close(
    owner: Owner,
    phase: ClosedPhase,
    change: (record: RunRecord) => RunRecord = (record) => record,
    error?: unknown,
    plan?: Buffer,
  ): Promise<void> {
    const seen = records.get(keyText(owner)) ?? (await readRecord(objects, owner))
    if (!seen) return
    const { runId = '' } = active.get(keyText(owner)) ?? {}
    const fault =
      error === undefined
        ? undefined
        : { ...toRunFault(error), ...(phase === 'Cancelled' ? { kind: 'cancelled' as const } : {}) }
    const { proposed: earlier, ...ended } = closeRun(seen.record, phase, now(), fault, phase === 'Cancelled')
    const closed = change({ ...ended, ...(fault && earlier ? { proposed: earlier } : {}) })
    const log = { runId, text: `Simulated: nothing was run\n${fault ? `Failed: ${fault.message}\n` : 'Done\n'}` }
    const written = await writeRecord(objects, owner, seen, closed, log, plan)
    if (written) records.set(keyText(owner), written)
    else records.delete(keyText(owner))
  }

  return {
    name: 'simulated',
    async start(request) {
      const { owner, verb, hash, timeoutSeconds, retryToken } = request
      const id = keyText(owner)
      if (active.has(id)) return
      // What the decision was based upon need not be read again: a record that is there or newer after all refuses the write.
      const isFirst = request.basedOn !== undefined && request.basedOn.runId === undefined
      const seen = records.get(id) ?? (isFirst ? undefined : await readRecord(objects, owner))
      const last = seen?.record.run
      if (request.basedOn && request.basedOn.runId !== last?.id) {
        if (seen) records.set(id, seen)
        return notify(owner)
      }
      const isSame = last?.verb === verb && last.hash === hash && last.retryToken === retryToken
      const run: Run = {
        id: randomUUID(),
        verb,
        hash,
        attempt: attemptAfter(isSame ? last : undefined),
        phase: 'Starting',
        startedAt: now(),
        ...(isSame && last ? { seriesStartedAt: last.seriesStartedAt ?? last.startedAt } : {}),
        holder: ownIdentity(),
        resumed: 0,
        folder: '',
        timeoutSeconds,
        ...(retryToken === undefined ? {} : { retryToken }),
        ...(request.check ? { isCheck: true } : {}),
      }
      const written = await writeRecord(objects, owner, seen, {
        ...(seen?.record ?? newRecord(request.named?.workspaceId ?? randomUUID())),
        run,
      })
      if (!written) {
        records.delete(id)
        return notify(owner)
      }
      records.set(id, written)
      void play(request, run, seen === undefined)
    },
    async observe(key): Promise<WorkspaceView> {
      const id = keyText(key)
      const seen = records.get(id) ?? (await readRecord(objects, key))
      if (seen) records.set(id, seen)
      const record = seen?.record
      if (!isOpen(record?.run)) return { record, activity: 'idle', cancelling: false }
      const isAlive =
        active.has(id) || (livenessOf(record.run.holder) === 'alive' && record.run.holder.pid !== process.pid)
      return { record, activity: isAlive ? 'running' : 'lost', cancelling: active.get(id)?.cancelled ?? false }
    },
    async cancel(key, runId) {
      const act = active.get(keyText(key))
      if (act?.runId === runId) act.cancelled = true
    },
    async abandon(owner) {
      await close(owner, 'Lost', undefined, new Error('the simulation was interrupted'))
      notify(owner)
    },
    reconstruct: (owner, facts) => inspectWorkspace(objects, owner, facts),
    async forget(owner: Owner, how: ForgetOptions) {
      await forgetWorkspace(objects, owner, how)
      records.delete(keyText(owner))
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    // A simulated run is no process: it ends with the manager and begins again with the next one.
    running: 0,
    async drain() {},
    async stop() {
      for (const act of active.values()) act.stopped = true
    },
  }
}

const NOTHING: Evaluated = { addresses: [], outputs: {} }

/** Terraform takes TF_VAR_… as variables; so does the simulation. */
async function variablesFromEnvironment(
  objects: Objects,
  { namespace }: Owner,
  workspace: Workspace,
): Promise<Record<string, string>> {
  const env: Record<string, string> = { ...workspace.env }
  const reader = readingOnce(objects)
  for (const { name, ref } of workspace.secretEnv) {
    const value = await readSource(reader, namespace, ref)
    if (value === undefined)
      throw new CaptError(
        'CAPT_CREDENTIALS_MISSING',
        `there is no key ${ref.key} in Secret ${ref.namespace}/${ref.name}`,
        { hint: 'make the Secret, then capt retry' },
      )
    env[name] = value
  }
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (name.startsWith('TF_VAR_') ? [[name.slice(7), value]] : [])),
  )
}

function evaluate(id: string, workspace: Workspace, environment: Readonly<Record<string, string>>): Evaluated {
  if (workspace.source.kind !== 'inline') throw unsupported('modules from elsewhere')
  if (workspace.varFiles.some(({ format }) => format !== 'JSON')) throw unsupported('variable files in HCL')
  const { files } = workspace
  const fromFiles = workspace.varFiles.map(({ content }) => parseJson(content) as Readonly<Record<string, Json>>)
  const given = assembleVariables(workspace.variables, declaredVariables(files))
  const values = Object.assign({}, environment, ...fromFiles, given) as Readonly<Record<string, Json>>
  return evaluateModule(files, values, id)
}

function countChanges(before: readonly string[], after: readonly string[]) {
  const made = after.filter((address) => !before.includes(address))
  const gone = before.filter((address) => !after.includes(address))
  const plan: PlanCounts = { add: made.length, change: 0, destroy: gone.length, replace: 0 }
  const changes: readonly PlannedChange[] = [
    ...made.map((address) => ({ address, action: 'create' })),
    ...gone.map((address) => ({ address, action: 'delete' })),
  ]
  return { made, gone, plan, changes }
}

/** A state as Terraform writes it, with nothing in it but addresses and outputs. */
function stateText(serial: number, lineage: string, { addresses, outputs }: Evaluated): string {
  const resources = addresses.map((address) => {
    const [, name = '', key] = /^terraform_data\.([^[]+)(?:\[(.*)\])?$/.exec(address) ?? []
    const instance = key === undefined ? {} : { index_key: parseJson(key) as unknown }
    return { mode: 'managed', type: 'terraform_data', name, provider: 'simulated', instances: [instance] }
  })
  return JSON.stringify({ version: 4, terraform_version: 'simulated', serial, lineage, outputs, resources })
}
