// What people can do about a wait, by its reason: which reasons end by themselves, and advice for the others.
import { codeForText } from '#catalog'
import { ownValue } from '#lib'

/** Reasons that end by themselves: work is in progress, or another object of the same tree has the cause. */
const ORDINARY = new Set([
  'Checking',
  'ChoosingClusterName',
  'ClearingCluster',
  'ClearingNetwork',
  'ClusterDeleting',
  'ControlPlaneCreating',
  'ControlPlaneNotReady',
  'Creating',
  'Deleting',
  'DeletingMachines',
  'Delivering',
  'DependencyNotReady',
  'Destroyed',
  'Destroying',
  'Draining',
  'KubernetesVersionUnknown',
  'MachinePoolDeleting',
  'InfrastructureNotProvisioned',
  'NeedsNotReady',
  'NodeGroupDeleting',
  'NotDelivered',
  'NotLookedYet',
  'Polling',
  'ProbeLeaving',
  'ProbePending',
  'Probing',
  'Progressing',
  'Queued',
  'Removed',
  'Removing',
  'RollingOut',
  'RunInProgress',
  'RunQueued',
  'Scaling',
  'Soaking',
  'SpeculationPlanned',
  'TearingDown',
  'TornDown',
  'VersionsRefused',
  'Updating',
  'VPCCreating',
  'VPCDeleting',
  'WorkspaceDeleting',
])

export const isOrdinary = (reason: string): boolean => ORDINARY.has(reason) || reason.startsWith('WaitingFor')

interface Advice {
  readonly why: string
  readonly todo: string
  /** The message itself ends with what to do in this case. */
  readonly isInMessage?: true
}

/** What people can do about a wait that does not end by itself. */
const ADVICE: Readonly<Record<string, Advice>> = {
  ApprovalRequired: {
    why: 'nothing is applied before a person has read the plan and approved it',
    todo: 'read the plan with capt plan, then approve or deny it with capt approve, as the message shows',
  },
  TemplateMissing: {
    why: 'a run needs its template; it starts by itself once the template is there',
    todo: 'apply the manifest of the template, or correct the reference to it; capt get workspacetemplates -A lists those that exist',
  },
  SecretsMissing: {
    why: 'a run needs the Secret; it starts by itself once the Secret is there',
    todo: 'make the Secret, or correct its name in the spec',
  },
  SourceMissing: {
    why: 'the values come from this object; it goes on by itself once it is there',
    todo: 'make the object, or correct the reference to it',
  },
  VariablesMissing: {
    why: 'a template names variables that have no value yet',
    todo: 'give them a value: spec.variablesFrom of the AddonPipeline, or an output of the control plane template',
  },
  Suspended: {
    why: 'a person suspended it: nothing is started',
    todo: 'set spec.suspend to false',
  },
  RolloutStopped: {
    why: 'a person holds back the change of the template by an annotation',
    todo: 'remove the annotation from the WorkspaceTemplate',
  },
  DependentsExist: {
    why: 'what depends on it must go first',
    todo: 'delete what the message names, or wait until it is gone',
  },
  ClusterMissing: {
    why: 'it works only for a Cluster that owns it',
    todo: 'apply the Cluster that refers to it, or delete it',
  },
  PipelineMissing: {
    why: 'add-ons are delivered by a pipeline; it goes on by itself once the pipeline is there',
    todo: 'apply the AddonPipeline; capt get addonpipelines -A lists those that exist',
  },
  NotHealthy: {
    why: 'what was delivered does not work in the workload cluster',
    todo: 'look at the pods that the message names: capt kubeconfig CLUSTER > kubeconfig; kubectl --kubeconfig kubeconfig get pods -A',
  },
  NodesNotReady: {
    why: 'nodes of the group have not joined the cluster, or are not healthy; capt looks at them again by itself',
    todo: 'look at the nodes: capt kubeconfig CLUSTER > kubeconfig; kubectl --kubeconfig kubeconfig get nodes',
  },
  WorkloadUnreachable: {
    why: 'the API server of the workload cluster does not answer; it is asked again by itself',
    todo: 'check that its endpoint can be reached from where capt runs, and that the kubeconfig Secret is current',
  },
  APIServerUnreachable: {
    why: 'EKS has made the control plane, and its API server does not answer from here; it is asked again by itself',
    todo: 'check spec.controlPlaneConfig.endpointAccess and the network between capt and the endpoint',
  },
  KubeconfigRefreshFailed: {
    why: 'the token of the kubeconfig ends within minutes unless it is renewed; that is tried again by itself',
    todo: 'check the AWS credentials of the cluster: spec.identity, or those that capt itself runs with',
  },
  EKSClusterNotActive: {
    why: 'capt does not change an adopted cluster; it goes on by itself when EKS reports it as ACTIVE',
    todo: 'look at it: aws eks describe-cluster --name NAME',
  },
  AddonsChanging: {
    why: 'Kubernetes is upgraded once the add-ons that it needs are seen to work',
    todo: 'wait, or look at the add-ons: capt describe cluster CLUSTER; capt upgrade plan CLUSTER shows the order',
  },
  NodesUnknown: {
    why: 'the nodes are counted in the workload cluster, which did not answer; it is asked again by itself',
    todo: 'check that its API can be reached from where capt runs: capt doctor CLUSTER',
  },
  ObjectsMissing: {
    why: 'what was delivered is not in the workload cluster any more; it is delivered again by itself',
    todo: 'find out who deletes it: the events and audit log of the workload cluster name them',
  },
  ProbeFailed: {
    why: 'the API server of the workload cluster does not answer; it is asked again by itself',
    todo: 'check that its endpoint can be reached from where capt runs, and that the kubeconfig Secret is current',
  },
  InstancesUnknown: {
    why: 'AWS did not say which instances are left; it is asked again by itself',
    todo: 'check the AWS credentials of the cluster and that they allow ec2:DescribeInstances',
  },
  RolloutPaused: {
    why: 'a person paused the update: machines stay as they are',
    todo: 'continue it: capt rollout resume NAME',
  },
  Paused: {
    why: 'nothing is changed while it is paused',
    todo: 'set spec.paused of the Cluster to false',
  },
  OwnerMissing: {
    why: 'its state was imported, and nothing asks for it yet',
    todo: 'apply the object that the message names, from the manifests that capt import wrote',
  },
  DeletedDirectly: {
    why: 'it belongs to a Cluster: it goes when the Cluster is deleted',
    todo: 'delete the Cluster instead: capt delete cluster CLUSTER',
  },
  StillUsed: {
    why: 'what uses it would be left without it; it goes by itself when nothing does',
    todo: 'delete what the message names, or let it use another one',
    isInMessage: true,
  },
  StillInUse: {
    why: 'what uses it would be left without it',
    todo: 'remove what the message names from the workload cluster; the deletion goes on by itself then',
  },
  InUse: {
    why: 'what uses it would be left without it; it goes by itself when nothing does',
    todo: 'delete what the message names, or let it use another one',
    isInMessage: true,
  },
  RetryScheduled: {
    why: 'another attempt follows by itself',
    todo: 'remove the cause, or wait for the next attempt',
  },
}

const NO_ADVICE: Advice = {
  why: 'it waits, and goes on by itself when that is over',
  todo: 'see what the message names; capt doctor lists what has been waiting for more than a minute',
}

export const adviceFor = (reason: string): Advice => ownValue(ADVICE, reason) ?? NO_ADVICE

/** The page behind an error: that of its text where the text is a known one, else that of its class. */
export function explanation(text: string, code?: string): string {
  const page = codeForText(text) ?? code
  return page === undefined ? '' : ` (capt explain ${page})`
}
