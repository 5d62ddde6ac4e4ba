// Plays the deployment controller without ReplicaSets: keeps as many pods of the present template as are wanted, and
// reports in the status how they are.
import { type AnyObject, DeploymentKind, isTrue, keyOf, ownerUidsOf, PodKind } from '#api'
import { ignore, type Projected } from '#kube'
import { hashOf, shortHash } from '#lib'
import { act, type Controller, type Decision, done, ownerReference, waiting } from '#runtime'
import { conditionList, type Stage, secondsLeft, wakeOwner } from '../actor.ts'
import { wakeOnFaults } from '../faults.ts'
import type { Pod } from './placement.ts'
import { podLabels } from './pods.ts'

interface Deployment extends AnyObject {
  readonly spec?: {
    readonly replicas?: number
    readonly progressDeadlineSeconds?: number
    readonly template?: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>
        readonly annotations?: Readonly<Record<string, string>>
      }
      readonly spec?: object
    }
  }
  readonly status?: { readonly conditions?: unknown }
}

interface Observed {
  readonly deployment: Projected<Deployment>
  readonly pods: readonly Projected<Pod>[]
  readonly hash: string
  readonly nowMs: number
}
type Action = { readonly do: 'create'; readonly name: string } | { readonly do: 'delete'; readonly pod: Projected<Pod> }

const HASH_LABEL = 'pod-template-hash'

export function deploymentActor(stage: Stage): Controller<Deployment, Observed, Action> {
  return {
    name: 'simulated-deployment',
    kind: DeploymentKind,
    summary: false,
    wakes: [wakeOwner(DeploymentKind, PodKind), wakeOnFaults(DeploymentKind)],
    indexes: [{ kind: PodKind, name: 'owner', values: ownerUidsOf }],
    async observe({ cache }, deployment) {
      return {
        deployment,
        pods: cache
          .list<Pod>(PodKind, { index: 'owner', value: deployment.metadata.uid ?? '' })
          .filter((pod) => !pod.metadata.deletionTimestamp),
        // With the uid: the pods of one that was deleted, and made again, may still be there under their names.
        hash: shortHash(hashOf([deployment.metadata.uid ?? '', deployment.spec?.template ?? {}]), 6),
        nowMs: stage.clock.now(),
      }
    },
    decide,
    act: async ({ objects }, { deployment, hash }, action) => {
      if (action.do === 'delete') return await objects.delete(PodKind, keyOf(action.pod))
      const template = deployment.spec?.template
      const labels = { ...podLabels(template?.metadata?.labels), [HASH_LABEL]: hash }
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: action.name,
          namespace: deployment.metadata.namespace!,
          labels,
          annotations: template?.metadata?.annotations ?? {},
          ownerReferences: [ownerReference(deployment, { controller: true, blockOwnerDeletion: true })],
        },
        spec: template?.spec ?? {},
      }
      await objects.create(PodKind, pod).catch(ignore('AlreadyExists'))
    },
    status: report,
  }
}

const wantedOf = ({ spec }: Deployment) => spec?.replicas ?? 1

function decide(observed: Observed): Decision<Action> {
  const { deployment, pods, hash } = observed
  if (deployment.metadata.deletionTimestamp) return done
  const current = pods.filter((pod) => pod.metadata.labels?.[HASH_LABEL] === hash)
  const names = Array.from({ length: wantedOf(deployment) }, (_, i) => `${deployment.metadata.name}-${hash}-${i}`)
  const surplus = pods.filter((pod) => !names.includes(pod.metadata.name))
  const missing = names.filter((name) => !current.some((pod) => pod.metadata.name === name))
  const actions: Action[] = [
    ...surplus.map((pod) => ({ do: 'delete' as const, pod })),
    ...missing.map((name) => ({ do: 'create' as const, name })),
  ]
  if (actions.length > 0) return act<Action>(...actions)
  const left = isComplete(observed) ? 0 : deadlineIn(observed)
  return left > 0 ? waiting('Progressing', 'Pods are starting', left) : done
}

const isReady = (pod: Pod) => isTrue(pod, 'Ready')
const isComplete = ({ pods, deployment }: Observed) => pods.filter(isReady).length >= wantedOf(deployment)

function deadlineIn({ deployment, pods, nowMs }: Observed): number {
  const oldest = pods.map((pod) => pod.metadata.creationTimestamp ?? '').sort()[0]
  return secondsLeft(oldest, (deployment.spec?.progressDeadlineSeconds ?? 600) * 1000, nowMs)
}

function report(observed: Observed) {
  const { deployment, pods, hash, nowMs } = observed
  const wanted = wantedOf(deployment)
  const ready = pods.filter(isReady).length
  const updated = pods.filter((pod) => pod.metadata.labels?.[HASH_LABEL] === hash).length
  const isLate = pods.length > 0 && !isComplete(observed) && deadlineIn(observed) === 0
  const drafts = [
    {
      type: 'Available',
      status: ready >= wanted ? 'True' : 'False',
      reason: ready >= wanted ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    },
    {
      type: 'Progressing',
      status: isLate ? 'False' : 'True',
      reason: isLate ? 'ProgressDeadlineExceeded' : ready >= wanted ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated',
    },
  ] as const
  return {
    fields: {
      observedGeneration: deployment.metadata.generation,
      replicas: pods.length,
      updatedReplicas: updated,
      readyReplicas: ready,
      availableReplicas: ready,
      unavailableReplicas: Math.max(0, wanted - ready),
      conditions: conditionList(deployment.status?.conditions, drafts, nowMs),
    },
  }
}
