// What is still stored for applies that are gone because their finalizers were removed by hand.
import { type Abandoned, findAbandoned } from '#engine'
import { ignore, type Objects } from '#kube'
import { counted } from '#lib'
import type { Examined } from '#view'
import { person } from './finding.ts'

/** Empty without the permission to list Secrets: the rest of the examination does not need it. */
export async function observeAbandoned(objects: Objects, namespace: string): Promise<readonly Abandoned[]> {
  return (await findAbandoned(objects, namespace).catch(ignore('Forbidden', 'KindNotServed'))) ?? []
}

export function examineAbandoned({ name, kept, recorded }: Abandoned): Examined {
  const count = recorded.addresses.length + recorded.unnamed
  const resources = counted(count, 'resource')
  return {
    name: `WorkspaceTemplateApply/${name}`,
    fact: 'gone',
    findings: [
      person(
        'kept',
        `the apply is gone without its finalizer, and ${kept.length} objects with ${resources} are still held for it: ${kept.join(', ')}`,
        count > 0
          ? 'create the apply again to destroy them with it, or leave them without an owner:'
          : 'nothing is recorded in them any more:',
        { command: `capt forget ${name}${count > 0 ? ' --orphan-resources' : ''}` },
      ),
    ],
  }
}
