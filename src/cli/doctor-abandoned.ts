// What is still held for applies that are gone: somebody stripped their finalizers, and nobody takes it away any more.
import { type Abandoned, findAbandoned } from '#engine'
import { isKubeError } from '#kube'
import type { Examined } from '#view'
import type { Connected } from './command.ts'

/** Nothing for whoever may not list Secrets: the rest of the examination does without. */
export async function observeAbandoned({ objects, namespace }: Connected): Promise<readonly Abandoned[]> {
  try {
    return await findAbandoned(objects, namespace)
  } catch (error) {
    if (isKubeError(error, 'Forbidden', 'KindNotServed')) return []
    throw error
  }
}

export function examineAbandoned({ name, kept, recorded }: Abandoned): Examined {
  const count = recorded.addresses.length + recorded.unnamed
  const resources = `${count} resource${count === 1 ? '' : 's'}`
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
