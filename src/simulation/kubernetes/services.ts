// Plays the endpoint and load-balancer controllers: a Service finds its ready pods, and a load balancer holds an address
// until it is deleted.
import { type AnyObject, isTrue, keyOf, PodKind, ServiceKind } from '#api'
import { ignore, type Projected } from '#kube'
import { hasLabels, jsonEqual } from '#lib'
import { act, type Controller, type Decision, done, hasFinalizer, ownerReference } from '#runtime'
import { isRunning, type Stage, wakeOnDeployment, wakeOwner } from '../actor.ts'
import { EndpointSliceKind, simulated } from '../names.ts'
import { actOnBalancer, BALANCER_CLASS, BALANCER_CONTROLLER, decideBalancer } from './balancers.ts'
import type { Pod } from './placement.ts'

interface Service extends AnyObject {
  readonly spec?: {
    readonly type?: string
    readonly loadBalancerClass?: string
    readonly selector?: Readonly<Record<string, string>>
    readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[]
  }
}
interface Slice extends AnyObject {
  readonly endpoints?: readonly {
    readonly addresses: readonly string[]
    readonly conditions: { readonly ready: boolean }
  }[]
}
interface Observed {
  readonly service: Projected<Service>
  readonly slice: Projected<Slice> | undefined
  readonly endpoints: NonNullable<Slice['endpoints']>
  /** Whether the controller of its balancer runs. */
  readonly isAlive: boolean
}
type Action = { readonly do: 'write' | 'hold' | 'let-go' }

const BALANCER_FINALIZER = 'service.kubernetes.io/load-balancer-cleanup'
const sliceKey = ({ metadata }: AnyObject) => ({ namespace: metadata.namespace!, name: `${metadata.name}-simulated` })

export function serviceActor({ ledger }: Stage): Controller<Service, Observed, Action> {
  return {
    name: 'simulated-service',
    kind: ServiceKind,
    summary: false,
    wakes: [
      wakeOnDeployment(ServiceKind, BALANCER_CONTROLLER),
      wakeOwner(ServiceKind, EndpointSliceKind),
      {
        kind: PodKind,
        toKeys: (pod, cache) =>
          cache
            .list<Service>(ServiceKind, { namespace: pod.metadata.namespace! })
            .filter((service) => selects(service, pod))
            .map(keyOf),
      },
    ],
    async observe({ cache }, service) {
      const pods = cache
        .list<Pod>(PodKind, { namespace: service.metadata.namespace! })
        .filter((pod) => selects(service, pod))
      return {
        service,
        isAlive: service.spec?.loadBalancerClass !== BALANCER_CLASS || isRunning(cache, BALANCER_CONTROLLER),
        slice: cache.get<Slice>(EndpointSliceKind, sliceKey(service)),
        endpoints: pods
          .filter((pod) => pod.status?.podIP !== undefined)
          .map((pod) => ({ addresses: [pod.status!.podIP!], conditions: { ready: isTrue(pod, 'Ready') } }))
          .sort((a, b) => (a.addresses[0]! < b.addresses[0]! ? -1 : 1)),
      }
    },
    decide,
    act: async ({ objects }, observed, action) => {
      if (action.do !== 'write')
        return await actOnBalancer(objects, ledger, ServiceKind, observed.service, BALANCER_FINALIZER, action.do)
      const { metadata, spec } = observed.service
      const ports = (spec?.ports ?? []).map(({ name = '', port, protocol = 'TCP' }) => ({ name, port, protocol }))
      const key = sliceKey(observed.service)
      const body = { endpoints: observed.endpoints }
      if (observed.slice) return void (await objects.patch(EndpointSliceKind, key, { type: 'merge', body }))
      await objects
        .create(EndpointSliceKind, {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: {
            ...key,
            labels: { ...simulated, 'kubernetes.io/service-name': metadata.name },
            ownerReferences: [ownerReference(observed.service, { controller: true })],
          },
          addressType: 'IPv4',
          ports,
          endpoints: observed.endpoints,
        } as AnyObject)
        .catch(ignore('AlreadyExists'))
    },
    status: ({ service }) => {
      if (service.spec?.type !== 'LoadBalancer' || service.metadata.deletionTimestamp) return {}
      return { fields: { loadBalancer: { ingress: [{ hostname: `${service.metadata.name}.simulated.invalid` }] } } }
    },
  }
}

function selects({ spec }: Service, pod: AnyObject): boolean {
  const selector = spec?.selector ?? {}
  return Object.keys(selector).length > 0 && hasLabels(pod.metadata.labels, selector)
}

function decide({ service, slice, endpoints, isAlive }: Observed): Decision<Action> {
  const balancer = decideBalancer({
    wants: service.spec?.type === 'LoadBalancer',
    isHeld: hasFinalizer(service, BALANCER_FINALIZER),
    isAlive,
    isDeleting: service.metadata.deletionTimestamp !== undefined,
  })
  if (balancer) return balancer
  if (!service.spec?.selector) return done
  if (slice ? jsonEqual(slice.endpoints ?? [], endpoints) : endpoints.length === 0) return done
  return act<Action>({ do: 'write' })
}
