// The stand-in for core's MachinePool controller. It runs in the embedded home alone: where core Cluster API is installed,
// MachinePools are core's.
import {
  type AnyObject,
  CAPTBootstrapConfig,
  CAPTMachinePool,
  CLUSTER_NAME_LABEL,
  type ContractRef,
  clusterKind,
  type Key,
  type Kind,
  type KindRef,
  keyOf,
  keyText,
  machinePoolKind,
  readCluster,
  readMachinePool,
} from '#api'
import type { Cache } from '#kube'
import { addFinalizer, type Controller, ownerReference, removeFinalizer, type World, withOwner } from '#runtime'
import { clusterOfPool, POOLS_BY_CLUSTER } from '../cluster/observe.ts'
import { type Action, decideMachinePool, MACHINE_POOL_CORE_FINALIZER, type Observed, type Part } from './decide.ts'
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
        toKeys: ({ kind: word, metadata }: AnyObject, cache: Cache) =>
          cache.keys(MachinePool, { index: BY_REFERENCE, value: `${word}/${metadata.namespace}/${metadata.name}` }),
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
      const part = (ref: ContractRef | undefined): Part | undefined => {
        if (!ref) return undefined
        const kind = KINDS.find((one) => one.group === ref.group && one.kind === ref.kind)
        return { ref, kind, object: kind && cache.get(kind, { namespace, name: ref.name }) }
      }
      return {
        object,
        facts,
        cluster,
        clusterFacts: cluster && readCluster(cluster),
        infrastructure: part(facts.infrastructureRef),
        bootstrap: part(facts.bootstrapRef),
      }
    },
    decide: decideMachinePool,
    act: actOnMachinePool,
    status: statusOfMachinePool,
  }
}

async function actOnMachinePool(world: World, observed: Observed, action: Action): Promise<void> {
  const { objects } = world
  const { object, facts, cluster } = observed
  switch (action.do) {
    case 'add-finalizer':
      return addFinalizer(objects, MachinePool, object, MACHINE_POOL_CORE_FINALIZER)
    case 'remove-finalizer':
      return removeFinalizer(objects, MachinePool, object, MACHINE_POOL_CORE_FINALIZER)
    case 'adopt':
      return claim(world, MachinePool, object, cluster!, facts.clusterName)
    case 'claim':
      if (action.part.kind && action.part.object)
        await claim(world, action.part.kind, action.part.object, object, facts.clusterName)
      return
    case 'delete': {
      const { metadata } = action.part.object!
      return objects.delete(action.part.kind!, keyOf(action.part.object!), { uid: metadata.uid ?? '' })
    }
    case 'set-data-secret': {
      const body = { spec: { template: { spec: { bootstrap: { dataSecretName: action.name } } } } }
      await objects.patch(MachinePool, keyOf(object), { type: 'merge', body })
    }
  }
}

async function claim(
  { objects }: World,
  kind: KindRef,
  object: AnyObject,
  owner: AnyObject,
  cluster: string,
): Promise<void> {
  const { resourceVersion, ownerReferences } = object.metadata
  const reference = ownerReference(owner, owner.kind === 'Cluster' ? {} : { controller: true })
  const body = {
    metadata: {
      resourceVersion,
      labels: { [CLUSTER_NAME_LABEL]: cluster },
      ownerReferences: withOwner(ownerReferences, reference),
    },
  }
  await objects.patch(kind, keyOf(object), { type: 'merge', body })
}

function referencesOf(object: AnyObject): readonly string[] {
  const { namespace, infrastructureRef, bootstrapRef } = readMachinePool(object)
  return [infrastructureRef, bootstrapRef].flatMap((ref) => (ref ? [`${ref.kind}/${namespace}/${ref.name}`] : []))
}

const poolsOf = (cache: Cache, cluster: Key): readonly Key[] =>
  cache.keys(MachinePool, { index: POOLS_BY_CLUSTER, value: keyText(cluster) })
