// Which program wrote the state that a run works on, as its record has it: `tofu 1.10.6`.
import type { Objects } from '#kube'
import type { StartRequest } from '../port.ts'
import type { RunRecord } from '../record/record.ts'
import { readRecord } from '../record/record-store.ts'

/** Of a speculative run and of a drift check: that of their target. */
export async function lastTool(
  objects: Objects,
  { owner: { namespace }, speculativeFor }: Pick<StartRequest, 'owner' | 'speculativeFor'>,
  record: Pick<RunRecord, 'bundle'>,
): Promise<string | undefined> {
  if (speculativeFor === undefined) return record.bundle?.tool
  return (await readRecord(objects, { namespace, name: speculativeFor }))?.record.bundle?.tool
}
