// The plan of a run outside its work folder: recalled when a run is taken up, stored while the apply is under way, and gone
// when the state has moved on or the run has ended. Never in the way of Terraform: storing it happens beside the apply.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, type Timer, toTimestamp } from '#lib'
import type { PlanCounts } from '../messages.ts'
import {
  deletePlan,
  loadPlan,
  PLAN_LIFE_MS,
  type PlanSituation,
  packPlan,
  planInFolder,
  planObstacle,
  savePlan,
} from '../plan.ts'
import type { PlanRef } from '../record/record.ts'
import { writeWhole } from './folder.ts'
import type { Layout } from './prepare.ts'
import type { Session } from './session.ts'
import type { WorkspaceState } from './workspace-state.ts'

/** An apply that is through by then, or has saved a newer state, leaves nothing that a stored plan could be good for. */
const STORE_AFTER_MS = 3_000

export class PlanKeeper {
  readonly #session: Session
  readonly #state: WorkspaceState
  /** As the record has it or will have it. */
  #ref: PlanRef | undefined
  #packed: Buffer | undefined
  /** Parts of it may lie in Secrets. */
  #mayLie: boolean
  #timer: Timer | undefined
  #storing: Promise<void> = Promise.resolve()
  #dropping: Promise<void> | undefined

  constructor(session: Session, state: WorkspaceState) {
    this.#session = session
    this.#state = state
    this.#ref = session.keeper.record.plan
    this.#mayLie = this.#ref !== undefined
  }

  /** Puts the plan of the run that was interrupted into the folder, if it still holds; says why when it does not. */
  async recall(layout: Layout): Promise<PlanRef | undefined> {
    const ref = this.#ref
    if (!ref) return undefined
    const { folder, request, world } = this.#session
    await this.#state.flush(false)
    const obstacle = planObstacle(ref, this.#situation(layout, ref))
    const plan =
      obstacle === undefined
        ? (planInFolder(folder.plan, ref) ?? (await loadPlan(world.objects, request.owner, ref)))
        : undefined
    if (!plan) {
      this.#session.say(`Planning again: ${obstacle ?? 'the plan was not stored before its runner died'}`)
      await this.drop()
      return undefined
    }
    writeWhole(folder.plan, plan)
    this.#session.say(`Applying the plan of ${ref.madeAt} that was made before the run was interrupted`)
    return ref
  }

  #situation({ workspace }: Layout, { folder }: PlanRef): PlanSituation {
    const { request, keeper, trace, world } = this.#session
    const { saved } = this.#state
    return {
      runId: request.runId,
      verb: request.verb,
      history: keeper.record.history,
      hash: workspace.hash,
      tool: `${request.tool.name} ${request.tool.version}`,
      state: saved,
      credentials: trace.credentials?.fingerprint ?? '',
      isElsewhere: folder !== this.#session.folder.path && speaksOfPaths(this.#session.folder.work),
      nowMs: world.clock.now(),
    }
  }

  /** What the record says of the plan in the folder, before any of it is stored. */
  announce(layout: Layout, counts: PlanCounts): PlanRef | undefined {
    // One that was recalled, or could not be taken away: it is in the record until it is gone.
    if (this.#ref) return this.#ref
    const { folder, request, world } = this.#session
    const { packed, ...facts } = packPlan(folder.plan)
    if (!packed)
      this.#session.say(
        `The plan takes ${toMiB(facts.bytes)} packed; 8 MiB can be stored, so only the work folder has it`,
      )
    const now = world.clock.now()
    const { serial, lineage } = this.#state.saved ?? {}
    this.#packed = packed
    this.#ref = {
      ...facts,
      run: request.runId,
      verb: request.verb,
      hash: layout.workspace.hash,
      tool: `${request.tool.name} ${request.tool.version}`,
      ...(serial === undefined || lineage === undefined ? {} : { serial, lineage }),
      credentials: this.#session.trace.credentials?.fingerprint ?? '',
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
    this.#timer = this.#session.world.clock.after(STORE_AFTER_MS, () => {
      if (!this.#isStale(ref)) this.#storing = this.#store(ref, packed)
    })
  }

  async #store(ref: PlanRef, packed: Buffer): Promise<void> {
    const { request, world } = this.#session
    this.#mayLie = true
    try {
      await savePlan(world.objects, request.owner, ref, packed)
    } catch (error) {
      this.#session.say(`Storing the plan failed: ${messageOf(error)}`)
    }
  }

  #isStale({ serial, lineage }: PlanRef): boolean {
    const { saved } = this.#state
    return saved?.serial !== serial || saved?.lineage !== lineage
  }

  /** The apply has come further: a plan that the state has left behind is of no use to anybody. */
  look(): void {
    if (this.#mayLie && !this.#dropping && this.#ref && this.#isStale(this.#ref)) void this.drop()
  }

  /** Takes away what was stored; what cannot be taken away stays in the record until it is. */
  drop(): Promise<void> {
    this.#timer?.cancel()
    this.#dropping ??= this.#remove().finally(() => {
      this.#dropping = undefined
    })
    return this.#dropping
  }

  async #remove(): Promise<void> {
    await this.#storing
    const { request, world } = this.#session
    try {
      if (this.#ref && this.#mayLie) await deletePlan(world.objects, request.owner, this.#ref)
      this.#mayLie = false
      this.#ref = undefined
      this.#packed = undefined
    } catch (error) {
      world.log.warn('Deleting the stored plan failed', { error: messageOf(error) })
    }
  }

  /** What is left to be taken away by others, for the record of a run that ends. */
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
