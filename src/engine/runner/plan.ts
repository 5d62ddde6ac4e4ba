// The plan of a run: that of the run that was interrupted where it still holds, otherwise a new one.
import { join } from 'node:path'
import type { PlanCounts } from '../messages.ts'
import type { Verb } from '../record/record.ts'
import { loadState } from '../state/state-store.ts'
import type { RunContext } from './context.ts'
import { writeWhole } from './inputs/folder.ts'
import { type Layout, remoteBackend } from './inputs/layout.ts'
import type { TerraformRun } from './process/terraform-run.ts'
import { refuseUnderPause } from './record/paused.ts'
import type { Planned, Prepared } from './values.ts'

export async function plan(context: RunContext, prepared: Prepared): Promise<Planned> {
  const { plans, terraform } = prepared
  const layout = await uponTarget(context, prepared.layout)
  const { request, world } = context
  const recalled = await plans.loadEarlier(layout)
  const counts = recalled ? recalled.counts : await makePlan(terraform, layout, request.verb)
  const backend = remoteBackend(layout.root)
  await refuseUnderPause(world.objects, request.owner)
  return { ...prepared, recalled, counts, backend }
}

/** A speculative plan reads the state of another apply, and locks nothing. A backend of the template's own is read as it is. */
async function uponTarget({ request, folder, world }: RunContext, layout: Layout): Promise<Layout> {
  const { speculativeFor: name, owner } = request
  if (name === undefined) return layout
  const planArgs = [...layout.planArgs, '-lock=false']
  if (remoteBackend(layout.root) !== undefined) return { ...layout, planArgs }
  const text = await loadState(world.objects, { namespace: owner.namespace, name })
  if (text === undefined) return { ...layout, planArgs }
  // Deleted with the variables when the run ends.
  const path = join(folder.vars, 'target.tfstate')
  writeWhole(path, text)
  return { ...layout, planArgs: [...planArgs, `-state=${path}`] }
}

export function makePlan(terraform: TerraformRun, layout: Layout, verb: Verb): Promise<PlanCounts | undefined> {
  return verb === 'destroy' ? terraform.planDestroy(layout) : terraform.plan(layout, verb)
}
