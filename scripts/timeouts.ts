// Every default timeout with the figure it rests on. Values are read from the kinds and the constants of the program.
import {
  AddonPipeline,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachineDeployment,
  type Kind,
  WorkspaceTemplateApply,
} from '#api'
import { parseDuration } from '#lib'
import { SWEEP_LIMIT_MS, WELL_LIMIT_MS } from '../src/controllers/addon-delivery/teardown/cloud.ts'
import {
  DEAD_CONTROLLER_MS,
  STUCK_MS,
  UNREACHABLE_LIMIT_MS,
} from '../src/controllers/addon-delivery/teardown/decide.ts'
import { BALANCER_TIMEOUT_MS } from '../src/controllers/addon-delivery/teardown/steps.ts'
import { ADDON_TEARDOWN_LIMIT_SECONDS } from '../src/controllers/control-plane/decide-delete.ts'
import { BOOTSTRAP_LIMIT_SECONDS } from '../src/controllers/machine/decide.ts'
import { UNREACHABLE_SECONDS } from '../src/controllers/machine/drain.ts'
import {
  CREATION,
  CREATION_2,
  chosen,
  DELIVERED,
  DEPLOYMENT,
  DESTROYED,
  DETACHING,
  DRAINED,
  EVICTION,
  type Figure,
  GATEWAY,
  HELM,
  INSTALLED,
  MADE,
  MINUTE,
  provider,
  published,
  REGISTRATION,
  RESTARTED,
  SECOND,
  VPC,
} from './timeout-figures.ts'

export interface Timeout {
  /** `KIND: field`, or the name of the constant. */
  readonly name: string
  readonly ms: number
  readonly end: string
  /** The first one is what the default rests on. */
  readonly figures: readonly [Figure, ...Figure[]]
}

interface Section {
  readonly title: string
  readonly text: string
  readonly rows: readonly Timeout[]
}

const STAGE = 'spec.stages[]'
/** Stage types with a chart. */
const CHART_TYPES = Object.entries(propertyAt(AddonPipeline, STAGE)?.properties ?? {}).flatMap(
  ([type, { properties }]) => (properties?.['chart'] && properties['timeout'] ? type : []),
)
const TIMEOUTS = 'spec.controlPlaneConfig.timeouts'

export const TIMEOUTS_BY_SECTION: readonly Section[] = [
  {
    title: 'Terraform runs',
    text: 'Terraform is asked to stop at the end of a run, so that it saves its state. capt never ends a run that is within its time.',
    rows: [
      field(WorkspaceTemplateApply, 'spec.timeout', 'The run ends and the apply is Stalled', [
        published(provider('eks_node_group', 'waits 60m for a node group'), 60 * MINUTE),
        published(`an internet gateway without addresses goes in ${GATEWAY}`, 49 * SECOND),
        MADE,
      ]),
      field(
        WorkspaceTemplateApply,
        'spec.deletionTimeout',
        'No further attempt; the deletion is Stalled and names every way out',
        [
          published(
            provider(
              'eks_cluster',
              'waits 15m for a cluster to go, 40m for an add-on and 60m for a node group: 115m one after the other',
            ),
            115 * MINUTE,
          ),
          DESTROYED,
        ],
      ),
      field(CAPTControlPlane, `${TIMEOUTS}.controlPlaneTimeout`, 'The run ends and the control plane is Stalled', [
        published(`a control plane took 13 to 16 minutes in most of ${CREATION}`, 16 * MINUTE),
        published(`${CREATION_2} elsewhere`, 8 * MINUTE + 33 * SECOND),
        published(
          provider(
            'eks_cluster',
            'waits 30m for a new cluster, and 60m for an update: raise it for an upgrade that also replaces nodes of a node group',
          ),
          30 * MINUTE,
        ),
      ]),
      field(
        CAPTControlPlane,
        `${TIMEOUTS}.vpcReadyTimeout`,
        'The control plane is Stalled, and goes on by itself when the VPC is ready',
        [
          chosen('a VPC with NAT gateways takes minutes, and no figure for the whole of it was found'),
          published(`the VPC alone took ${VPC}, without its gateways`, 22 * SECOND),
        ],
      ),
    ],
  },
  {
    title: 'Add-ons',
    text: 'A stage that was not healthy in time has failed: it is tried again `retry.limit` times, and its condition names the cause.',
    rows: [
      field(AddonPipeline, `${STAGE}.timeout`, 'The stage has failed', [
        chosen('the time of Helm, and half as much for delivery and for nodes that its pods wait for'),
        DELIVERED,
      ]),
      ...CHART_TYPES.map((type) =>
        field(AddonPipeline, `${STAGE}.${type}.timeout`, 'Flux ends the Helm action and tries again', [
          published(`Flux waits ${HELM} by default; pods of a chart may wait for a node each`, 5 * MINUTE),
          ...(type === 'karpenter' ? [INSTALLED] : []),
        ]),
      ),
      field(AddonPipeline, `${STAGE}.flux.readinessJob.deadline`, 'The Job fails, and its stage with it', [
        chosen('two Deployments whose images are pulled once'),
      ]),
      field(AddonPipeline, `${STAGE}.nodePool.verify.timeout`, 'The probe has failed, and its pod is removed', [
        chosen('no figure for a machine of Karpenter in AWS was found'),
        published(`Karpenter itself gives up a machine that did not register within ${REGISTRATION}`, 15 * MINUTE),
      ]),
    ],
  },
  {
    title: 'Removal of add-ons',
    text: 'With a deleted Cluster every step ends: what is left is named in `status.teardown.leftovers`, and the deletion goes on. While the cluster lives nothing is given up: the delivery is `RemovalStuck` and names what holds it.',
    rows: [
      field(AddonPipeline, 'spec.teardown.timeout', 'Nodes that are left are named, with what holds them', [
        published(`EKS itself waits ${EVICTION} for the pods of a node`, 15 * MINUTE),
        DRAINED,
      ]),
      field(AddonPipeline, `${STAGE}.uninstall.timeout`, 'What the step left is named', [
        chosen('as long as Helm may take to install'),
        INSTALLED,
      ]),
      constant({ BALANCER_TIMEOUT_MS }, 'The balancer is searched for by tag, and deleted if that is allowed', [
        chosen('no figure for a balancer that goes was found'),
        published(`a gateway whose addresses are still in use keeps Terraform waiting for ${DETACHING}`, 15 * MINUTE),
      ]),
      constant({ UNREACHABLE_LIMIT_MS }, 'What is in the cluster is left alone; the search by tag takes its place', [
        RESTARTED,
      ]),
      constant({ DEAD_CONTROLLER_MS }, 'Its machines are found by tag, and its finalizers are taken off', [
        chosen('longer than a Deployment takes to replace a pod on a node that works'),
      ]),
      constant({ STUCK_MS }, 'Nodes that did not go once are not waited for again', [
        chosen('nothing has changed since'),
      ]),
      constant({ SWEEP_LIMIT_MS }, 'What the cloud refuses to remove is named', [
        chosen('AWS lists what was deleted for some time'),
      ]),
      constant({ WELL_LIMIT_MS }, 'The same, after steps that all ended well', [chosen('nothing is expected there')]),
      constant(
        { ADDON_TEARDOWN_LIMIT_SECONDS },
        'The control plane no longer waits for add-ons that no controller removes',
        [chosen('twice the time of nodes, and the other steps')],
      ),
    ],
  },
  {
    title: 'Machines',
    text: 'They hold for machines that capt drains itself; core Cluster API has its own fields for Machines.',
    rows: [
      field(
        CAPTMachine,
        'spec.drainTimeoutSeconds',
        'The instance goes with the pods that are left, and a Warning names them',
        [published(`EKS itself waits ${EVICTION} for the pods of a node`, 15 * MINUTE), DRAINED],
      ),
      constant({ UNREACHABLE_SECONDS }, 'The instance goes without a drain', [
        RESTARTED,
        chosen('a workload API that does not answer cannot be asked to evict'),
      ]),
      constant({ BOOTSTRAP_LIMIT_SECONDS }, 'The machine is Stalled: its bootstrap data did not come', [
        chosen('a provider writes it within seconds'),
      ]),
      field(CAPTMachineDeployment, 'spec.progressDeadlineSeconds', 'The update is reported as failed, and goes on', [
        published(DEPLOYMENT, 10 * MINUTE),
      ]),
    ],
  },
]

function field(kind: Kind, path: string, end: string, figures: Timeout['figures']): Timeout {
  const value = defaultOf(kind, path)
  const units = /Seconds$/.test(path) ? 1000 : 60_000
  return {
    name: `${kind.kind}: ${path}`,
    ms: typeof value === 'string' ? parseDuration(value) : value * units,
    end,
    figures,
  }
}

function constant(named: Readonly<Record<string, number>>, end: string, figures: Timeout['figures']): Timeout {
  const [[name, value]] = Object.entries(named) as [[string, number]]
  return { name, ms: name.endsWith('_SECONDS') ? value * 1000 : value, end, figures }
}

function propertyAt({ schema }: Kind, path: string): Kind['schema'] | undefined {
  let at: Kind['schema'] | undefined = schema
  for (const word of path.split('.')) {
    at = at?.properties?.[word.replace('[]', '')]
    if (word.endsWith('[]')) at = at?.items
  }
  return at
}

function defaultOf(kind: Kind, path: string): string | number {
  const value = propertyAt(kind, path)?.default
  if (typeof value !== 'string' && typeof value !== 'number') throw new Error(`${kind.kind} has no default of ${path}`)
  return value
}
