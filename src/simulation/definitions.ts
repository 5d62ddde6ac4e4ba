// Watches CRDs come and go: groups of actors begin when their kinds are served. A CRD whose switch says `missing` is
// taken away again.
import { type AnyObject, CustomResourceDefinitionKind, isTrue, keyOf } from '#api'
import { act, type Controller, done } from '#runtime'
import { conditionList, type Stage } from './actor.ts'
import { faultOf, wakeOnFaults } from './faults.ts'

interface Observed {
  readonly definition: AnyObject & { readonly status?: { readonly conditions?: unknown } }
  readonly isMissing: boolean
  readonly isEstablished: boolean
  readonly nowMs: number
}
interface Action {
  readonly do: 'delete'
}

export function definitionActor(
  stage: Stage,
  onServed: (name: string) => void,
): Controller<AnyObject, Observed, Action> {
  return {
    name: 'simulated-definition',
    kind: CustomResourceDefinitionKind,
    summary: false,
    wakes: [wakeOnFaults(CustomResourceDefinitionKind)],
    async observe({ cache }, definition) {
      const isEstablished = isTrue(definition, 'Established')
      const isMissing = faultOf(cache, definition).is === 'missing'
      if (isEstablished && !isMissing && !definition.metadata.deletionTimestamp) onServed(definition.metadata.name)
      return { definition, isMissing, isEstablished, nowMs: stage.clock.now() }
    },
    decide: ({ isMissing, definition }) =>
      isMissing && !definition.metadata.deletionTimestamp ? act<Action>({ do: 'delete' }) : done,
    act: ({ objects }, { definition }) => objects.delete(CustomResourceDefinitionKind, keyOf(definition)),
    status: ({ isEstablished, isMissing, definition, nowMs }) => {
      // A real API server has done it already.
      if (isEstablished || isMissing) return {}
      const drafts = [
        { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts' },
        { type: 'Established', status: 'True', reason: 'InitialNamesAccepted' },
      ] as const
      return { fields: { conditions: conditionList(definition.status?.conditions, drafts, nowMs) } }
    },
  }
}
