// Plays what makes load balancers: the cloud controller manager, which lives beside the API server, and the AWS Load
// Balancer Controller, which runs on nodes. Both hold a finalizer for as long as the balancer is there.
import type { AnyObject, KindRef } from '#api'
import type { Objects, Projected } from '#kube'
import { shortHash } from '#lib'
import {
  act,
  addFinalizer,
  type Controller,
  type Decision,
  done,
  hasFinalizer,
  removeFinalizer,
  waiting,
} from '#runtime'
import { isRunning, type Stage, wakeOnDeployment } from '../actor.ts'
import type { Ledger, SimulatedObject } from '../ledger.ts'
import { IngressKind } from '../names.ts'

export const BALANCER_CONTROLLER = 'aws-load-balancer-controller'
/** Services of this class belong to the AWS Load Balancer Controller. */
export const BALANCER_CLASS = 'service.k8s.aws/nlb'
const INGRESS_CLASS = 'alb'
const INGRESS_FINALIZER = 'ingress.k8s.aws/resources'

interface Balanced {
  readonly wants: boolean
  readonly isHeld: boolean
  readonly isAlive: boolean
  readonly isDeleting: boolean
}

/** What the controller of a balancer does next; undefined when it has nothing to do. */
export function decideBalancer({ wants, isHeld, isAlive, isDeleting }: Balanced): Decision<BalancerAction> | undefined {
  if (!isDeleting && (!wants || isHeld)) return undefined
  if (isDeleting && !isHeld) return done
  if (!isAlive) return waiting('NoController', `${BALANCER_CONTROLLER} does not run`)
  return act<BalancerAction>({ do: isDeleting ? 'let-go' : 'hold' })
}
type BalancerAction = { readonly do: 'hold' | 'let-go' }

/** An interrupted step is repeated: the finalizer says that the balancer is there, and goes after it. */
export async function actOnBalancer(
  objects: Objects,
  ledger: Ledger,
  kind: KindRef,
  object: AnyObject,
  finalizer: string,
  action: BalancerAction['do'],
): Promise<void> {
  const held = balancerOf(kind, object)
  if (action === 'hold') {
    await ledger.hold(...held)
    return await addFinalizer(objects, kind, object, finalizer)
  }
  for (const { id } of held) await ledger.remove(id)
  await removeFinalizer(objects, kind, object, finalizer)
}

function balancerOf(kind: KindRef, { metadata }: AnyObject): readonly SimulatedObject[] {
  const hash = shortHash(`${kind.kind}/${metadata.namespace}/${metadata.name}`, 8)
  const id = `k8s-${metadata.name.slice(0, 8)}-${hash}`
  return [
    { kind: 'load balancer', id },
    { kind: 'target group', id: `${id}-targets`, usedBy: id },
    { kind: 'security group', id: `sg-${hash}`, usedBy: id },
  ]
}

interface Ingress extends AnyObject {
  readonly spec?: { readonly ingressClassName?: string }
}
interface Observed {
  readonly ingress: Projected<Ingress>
  readonly isAlive: boolean
}

export function ingressActor({ ledger }: Stage): Controller<Ingress, Observed, BalancerAction> {
  return {
    name: 'simulated-ingress',
    kind: IngressKind,
    summary: false,
    wakes: [wakeOnDeployment(IngressKind, BALANCER_CONTROLLER)],
    observe: async ({ cache }, ingress) => ({ ingress, isAlive: isRunning(cache, BALANCER_CONTROLLER) }),
    decide: ({ ingress, isAlive }) =>
      decideBalancer({
        wants: ingress.spec?.ingressClassName === INGRESS_CLASS,
        isHeld: hasFinalizer(ingress, INGRESS_FINALIZER),
        isAlive,
        isDeleting: ingress.metadata.deletionTimestamp !== undefined,
      }) ?? done,
    act: ({ objects }, { ingress }, action) =>
      actOnBalancer(objects, ledger, IngressKind, ingress, INGRESS_FINALIZER, action.do),
    status: () => ({}),
  }
}
