// Observes what the steps that belong to no stage type have left to do, in the management or the workload cluster. A kind
// that is not served has nothing left.
import { AddonDelivery, kindRef, PodKind, ServiceKind } from '#api'
import type { Objects } from '#kube'
import { fieldsOf } from '#lib'
import { GATES_ANNOTATION, MANAGED_LABEL, STAGE_LABEL } from '../names.ts'
import { probeKey } from '../probe/probe.ts'
import { payloadKind } from '../resource-set/payloads.ts'
import { parseGates } from '../stages/request.ts'
import { one, things, toObserved, toThing } from './objects.ts'
import type { TeardownContext } from './observe.ts'
import type { ObservedStep, Step, Thing } from './observed.ts'

const IngressKind = kindRef('networking.k8s.io/v1', 'Ingress')
const GatewayKinds = ['v1', 'v1beta1'].map((version) => kindRef(`gateway.networking.k8s.io/${version}`, 'Gateway'))

export async function observeHomeStep(
  { sets, stages, delivery, world, cluster }: TeardownContext,
  step: Step,
): Promise<ObservedStep> {
  if (step.type === 'sets')
    return toObserved(
      step,
      sets
        .filter(({ object }) => object.metadata.labels?.[STAGE_LABEL] === step.stage)
        .map(({ object, kind }) => toThing(kind, object)),
    )
  const gate = stages.find((stage) => stage.name === step.stage)?.gateLabel
  const isOpen = gate !== undefined && parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION]).has(gate)
  const rows = delivery.status?.stages?.find((one) => one.name === step.stage)?.delivered?.resources ?? []
  const own = rows.filter((row) => !row.name.startsWith('fluxcd-install-'))
  const payloads = await Promise.all(
    own.map((row) => one(world.objects, payloadKind(row), { namespace: cluster.namespace, name: row.name })),
  )
  const label: Thing[] = isOpen ? [{ kind: AddonDelivery, key: { name: gate }, isDeleting: false, finalizers: [] }] : []
  return toObserved(step, [...label, ...payloads.flat().filter((thing) => !thing.isDeleting)])
}

export async function observeProbePod(objects: Objects, step: Step): Promise<ObservedStep> {
  const pod = await objects.get(PodKind, probeKey(step.stage))
  return toObserved(step, pod?.metadata.labels?.[MANAGED_LABEL] === 'true' ? [toThing(PodKind, pod)] : [])
}

export async function observeBalancers(objects: Objects, step: Step): Promise<ObservedStep> {
  const services = await things(objects, ServiceKind, (service) => fieldsOf(service['spec'])['type'] === 'LoadBalancer')
  const ingresses = await things(objects, IngressKind, () => true)
  const gateways = new Map<string, Thing>()
  for (const kind of GatewayKinds)
    for (const gateway of await things(objects, kind, () => true)) {
      const id = `${gateway.key.namespace}/${gateway.key.name}`
      if (!gateways.has(id)) gateways.set(id, gateway)
    }
  return toObserved(step, [...services, ...ingresses, ...gateways.values()])
}
