// The inputs of a run on their way into Secrets: announced in the record, then stored. What was announced and is not the
// bundle of the record in the end is spare, and spare ones are taken away beside the apply. Nothing is stored before a
// run is sure to change something, or taken away under a pause: whoever moves the Cluster has counted its Secrets.
import { messageOf } from '#lib'
import { bundleRef, deleteBundle, packBundle, saveBundle } from '../bundle.ts'
import type { BundleRef, RunRecord } from '../record/record.ts'
import type { Layout } from './prepare.ts'
import type { Session } from './session.ts'

export class BundleKeeper {
  readonly #session: Session
  readonly #layout: Layout
  readonly #gone = new Set<string>()
  #swept: Promise<void> = Promise.resolve()

  constructor(session: Session, layout: Layout) {
    this.#session = session
    this.#layout = layout
  }

  /** The bundle of these inputs. A destroy keeps the one it has. */
  async store(): Promise<BundleRef | undefined> {
    const { world, request, folder, keeper } = this.#session
    const { workspace } = this.#layout
    const { verb, owner, tool } = request
    const current = keeper.record.bundle
    if (verb === 'destroy' || current?.hash === workspace.hash) return current
    const name = `${tool.name} ${tool.version}`
    const packed = packBundle(folder.work, workspace, name)
    const ref = bundleRef(packed, workspace.hash, name)
    if (ref.id !== current?.id) await keeper.update((record) => announced(record, ref))
    await saveBundle(world.objects, owner, packed, ref)
    return ref
  }

  /** Takes away what is spare by now; what cannot be taken away stays in the record. */
  sweep(): Promise<void> {
    this.#swept = this.#swept.then(() => this.#sweep())
    return this.#swept
  }

  async #sweep(): Promise<void> {
    const { world, request, keeper } = this.#session
    for (const ref of this.left(keeper.record.spare)) {
      try {
        await deleteBundle(world.objects, request.owner, ref)
        this.#gone.add(ref.id)
      } catch (error) {
        world.log.warn('Deleting old inputs failed', { error: messageOf(error) })
      }
    }
  }

  /** Of these, what is left to be taken away by others. */
  left(spare: readonly BundleRef[] = []): readonly BundleRef[] {
    return spare.filter(({ id }) => !this.#gone.has(id))
  }
}

/** The word of the runner that it plans is not in the record yet, and must not be taken back by it. */
function announced(record: RunRecord, ref: BundleRef): RunRecord {
  return { ...record, spare: withSpare(record.spare, [ref]), run: { ...record.run!, phase: 'Plan' } }
}

/** Each of them once. */
export function withSpare(
  spare: readonly BundleRef[] = [],
  more: readonly (BundleRef | undefined)[],
): readonly BundleRef[] {
  const all = [...spare, ...more].filter((ref) => ref !== undefined)
  return all.filter(({ id }, i) => all.findIndex((other) => other.id === id) === i)
}
