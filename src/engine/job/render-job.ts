// The Kubernetes Job of one run, as data. Its pod has a cloud identity and no rights towards the API beyond the token in the
// run's Secret; a failed pod is never replaced, because the record decides whether a run is resumed.
import type { AnyObject } from '#api'
import { shortHash } from '#lib'
import { POD_VARIABLE } from '../lock/processes.ts'
import { suffixOf, WORKSPACE_LABEL } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { JobRef, Run } from '../record/record.ts'
import type { Resources } from '../workspace.ts'

/** `namespace/name` of the apply, on the Job and its pod: a label could not hold it. */
export const APPLY_ANNOTATION = 'capt.appthrust.com/apply'
export const RUN_LABEL = 'capt.appthrust.com/run'
/** Where the pod finds what the manager gave it. */
const MOUNTS = { run: '/run/capt', work: '/work', files: '/etc/capt-run', tmp: '/tmp' } as const
/** Beside Terraform's own grace period the runner saves the state and closes the record. */
export const CLOSING_SECONDS = 60
/** Removed by Kubernetes when no manager does it. */
const KEPT_SECONDS = 24 * 3600
const PROGRAM = ['node', '/app/dist/program/capt.mjs']
const USER = 65532

const DEFAULT_RESOURCES: Resources = {
  requests: { cpu: '100m', memory: '512Mi', 'ephemeral-storage': '1Gi' },
  limits: { memory: '2Gi', 'ephemeral-storage': '8Gi' },
}

/** The defaults, with other limits where they are given. */
export function runResources(given: {
  readonly memory?: string | undefined
  readonly storage?: string | undefined
}): Resources {
  const { memory, storage } = given
  const limits = { ...(memory ? { memory } : {}), ...(storage ? { 'ephemeral-storage': storage } : {}) }
  // A request is never more than the limit, which may be smaller than the default request.
  return { requests: { ...DEFAULT_RESOURCES.requests, ...limits }, limits: { ...DEFAULT_RESOURCES.limits, ...limits } }
}

/** What a template asks for wins, field by field. A limit that it lowers lowers the request. */
export function withTemplate(base: Resources = DEFAULT_RESOURCES, asked: Resources | undefined): Resources {
  if (!asked) return base
  const requests = { ...base.requests, ...asked.limits, ...asked.requests }
  const only = Object.keys(base.requests ?? {}).concat(Object.keys(asked.requests ?? {}))
  return {
    requests: Object.fromEntries(Object.entries(requests).filter(([name]) => only.includes(name))),
    limits: { ...base.limits, ...asked.limits },
  }
}

interface JobInput {
  readonly owner: Owner
  readonly run: Pick<Run, 'id' | 'resumed'>
  readonly job: JobRef
  readonly image: string
  /** The account that is the cloud identity; it has no rights in the cluster. */
  readonly serviceAccount: string
  /** ConfigMaps and Secrets with settings, by their name in the namespace of the runs. */
  readonly settings: string
  readonly graceSeconds: number
  readonly resources?: Resources | undefined
}

/** One name per runner: the run, and how often it was resumed. At most 63 characters, as names of pods begin with it. */
export function jobName({ namespace, name }: Owner, { id, resumed }: Pick<Run, 'id' | 'resumed'>): string {
  const readable = name.replaceAll('.', '-').slice(0, 40).replace(/-+$/, '')
  return `capt-${readable}-${shortHash(`${namespace}/${name}/${id}/${resumed}`)}`
}

export function renderJob(input: JobInput): AnyObject {
  const { owner, run, job, serviceAccount, graceSeconds } = input
  const metadata = {
    labels: {
      'app.kubernetes.io/name': 'capt-run',
      'app.kubernetes.io/managed-by': 'capt',
      [WORKSPACE_LABEL]: suffixOf(owner),
      [RUN_LABEL]: run.id,
    },
    annotations: { [APPLY_ANNOTATION]: `${owner.namespace}/${owner.name}` },
  }
  const undisturbed = {
    'karpenter.sh/do-not-disrupt': 'true',
    'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, namespace: job.namespace, name: job.name },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      podReplacementPolicy: 'Failed',
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: {
        metadata: { ...metadata, annotations: { ...metadata.annotations, ...undisturbed } },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: serviceAccount,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: graceSeconds + CLOSING_SECONDS,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            fsGroup: USER,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [renderContainer(input)],
          volumes: [
            { name: 'run', secret: { secretName: job.name, defaultMode: 0o440 } },
            { name: 'work', emptyDir: {} },
            { name: 'tmp', emptyDir: {} },
            { name: 'files', secret: { secretName: `${input.settings}-files`, optional: true, defaultMode: 0o440 } },
          ],
        },
      },
    },
  } as AnyObject
}

function renderContainer({ image, owner, settings, resources = DEFAULT_RESOURCES }: JobInput): object {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })
  return {
    name: 'runner',
    image,
    command: PROGRAM,
    args: ['runner', '--run', MOUNTS.run, '--folder', runFolder(owner)],
    env: [
      field('POD_NAMESPACE', 'metadata.namespace'),
      field('POD_NAME', 'metadata.name'),
      field('POD_UID', 'metadata.uid'),
      // The runner claims the run as this very pod.
      { name: POD_VARIABLE, value: '{"namespace":"$(POD_NAMESPACE)","name":"$(POD_NAME)","uid":"$(POD_UID)"}' },
      { name: 'HOME', value: MOUNTS.tmp },
    ],
    envFrom: [
      { configMapRef: { name: `${settings}-env`, optional: true } },
      { secretRef: { name: `${settings}-env`, optional: true } },
    ],
    resources,
    // Keeps the last output of the runner, which explains its end.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'run', mountPath: MOUNTS.run, readOnly: true },
      { name: 'work', mountPath: MOUNTS.work },
      { name: 'tmp', mountPath: MOUNTS.tmp },
      { name: 'files', mountPath: MOUNTS.files, readOnly: true },
    ],
  }
}

/** Fixed, because Terraform remembers it. */
export function runFolder(owner: Owner): string {
  return `${MOUNTS.work}/${suffixOf(owner)}`
}
