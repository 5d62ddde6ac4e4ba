// A CustomResourceDefinition that is being deleted takes its objects along before it goes.
import { CRD_CLEANUP, conditionsOf } from '../kinds/crd.ts'
import { CRDS } from '../kinds/registry.ts'
import { cloneJson, recordAt, textAt } from '../object.ts'
import type { World } from '../write/context.ts'
import { removeRow, type Steps, saveStored } from './stored.ts'

export function* cleanDefinition(world: World, name: string): Steps {
  const { store } = world
  const crd = store.read(CRDS, '', name)
  if (!crd?.metadata.deletionTimestamp || !crd.metadata.finalizers?.includes(CRD_CLEANUP)) return
  const collection = { group: textAt(crd, 'spec', 'group'), resource: textAt(crd, 'spec', 'names', 'plural') }
  for (const row of store.scan(collection)) {
    removeRow(world, collection, row)
    yield
  }
  const current = store.read(CRDS, '', name)
  if (!current) return
  const next = cloneJson(current)
  if (store.count(collection) === 0) {
    next.metadata.finalizers = (next.metadata.finalizers ?? []).filter((item) => item !== CRD_CLEANUP)
  } else {
    next['status'] = {
      ...recordAt(next, 'status'),
      conditions: conditionsOf(recordAt(next, 'status'), world.clock, [
        {
          type: 'Terminating',
          status: 'True',
          reason: 'InstanceDeletionInProgress',
          message: 'CustomResource deletion is in progress',
        },
      ]),
    }
  }
  saveStored(world, CRDS, next, current)
}
