// What is still stored for applies that are gone because somebody removed their finalizers.
import { type Abandoned, findAbandoned } from '#engine'
import { isKubeError, type Objects } from '#kube'
import { counted } from '#lib'
import type { Examined } from '#view'

/** Empty without the permission to list Secrets: the rest of the examination does not need it. */
export async function observeAbandoned(objects: Objects, namespace: string): Promise<readonly Abandoned[]> {
  try {
    return await findAbandoned(objects, namespace)
  } catch (error) {
    if (isKubeError(error, 'Forbidden', 'KindNotServed')) return []
    throw error
  }
}

export function examineAbandoned({ name, kept, recorded }: Abandoned): Examined {
  const count = recorded.addresses.length + recorded.unnamed
  const resources = counted(count, 'resource')
  return {
    name: `WorkspaceTemplateApply/${name}`,
    fact: 'gone',
    findings: [
      {
        word: 'kept',
        weight: 'person',
        what: `the apply is gone without its finalizer, and ${kept.length} objects with ${resources} are still held for it: ${kept.join(', ')}`,
        todo:
          count > 0
            ? `create the apply again to destroy them with it, or leave them without an owner:`
            : 'nothing is recorded in them any more:',
        command: count > 0 ? `capt forget ${name} --orphan-resources` : `capt forget ${name}`,
      },
    ],
  }
}
