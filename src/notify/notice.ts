// Which events are worth a notification, and which of them are about the same trouble. Derived from what the controllers
// emit anyway, so that no controller knows of it. Pure.
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  clusterOwnerOf,
  conditionOf,
  WorkspaceTemplateApply,
} from '#api'
import type { Events } from '#kube'
import { redact } from '#lib'

type Event = Parameters<Events['emit']>[1]

type NoticeType = 'StageFailed' | 'RunFailed' | 'ApprovalNeeded' | 'DriftDetected' | 'DeletionStuck' | 'Recovered'

export interface Notice {
  readonly type: NoticeType
  readonly namespace: string
  readonly cluster: string | undefined
  readonly object: { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string }
  readonly reason: string
  readonly message: string
  /** Notices with the same topic are sent once, until the object has recovered. */
  readonly topic: string
}

/** `hasFailed`: a failure of the object was sent, and its end was not. */
export function toNotice(about: AnyObject, event: Event, hasFailed: () => boolean = () => false): Notice | undefined {
  const type = typeOf(about, event, hasFailed)
  if (!type) return undefined
  const { apiVersion, kind, metadata } = about
  const { name, namespace = 'default', uid = '', labels } = metadata
  const message = redact(event.message)
  const cluster = clusterOwnerOf(about)?.name ?? labels?.[CLUSTER_NAME_LABEL]
  const object = { apiVersion, kind, name, uid }
  return { type, namespace, cluster, object, reason: event.reason, message, topic: `${type} ${topicOf(type, event)}` }
}

/** Events that repeat a trouble which another event has reported already, or report none. */
const IGNORED = new Set([
  'Retrying',
  'VariableUndeclared',
  'ResourceUnknown',
  'CannotTell',
  'PendingChange',
  'UpstreamMoved',
  'PlanDenied',
])

function typeOf(about: AnyObject, { type, reason }: Event, hasFailed: () => boolean): NoticeType | undefined {
  if (type === 'Normal') {
    if (reason === 'DriftEnded') return 'Recovered'
    return reason === 'Ready' && recovers(about) && (wasTroubled(about) || hasFailed()) ? 'Recovered' : undefined
  }
  if (IGNORED.has(reason)) return undefined
  const isDeleting = about.metadata.deletionTimestamp !== undefined
  switch (about.kind) {
    case WorkspaceTemplateApply.kind:
      if (reason === 'ApprovalRequired') return 'ApprovalNeeded'
      if (reason.startsWith('Drift')) return 'DriftDetected'
      if (!isDeleting || reason === 'RetryScheduled') return 'RunFailed'
      return isReportedByOwner(about) ? undefined : 'DeletionStuck'
    case AddonDelivery.kind:
      return isDeleting || reason === 'LeftBehind' ? 'DeletionStuck' : 'StageFailed'
    case CAPTCluster.kind:
    case CAPTControlPlane.kind:
      // Anything else that stops them is a run or a stage, which reports for itself.
      return isDeleting ? 'DeletionStuck' : undefined
    default:
      return undefined
  }
}

/** The deletion of the owner is stuck with that of the apply, and its notice has every way out. */
const isReportedByOwner = ({ metadata: { ownerReferences = [] } }: AnyObject): boolean =>
  ownerReferences.some(
    ({ kind, controller }) => controller === true && (kind === CAPTCluster.kind || kind === CAPTControlPlane.kind),
  )

const recovers = ({ kind }: AnyObject): boolean => kind === AddonDelivery.kind || kind === WorkspaceTemplateApply.kind

/** The object had stopped, or its status shows a failed attempt. One that is on its way again shows neither. */
function wasTroubled(about: AnyObject): boolean {
  if (conditionOf(about, 'Stalled')?.status === 'True') return true
  const { status } = about as AddonDelivery & WorkspaceTemplateApply
  return status?.lastError !== undefined || (status?.stages ?? []).some(({ lastError }) => lastError !== undefined)
}

/** A stage is one trouble, whatever its message says next; a plan to approve is one per plan. */
function topicOf(type: NoticeType, { message }: Event): string {
  if (type === 'StageFailed') return /^Stage [a-z0-9-]+/.exec(message)?.[0] ?? ''
  return type === 'ApprovalNeeded' ? (/Plan \S+/.exec(message)?.[0] ?? message) : ''
}
