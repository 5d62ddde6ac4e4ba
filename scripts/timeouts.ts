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

/** `documented`: by the maker of what is waited for. `reported`: measured by others, in AWS. `chosen`: there is no figure. */
type Basis = 'documented' | 'reported' | 'chosen'

export interface Timeout {
  /** `KIND: field`, or the name of the constant. */
  readonly name: string
  readonly ms: number
  readonly end: string
  readonly figures: readonly (readonly [Basis, string])[]
}

interface Section {
  readonly title: string
  readonly text: string
  readonly rows: readonly Timeout[]
}

const link = (text: string, url: string) => `[${text}](${url})`
const provider = (resource: string, text: string) =>
  `${link(`the AWS provider`, `https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/${resource}#timeouts`)} ${text}`
const CREATION = link(
  '21 regions',
  'https://easontechtalk.com/unofficial-eks-cluster-creation-performance-across-aws-regions',
)
const CREATION_2 = link('8m33s by Terraform', 'https://github.com/DevopsArtFactory/terraform-provisioning/pull/46')
const GATEWAY = link('49 s', 'https://github.com/agones-dev/agones/pull/986')
const DETACHING = link('15 minutes, and then fails', 'https://github.com/hashicorp/terraform-provider-aws/issues/10934')
const EVICTION = link(
  '15 minutes',
  'https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html',
)
const HELM = link('5m', 'https://fluxcd.io/flux/components/helm/helmreleases/')
const DEPLOYMENT = link(
  'a Deployment has the same',
  'https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#progress-deadline-seconds',
)

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
        ['documented', provider('eks_node_group', 'waits 60m for a node group')],
        ['reported', `an internet gateway without addresses goes in ${GATEWAY}`],
      ]),
      field(
        WorkspaceTemplateApply,
        'spec.deletionTimeout',
        'No further attempt; the deletion is Stalled and names every way out',
        [
          [
            'documented',
            provider(
              'eks_cluster',
              'waits 15m for a cluster to go, 40m for an add-on and 60m for a node group: 115m one after the other',
            ),
          ],
        ],
      ),
      field(CAPTControlPlane, `${TIMEOUTS}.controlPlaneTimeout`, 'The run ends and the control plane is Stalled', [
        ['reported', `a control plane took 13 to 16 minutes in most of ${CREATION}, and ${CREATION_2} elsewhere`],
        [
          'documented',
          provider(
            'eks_cluster',
            'waits 30m for a new cluster, and 60m for an update: raise it for an upgrade that also replaces nodes of a node group',
          ),
        ],
      ]),
      field(
        CAPTControlPlane,
        `${TIMEOUTS}.vpcReadyTimeout`,
        'The control plane is Stalled, and goes on by itself when the VPC is ready',
        [['chosen', 'a VPC with NAT gateways takes minutes; no run in AWS was measured']],
      ),
    ],
  },
  {
    title: 'Add-ons',
    text: 'A stage that was not healthy in time has failed: it is tried again `retry.limit` times, and its condition names the cause.',
    rows: [
      field(AddonPipeline, `${STAGE}.timeout`, 'The stage has failed', [
        ['chosen', 'the time of Helm, and half as much for delivery and for nodes that its pods wait for'],
      ]),
      ...CHART_TYPES.map((type) =>
        field(AddonPipeline, `${STAGE}.${type}.timeout`, 'Flux ends the Helm action and tries again', [
          ['documented', `Flux waits ${HELM} by default; pods of a chart may wait for a node each`],
        ]),
      ),
      field(AddonPipeline, `${STAGE}.flux.readinessJob.deadline`, 'The Job fails, and its stage with it', [
        ['chosen', 'two Deployments whose images are pulled once'],
      ]),
      field(AddonPipeline, `${STAGE}.nodePool.verify.timeout`, 'The probe has failed, and its pod is removed', [
        ['documented', 'Karpenter itself gives up a machine that did not register within 15 minutes'],
        ['chosen', 'no machine in AWS was measured'],
      ]),
    ],
  },
  {
    title: 'Removal of add-ons',
    text: 'With a deleted Cluster every step ends: what is left is named in `status.teardown.leftovers`, and the deletion goes on. While the cluster lives nothing is given up: the delivery is `RemovalStuck` and names what holds it.',
    rows: [
      field(AddonPipeline, 'spec.teardown.timeout', 'Nodes that are left are named, with what holds them', [
        ['documented', `EKS itself waits ${EVICTION} for the pods of a node`],
      ]),
      field(AddonPipeline, `${STAGE}.uninstall.timeout`, 'What the step left is named', [
        ['chosen', 'as long as Helm may take to install'],
      ]),
      constant({ BALANCER_TIMEOUT_MS }, 'The balancer is searched for by tag, and deleted if that is allowed', [
        ['reported', `a gateway whose addresses are still in use keeps Terraform waiting for ${DETACHING}`],
        ['chosen', 'how long a balancer takes was not measured'],
      ]),
      constant({ UNREACHABLE_LIMIT_MS }, 'What is in the cluster is left alone; the search by tag takes its place', [
        ['chosen', 'longer than an API server takes to be replaced'],
      ]),
      constant({ DEAD_CONTROLLER_MS }, 'Its machines are found by tag, and its finalizers are taken off', [
        ['chosen', 'longer than a Deployment takes to replace a pod on a node that works'],
      ]),
      constant({ STUCK_MS }, 'Nodes that did not go once are not waited for again', [
        ['chosen', 'nothing has changed since'],
      ]),
      constant({ SWEEP_LIMIT_MS }, 'What the cloud refuses to remove is named', [
        ['chosen', 'AWS lists what was deleted for some time'],
      ]),
      constant({ WELL_LIMIT_MS }, 'The same, after steps that all ended well', [
        ['chosen', 'nothing is expected there'],
      ]),
      constant(
        { ADDON_TEARDOWN_LIMIT_SECONDS },
        'The control plane no longer waits for add-ons that no controller removes',
        [['chosen', 'twice the time of nodes, and the other steps']],
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
        [['documented', `EKS itself waits ${EVICTION} for the pods of a node`]],
      ),
      constant({ UNREACHABLE_SECONDS }, 'The instance goes without a drain', [
        ['chosen', 'a workload API that does not answer cannot be asked to evict'],
      ]),
      constant({ BOOTSTRAP_LIMIT_SECONDS }, 'The machine is Stalled: its bootstrap data did not come', [
        ['chosen', 'a provider writes it within seconds'],
      ]),
      field(CAPTMachineDeployment, 'spec.progressDeadlineSeconds', 'The update is reported as failed, and goes on', [
        ['documented', DEPLOYMENT],
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
