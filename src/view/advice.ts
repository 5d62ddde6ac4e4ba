// What people can do about a wait, by its reason: which reasons end by themselves, and advice for the others.
import { ownValue } from '#lib'

/** Reasons that end by themselves: work is in progress, or another object of the same tree has the cause. */
const ORDINARY = new Set([
  'Checking',
  'ClusterDeleting',
  'ControlPlaneCreating',
  'ControlPlaneNotReady',
  'Creating',
  'Deleting',
  'DeletingMachines',
  'Delivering',
  'DependencyNotReady',
  'Destroying',
  'Draining',
  'KubernetesVersionUnknown',
  'MachinePoolDeleting',
  'NeedsNotReady',
  'NodeGroupDeleting',
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
  'TearingDown',
  'TornDown',
  'Updating',
  'VPCCreating',
  'VPCDeleting',
  'WorkspaceDeleting',
])

export const isOrdinary = (reason: string): boolean => ORDINARY.has(reason) || reason.startsWith('WaitingFor')

interface Advice {
  readonly why: string
  readonly todo: string
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
