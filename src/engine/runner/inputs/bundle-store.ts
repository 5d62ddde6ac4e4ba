// The inputs of a run on their way into Secrets: announced in the record, then stored. What was announced and is not the
// bundle of the record in the end is spare, and spare ones are taken away beside the apply. Nothing is stored before a
// run is sure to change something, or removed under a pause: a move of the Cluster has counted its Secrets.
import { messageOf } from '#lib'
import type { BundleRef, RunRecord } from '../../record/record.ts'
import { bundleRef, deleteBundle, packBundle, saveBundle } from '../../saved/bundle.ts'
import type { RunContext } from '../context.ts'
import type { Layout } from './layout.ts'

export class BundleStore {
  readonly #context: RunContext
  readonly #layout: Layout
  readonly #gone = new Set<string>()
  #swept: Promise<void> = Promise.resolve()

  constructor(context: RunContext, layout: Layout) {
    this.#context = context
    this.#layout = layout
  }

  /** The bundle of these inputs. A destroy keeps the one it has. */
  async store(): Promise<BundleRef | undefined> {
    const { world, request, folder, writer } = this.#context
    const { workspace } = this.#layout
    const { verb, owner, tool } = request
    const current = writer.record.bundle
    if (verb === 'destroy' || current?.hash === workspace.hash) return current
    const name = `${tool.name} ${tool.version}`
    const packed = packBundle(folder.work, workspace, name)
    const facts = bundleRef(packed, workspace.hash, name)
    const isStored = facts.id === current?.id
    const ref = { ...facts, ...(isStored ? slotsOf(current) : this.#context.slots?.take(facts.parts)) }
    if (!isStored) await writer.update((record) => announced(record, ref))
    await saveBundle(world.objects, owner, packed, ref)
    return ref
  }

  /** Takes away what is spare by now; what cannot be taken away stays in the record. */
  sweep(): Promise<void> {
    this.#swept = this.#swept.then(() => this.#sweep())
    return this.#swept
  }

  async #sweep(): Promise<void> {
    const { world, request, writer } = this.#context
    for (const ref of this.left(writer.record.spare)) {
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

const slotsOf = ({ slots }: BundleRef) => (slots ? { slots } : {})

/** The phase Plan was only reported so far: this write must not set it back. */
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
