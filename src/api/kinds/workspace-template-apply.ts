// A request to turn one WorkspaceTemplate into live infrastructure.
// People write the spec; only controllers/workspace-apply writes the status.
import { defineKind, type KindOf } from '../define-kind.ts'
import { conditions, objectRef } from '../meta.ts'
import { DURATION } from '../patterns.ts'
import * as s from '../schema/build.ts'
import { drift, driftDetection } from './drift-detection.ts'
import { approval, guard, plan } from './plan-approval.ts'
import { connectionSecretRef } from './workspace-template.ts'

/** Holds an apply until what it made is destroyed. The older project's string, so that its objects can be finalized. */
export const APPLY_FINALIZER = 'infrastructure.cluster.x-k8s.io/finalizer'
/** Any new value asks for another run, whatever became of the last one (`capt retry`). */
export const RETRY_ANNOTATION = 'capt.appthrust.com/retry'
/** The id of the run to stop (`capt cancel`). */
export const CANCEL_ANNOTATION = 'capt.appthrust.com/cancel'
/**
 * The id that its resources in the cloud are tagged with. Set before the first run, or at its end where that holds off a move: it
 * outlives a lost record and status.
 */
export const WORKSPACE_ID_ANNOTATION = 'capt.appthrust.com/workspace-id'

export const APPLY_PHASES = [
  'Waiting',
  'Running',
  'Destroying',
  'Applied',
  'Retrying',
  'Stalled',
  'Suspended',
  'Paused',
  'Deleting',
] as const

/** The limits that hold a run back. */
export const QUEUE_REASONS = ['AllSlotsTaken', 'NamespaceLimit', 'IdentityLimit'] as const

/** Classes of failure: who can do something about it decides whether we try again. */
const FAULT_KINDS = [
  'user',
  'credentials',
  'throttling',
  'capacity',
  'dependency',
  'network',
  'internal',
  'cancelled',
  'deadline',
  'paused',
  'memory',
  'lost',
  'locked',
] as const

const count = (about: string) => s.integer({ about, minimum: 0 })

const run = s.object(
  {
    id: s.string({ about: 'Id of the run; capt logs and capt cancel take it.' }),
    verb: s.string({ enum: ['apply', 'destroy'], about: 'What the run does.' }),
    phase: s.string({
      enum: [
        'Queued',
        'Starting',
        'Init',
        'Plan',
        'Apply',
        'Save',
        'Succeeded',
        'Planned',
        'Failed',
        'Cancelled',
        'Lost',
      ],
      about: 'Where the run is, or how it ended.',
    }),
    attempt: count('Number of this attempt; it starts again at 1 when the inputs change.'),
    startedAt: s.time({ about: 'When the run started; while it is Queued, when it joined the queue.' }),
    finishedAt: s.time({ about: 'When the run ended.' }),
    progress: s.string({ about: 'Resources done of those the plan changes: 31 of 54.' }),
    address: s.string({ about: 'Resource that Terraform works on.' }),
    queue: s.object(
      {
        position: s.integer({
          minimum: 1,
          about:
            'Runs that joined the queue before it and still wait, plus one; rounded up to 1, 2, 5, 10, 20, 50, … and at most a minute old.',
        }),
        since: s.time({ about: 'When the run joined the queue.' }),
        reason: s.string({
          enum: QUEUE_REASONS,
          about: 'The limit that holds it back.',
        }),
      },
      { about: 'Set while the run waits for a slot.' },
    ),
  },
  { about: 'The run in progress, or the last one.' },
)

const lastError = s.object(
  {
    kind: s.string({ enum: FAULT_KINDS, about: 'Class of the failure; it decides whether another attempt can help.' }),
    code: s.string({ about: 'Page in docs/errors.md.' }),
    address: s.string({ about: 'Resource it happened to.' }),
    message: s.string({ about: 'What was said, redacted.' }),
    hint: s.string({ about: 'What to do next.' }),
  },
  { about: 'What the last run failed with.' },
)

const suspect = s.object(
  {
    address: s.string({ about: 'Address of the resource.' }),
    action: s.string({ about: 'What was being done to it.' }),
    run: s.string({ about: 'Run that was interrupted.' }),
    unconfirmed: s.boolean({
      about: 'It was planned, and the run was lost before it reported whether it had begun it.',
    }),
  },
  { required: ['address', 'action'] },
)

const state = s.object(
  {
    serial: s.integer({ format: 'int64', about: 'Serial number of the saved state.' }),
    lineage: s.string({ about: 'Lineage of the saved state.' }),
    savedAt: s.time({ about: 'When this state was saved.' }),
    resources: count('Resources in the state.'),
  },
  { about: 'The Terraform state, as saved beside this object.' },
)

export const WorkspaceTemplateApply = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'WorkspaceTemplateApply',
  reconciledBy: 'infrastructure',
  shortNames: ['wtapply'],
  categories: ['capt', 'terraform'],
  about:
    'One WorkspaceTemplate turned into live infrastructure by Terraform, kept as the template and the variables say, and destroyed when this object is deleted.',
  spec: s.object(
    {
      templateRef: objectRef(
        'WorkspaceTemplate to apply. One of another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces.',
      ),
      variables: s.map(s.string({ maxLength: 65_536 }), {
        about:
          'Values for ${key} in the template. A Terraform variable of the same name receives the value too, if the template declares it.',
        default: {},
        maxProperties: 256,
      }),
      values: s.freeObject({
        about:
          'Terraform variables of any type (lists, maps, numbers) that the template declares. They win over all others. A name that it does not declare has no effect; the condition UndeclaredValues and a Warning name it.',
      }),
      writeConnectionSecretToRef: connectionSecretRef,
      waitForSecrets: s.list(objectRef('A Secret.'), {
        about: 'Secrets that must exist first.',
        default: [],
        maxItems: 64,
      }),
      waitForWorkspaces: s.list(objectRef('A WorkspaceTemplateApply.'), {
        about: 'Applies that must be ready first. On deletion this one is destroyed before them.',
        default: [],
        maxItems: 64,
      }),
      credentialsRef: objectRef(
        'Secret with the credentials of the run: environment variables of known providers (AWS_ACCESS_KEY_ID, …), and the AWS files credentials, config and web-identity-token. Any other key is refused. Read at the start of each run, never kept with it. One of another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces.',
      ),
      retainWorkspaceOnDelete: s.boolean({
        about: 'Keep the infrastructure when this object is deleted. Its state is kept too, in the Secrets tfstate-….',
        default: false,
      }),
      timeout: s.string({
        about: 'How long one run may take: 90s, 30m, 1h30m. Then Terraform is asked to stop and the object stalls.',
        default: '1h',
        pattern: DURATION,
        maxLength: 32,
      }),
      deletionTimeout: s.string({
        about:
          'How long attempts to destroy may begin after the first one: 30m, 2h. A run in progress may finish. Then, or when retry.limit is reached, the deletion is Stalled and its condition names every way out. capt retry starts the time again.',
        default: '2h',
        pattern: DURATION,
        maxLength: 32,
      }),
      retry: s.object(
        {
          limit: s.integer({
            about:
              'Attempts after the first one, as long as another attempt can help; for each destroy as well as for each apply.',
            minimum: 0,
            maximum: 100,
            default: 5,
          }),
        },
        { about: 'What happens after a failure.', default: {} },
      ),
      speculativeFor: s.string({
        about:
          'Name of another apply of the same namespace and template: its state is read, what this spec would change in it is planned, and nothing is applied. This object is deleted after an hour. Cannot be changed.',
        minLength: 1,
        maxLength: 253,
      }),
      approval: approval('what the template says, else the manager (--approval), else Auto'),
      guard: guard('what the template says, else EKS clusters, node groups, VPCs, subnets, KMS keys and IAM roles'),
      driftDetection: driftDetection('what the template says, else no checks'),
      suspend: s.boolean({ about: 'Start no run. One in progress is finished.', default: false }),
    },
    { required: ['templateRef'], about: 'Desired state.' },
  ),
  status: s.object(
    {
      workspaceName: s.string({ about: 'Name of the workspace: this name without a trailing -apply.' }),
      applied: s.boolean({ about: 'Whether Terraform applied the template at least once.' }),
      lastAppliedTime: s.time({ about: 'When Terraform last applied it.' }),
      phase: s.string({ enum: APPLY_PHASES, about: 'Where this object is, in one word.' }),
      observedHash: s.string({ about: 'Hash of the inputs as they are now.' }),
      appliedHash: s.string({ about: 'Hash of the inputs that were last applied.' }),
      templateGeneration: s.integer({
        format: 'int64',
        about: 'Generation of the WorkspaceTemplate that was last applied.',
      }),
      run,
      plan,
      outputs: s.freeObject({
        about: 'Outputs that are not sensitive. Those over 4 KiB are left out; the connection Secret has all.',
      }),
      lastError,
      attempts: count('Attempts made with these inputs.'),
      suspects: s.list(suspect, {
        about:
          'Resources that were, or may have been, worked on when Terraform was killed. They may be half made, or exist a second time without being in the state.',
        maxItems: 500,
      }),
      state,
      drift,
      conditions,
    },
    { about: 'Observed state.' },
  ),
  columns: [
    { name: 'WORKSPACE', path: '.status.workspaceName' },
    { name: 'APPLIED', path: '.status.applied', type: 'boolean' },
    { name: 'READY', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'PHASE', path: '.status.phase' },
    { name: 'PROGRESS', path: '.status.run.progress', priority: 1 },
    { name: 'DRIFT', path: '.status.drift.result', priority: 1 },
    { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' },
    { name: 'MESSAGE', path: '.status.conditions[?(@.type=="Ready")].message' },
  ],
  rules: [
    {
      rule: "!self.metadata.name.endsWith('.capt-drift')",
      message: 'metadata.name must not end in .capt-drift: drift checks use such names',
    },
    {
      rule: '!has(self.spec.speculativeFor) || self.spec.speculativeFor != self.metadata.name',
      message: 'spec.speculativeFor must name another object',
    },
    {
      rule: 'has(self.spec.speculativeFor) == has(oldSelf.spec.speculativeFor) && (!has(self.spec.speculativeFor) || self.spec.speculativeFor == oldSelf.spec.speculativeFor)',
      message: 'spec.speculativeFor cannot be changed: make another object',
    },
    {
      rule: '!has(self.spec.waitForWorkspaces) || !self.spec.waitForWorkspaces.exists(other, !has(other.__namespace__) && other.name == self.metadata.name)',
      message: 'spec.waitForWorkspaces must not name the object itself: it would wait for ever',
    },
  ],
})
export type WorkspaceTemplateApply = KindOf<typeof WorkspaceTemplateApply>
