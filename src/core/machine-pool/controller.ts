// The stand-in for core's MachinePool controller. It runs in the embedded home alone: where core Cluster API is installed,
// MachinePools are core's.
import {
  type AnyObject,
  CAPTBootstrapConfig,
  CAPTMachinePool,
  clusterKind,
  type Key,
  type Kind,
  keyOf,
  keyText,
  machinePoolKind,
  readCluster,
  readMachinePool,
} from '#api'
import type { Cache } from '#kube'
import { addFinalizer, type Controller, removeFinalizer, type World } from '#runtime'
import { clusterOfPool, POOLS_BY_CLUSTER } from '../cluster/observe.ts'
import { actOnPart, claim, findPart, referenceTextOf, referenceTexts } from '../referenced-objects.ts'
import { type Action, decideMachinePool, MACHINE_POOL_CORE_FINALIZER, type Observed } from './decide.ts'
import { statusOfMachinePool } from './status.ts'

const Cluster = clusterKind('v1beta2')
const MachinePool = machinePoolKind('v1beta2')
const KINDS: readonly Kind[] = [CAPTMachinePool, CAPTBootstrapConfig]

const BY_REFERENCE = 'reference'

export function machinePoolController(): Controller<AnyObject, Observed, Action> {
  return {
    name: 'machinepool',
    kind: MachinePool,
    summary: false,
    wakes: [
      { kind: Cluster, toKeys: (changed, cache) => poolsOf(cache, keyOf(changed)) },
      ...KINDS.map((kind) => ({
        kind,
        toKeys: (changed: AnyObject, cache: Cache) =>
          cache.keys(MachinePool, { index: BY_REFERENCE, value: referenceTextOf(changed) }),
      })),
    ],
    indexes: [
      { kind: MachinePool, name: POOLS_BY_CLUSTER, values: clusterOfPool },
      { kind: MachinePool, name: BY_REFERENCE, values: referencesOf },
    ],
    async observe({ cache }, object) {
      const facts = readMachinePool(object)
      const { namespace } = facts
      const cluster = cache.get(Cluster, { namespace, name: facts.clusterName })
      return {
        object,
        facts,
        cluster,
        clusterFacts: cluster && readCluster(cluster),
        infrastructure: findPart(cache, KINDS, namespace, facts.infrastructureRef),
        bootstrap: findPart(cache, KINDS, namespace, facts.bootstrapRef),
      }
    },
    decide: decideMachinePool,
    act: actOnMachinePool,
    status: statusOfMachinePool,
  }
}

async function actOnMachinePool({ objects }: World, observed: Observed, action: Action): Promise<void> {
  const { object, facts, cluster } = observed
  switch (action.do) {
    case 'add-finalizer':
      return addFinalizer(objects, MachinePool, object, MACHINE_POOL_CORE_FINALIZER)
    case 'remove-finalizer':
      return removeFinalizer(objects, MachinePool, object, MACHINE_POOL_CORE_FINALIZER)
    case 'adopt':
      return claim(objects, MachinePool, object, cluster!, facts.clusterName)
    case 'claim':
    case 'delete':
      return actOnPart(objects, action, object, facts.clusterName)
    case 'set-data-secret': {
      const body = { spec: { template: { spec: { bootstrap: { dataSecretName: action.name } } } } }
      await objects.patch(MachinePool, keyOf(object), { type: 'merge', body })
    }
  }
}

function referencesOf(object: AnyObject): readonly string[] {
  const { namespace, infrastructureRef, bootstrapRef } = readMachinePool(object)
  return referenceTexts(namespace, infrastructureRef, bootstrapRef)
}

const poolsOf = (cache: Cache, cluster: Key): readonly Key[] =>
  cache.keys(MachinePool, { index: POOLS_BY_CLUSTER, value: keyText(cluster) })
