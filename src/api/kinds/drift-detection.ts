// The fields and annotations of drift detection, shared by WorkspaceTemplateApply and WorkspaceTemplate.
import { INTERVAL } from '../patterns.ts'
import * as s from '../schema/build.ts'

/** Any new value asks for a drift check now instead of at the next interval. */
export const CHECK_DRIFT_ANNOTATION = 'capt.appthrust.com/check-drift'

/** What a drift check answers. */
export const DRIFT_RESULTS = ['InSync', 'Drifted', 'PendingChange', 'UpstreamMoved', 'CannotTell'] as const

export const driftDetection = (instead: string) =>
  s.object(
    {
      interval: s.string({
        about: 'Time between two checks: 30m, 12h, 24h. At least 10m. Each apply has its own time within the interval.',
        pattern: INTERVAL,
        maxLength: 32,
        rules: [{ rule: "duration(self) >= duration('10m')", message: 'interval must be at least 10m' }],
      }),
      mode: s.string({
        enum: ['Report', 'Correct'],
        default: 'Report',
        about:
          'Report: a condition, an event and metrics. Correct: also an ordinary plan and apply, when everything in the plan undoes what somebody else changed; approval and guard hold for it.',
      }),
    },
    {
      required: ['interval'],
      about: `Compares the infrastructure with the state at intervals, by a plan that locks and writes nothing. When left out: ${instead}.`,
    },
  )

const change = s.object(
  {
    address: s.string({ about: 'Address of the resource, or output.NAME where only outputs would change.' }),
    action: s.string({ about: 'What an apply would do to it: create, update, delete or replace.' }),
    cause: s.string({
      enum: ['Drift', 'Pending', 'Upstream'],
      about:
        'Drift: it was changed outside of Terraform. Pending: the inputs ask for it and were not applied yet. Upstream: a data source, module or function of the template resolved differently.',
    }),
  },
  { required: ['address', 'action', 'cause'] },
)

const count = (about: string) => s.integer({ about, minimum: 0 })

export const drift = s.object(
  {
    mode: s.string({ about: 'Mode that holds: of the apply, else of its template.' }),
    result: s.string({ enum: DRIFT_RESULTS, about: 'The answer of the last check.' }),
    checkedAt: s.time({ about: 'When the last check ended.' }),
    drifted: count('Changes that an apply would make to undo what somebody else changed.'),
    pending: count('Changes that the inputs ask for.'),
    upstream: count('Changes because a floating input resolved differently.'),
    ignored: count(
      'Resources that were changed outside of Terraform in a way that an apply leaves alone (ignore_changes, computed values).',
    ),
    changes: s.list(change, { about: 'The first of these changes.', maxItems: 20 }),
    sources: s.list(s.string(), { about: 'Data sources that resolved differently.', maxItems: 20 }),
    message: s.string({ about: 'Why the check has no answer, redacted.' }),
    request: s.string({ about: 'Value of the annotation capt.appthrust.com/check-drift that the last check answers.' }),
  },
  { about: 'What the last drift check found; left out while driftDetection is off.' },
)
