// The order of stages. Pure: needs in, order or a cycle out.
import { CaptError } from '#lib'

export interface Ordered {
  readonly name: string
  readonly needs: readonly string[]
  readonly uninstall?: { readonly order?: number }
}

/** Stages with everything they need before them; otherwise the order in which they were written. */
export function orderStages<S extends Ordered>(stages: readonly S[]): readonly S[] {
  const byName = new Map(stages.map((stage) => [stage.name, stage]))
  const placed = new Set<string>()
  const ordered: S[] = []
  const visit = (stage: S, path: readonly string[]) => {
    if (placed.has(stage.name)) return
    if (path.includes(stage.name)) throw cycle([...path.slice(path.indexOf(stage.name)), stage.name])
    for (const need of stage.needs) {
      const needed = byName.get(need)
      if (!needed) throw unknownNeed(stage.name, need)
      visit(needed, [...path, stage.name])
    }
    placed.add(stage.name)
    ordered.push(stage)
  }
  for (const stage of stages) visit(stage, [])
  return ordered
}

/** What goes away first: a given order first (lower first), then the reverse of installation; never before its users. */
export function orderRemoval<S extends Ordered>(stages: readonly S[]): readonly S[] {
  const backwards = [...orderStages(stages)].reverse()
  const left = new Set(backwards)
  const removal: S[] = []
  while (left.size > 0) {
    const free = [...left].filter((stage) => ![...left].some((other) => other.needs.includes(stage.name)))
    const rank = (stage: S) => stage.uninstall?.order ?? Number.POSITIVE_INFINITY
    const next = free.reduce((best, stage) => (rank(stage) < rank(best) ? stage : best))
    removal.push(next)
    left.delete(next)
  }
  return removal
}

/** Names of all stages that these need, themselves included. */
export function withNeeds(stages: readonly Ordered[], wanted: Iterable<string>): ReadonlySet<string> {
  const byName = new Map(stages.map((stage) => [stage.name, stage]))
  const all = new Set<string>()
  const add = (name: string) => {
    if (all.has(name)) return
    all.add(name)
    for (const need of byName.get(name)?.needs ?? []) add(need)
  }
  for (const name of wanted) add(name)
  return all
}

const cycle = (path: readonly string[]) =>
  new CaptError('CAPT_STAGE_CYCLE', `Stages need each other in a circle: ${path.join(' → ')}`, {
    hint: 'Remove one of these needs from the AddonPipeline',
  })

const unknownNeed = (stage: string, need: string) =>
  new CaptError('CAPT_STAGE_UNKNOWN', `Stage ${stage} needs ${need}, which the pipeline does not have`, {
    hint: 'Name a stage of this pipeline in needs',
  })
