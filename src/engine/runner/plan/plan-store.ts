// The plan of a run outside its work folder: loaded when a run is resumed, stored while the apply is in progress, and deleted
// when the state has moved on or the run has ended. Terraform does not wait for it: it is stored during the apply.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, type Timer, toTimestamp } from '#lib'
import type { PlanCounts } from '../../messages.ts'
import type { PlanRef, ProposedPlan } from '../../record/record.ts'
import {
  deletePlan,
  loadPlan,
  PLAN_LIFE_MS,
  type PlanSituation,
  packPlan,
  planInFolder,
  planObstacle,
  savePlan,
} from '../../saved/plan.ts'
import type { RunContext } from '../context.ts'
import { writeWhole } from '../inputs/folder.ts'
import type { Layout } from '../inputs/layout.ts'
import type { WorkspaceState } from '../state/workspace-state.ts'

/** An apply that is through by then, or has saved a newer state, leaves nothing that a stored plan could be good for. */
const STORE_AFTER_MS = 3_000

export class PlanStore {
  readonly #context: RunContext
  readonly #state: WorkspaceState
  /** Fingerprint of the credentials of this run. */
  readonly #credentials: string
  /** As the record has it or will have it. */
  #ref: PlanRef | undefined
  #packed: Buffer | undefined
  /** Parts of it may lie in Secrets. */
  #mayLie: boolean
  #timer: Timer | undefined
  #storing: Promise<void> = Promise.resolve()
  #dropping: Promise<void> | undefined

  constructor(context: RunContext, state: WorkspaceState, credentials: string) {
    this.#credentials = credentials
    this.#context = context
    this.#state = state
    this.#ref = context.writer.record.plan
    this.#mayLie = this.#ref !== undefined
  }

  /** Puts the plan of the run that was interrupted into the folder, if it still holds; the log says why when it does not. */
  async loadEarlier(layout: Layout): Promise<PlanRef | undefined> {
    const ref = this.#ref
    if (!ref) return undefined
    const { folder, request, world } = this.#context
    await this.#state.flush(false)
    const obstacle = planObstacle(ref, this.#situation(layout, ref))
    const plan =
      obstacle === undefined
        ? (planInFolder(folder.plan, ref) ?? (await loadPlan(world.objects, request.owner, ref)))
        : undefined
    if (!plan) {
      this.#context.note(`Planning again: ${obstacle ?? 'the plan was not stored before its runner died'}`)
      await this.drop()
      return undefined
    }
    writeWhole(folder.plan, plan)
    const which = ref.needs === undefined ? 'made before the run was interrupted' : 'approved'
    this.#context.note(`Applying the plan of ${ref.madeAt} that was ${which}`)
    return ref
  }

  #situation({ workspace }: Layout, { folder }: PlanRef): PlanSituation {
    const { request, writer, world } = this.#context
    const { saved } = this.#state
    return {
      runId: request.runId,
      verb: request.verb,
      history: writer.record.history,
      hash: workspace.hash,
      tool: `${request.tool.name} ${request.tool.version}`,
      state: saved,
      credentials: this.#credentials,
      approved: request.approval?.approved?.hash,
      isManual: request.approval?.mode === 'Manual',
      isElsewhere: folder !== this.#context.folder.path && speaksOfPaths(this.#context.folder.work),
      nowMs: world.clock.now(),
    }
  }

  /** What the record says of the plan in the folder, before any of it is stored. */
  announce(layout: Layout, counts: PlanCounts): PlanRef | undefined {
    // One that was loaded, or could not be deleted: it is in the record until it is gone.
    if (this.#ref) return this.#ref
    const { folder, request, world } = this.#context
    const { packed, ...facts } = packPlan(folder.plan)
    if (!packed)
      this.#context.note(
        `The plan takes ${toMiB(facts.bytes)} packed; 8 MiB can be stored, so only the work folder has it`,
      )
    const now = world.clock.now()
    const { serial, lineage } = this.#state.saved ?? {}
    this.#packed = packed
    this.#ref = {
      ...facts,
      ...this.#context.slots?.take(facts.parts),
      run: request.runId,
      verb: request.verb,
      hash: layout.workspace.hash,
      tool: `${request.tool.name} ${request.tool.version}`,
      ...(serial === undefined || lineage === undefined ? {} : { serial, lineage }),
      credentials: this.#credentials,
      folder: folder.path,
      counts,
      madeAt: toTimestamp(now),
      expiresAt: toTimestamp(now + PLAN_LIFE_MS),
    }
    return this.#ref
  }

  /** The apply begins: what is announced is stored beside it, unless it is through before that is worth it. */
  keep(): void {
    const [ref, packed] = [this.#ref, this.#packed]
    if (!ref || !packed) return
    this.#timer = this.#context.world.clock.after(STORE_AFTER_MS, () => {
      if (!this.#isStale(ref)) this.#storing = this.#store(ref, packed)
    })
  }

  /** The plan waits for approval: it is announced and stored now, and outlives the run. */
  async hold(layout: Layout, counts: PlanCounts, { hash, expiresAt }: ProposedPlan): Promise<void> {
    await this.drop()
    // An earlier one that could not be deleted is still in the record.
    if (this.#ref) return
    const ref = { ...this.announce(layout, counts)!, needs: hash, expiresAt }
    const packed = this.#packed
    this.#ref = packed && ref
    if (!packed) return
    await this.#context.writer.update((record) => ({ ...record, plan: ref }))
    await this.#store(ref, packed)
  }

  async #store(ref: PlanRef, packed: Buffer): Promise<void> {
    const { request, world } = this.#context
    this.#mayLie = true
    try {
      await savePlan(world.objects, request.owner, ref, packed)
    } catch (error) {
      this.#context.note(`Storing the plan failed: ${messageOf(error)}`)
    }
  }

  #isStale({ serial, lineage }: PlanRef): boolean {
    const { saved } = this.#state
    return saved?.serial !== serial || saved?.lineage !== lineage
  }

  /** A plan that is older than the saved state can not be applied any more. */
  dropIfStale(): void {
    if (this.#mayLie && !this.#dropping && this.#ref && this.#isStale(this.#ref)) void this.drop()
  }

  /** Deletes what was stored; what cannot be deleted stays in the record until it is. */
  drop(): Promise<void> {
    this.#timer?.cancel()
    this.#dropping ??= this.#remove().finally(() => {
      this.#dropping = undefined
    })
    return this.#dropping
  }

  async #remove(): Promise<void> {
    await this.#storing
    const { request, world } = this.#context
    try {
      if (this.#ref && this.#mayLie) await deletePlan(world.objects, request.owner, this.#ref)
      this.#mayLie = false
      this.#ref = undefined
      this.#packed = undefined
    } catch (error) {
      world.log.warn('Deleting the stored plan failed', { error: messageOf(error) })
    }
  }

  /** What others must still delete, for the record of a run that ends. */
  get left(): PlanRef | undefined {
    return this.#ref
  }
}

function toMiB(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

/** A plan has absolute paths in it where the module asks for them; elsewhere they lead nowhere. */
function speaksOfPaths(work: string): boolean {
  return readdirSync(work, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tf(\.json)?$/.test(path) && !path.includes('.terraform/providers'))
    .some((path) => /\bpath\.cwd\b|\babspath\s*\(/.test(readFileSync(join(work, path), 'utf8')))
}
