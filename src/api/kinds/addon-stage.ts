// One stage of an AddonPipeline: what it brings, what it needs, who asks for it, and how one sees that it works.
// The schemas of the stage types are in stage-types.ts.
import * as s from '../schema/build.ts'
import { duration, stageName, stageTypes } from './stage-types.ts'

export { duration }

const types = Object.keys(stageTypes)
const isSet = types.map((type) => `has(self.${type})`)

const check = s.object(
  {
    type: s.string({
      enum: [
        'CRDEstablished',
        'DeploymentAvailable',
        'ServiceHasEndpoints',
        'SourceReady',
        'HelmReleaseReady',
        'JobComplete',
        'Condition',
      ],
      about: 'What to look for in the workload cluster.',
    }),
    name: s.string({ about: 'Name of the object.', minLength: 1, maxLength: 253 }),
    namespace: s.string({ about: 'Namespace of the object.', maxLength: 63 }),
    apiVersion: s.string({ about: 'Group and version, for Condition and SourceReady.', maxLength: 316 }),
    kind: s.string({ about: 'Kind, for Condition and SourceReady.', maxLength: 63 }),
    plural: s.string({ about: 'Resource name, when it is not the kind in lower case plus s.', maxLength: 63 }),
    path: s.string({
      about: 'Where to look, for Condition: status.phase, or status.conditions[type=Ready].status.',
      maxLength: 512,
    }),
    equals: s.string({ about: 'What must be there, for Condition.', maxLength: 253 }),
  },
  {
    required: ['type', 'name'],
    rules: [
      {
        rule: "self.type != 'Condition' || (has(self.apiVersion) && has(self.kind) && has(self.path) && has(self.equals))",
        message: 'Condition needs apiVersion, kind, path and equals',
      },
      {
        rule: "self.type == 'Condition' || (!has(self.path) && !has(self.equals))",
        message: 'path and equals belong to Condition',
      },
    ],
  },
)

export const label = s.object(
  {
    key: s.string({ about: 'Label key.', minLength: 1, maxLength: 316 }),
    value: s.string({ about: 'Label value.', maxLength: 63 }),
  },
  { required: ['key', 'value'] },
)

export const addonStage = s.object(
  {
    name: s.string({ ...stageName, about: 'Name of the stage, unique in the pipeline.' }),
    needs: s.list(s.string({ ...stageName }), {
      default: [],
      about: 'Stages that must be healthy first.',
      maxItems: 20,
      listType: 'set',
    }),
    enabledBy: s.list(label, {
      default: [],
      about: 'Cluster labels that ask for this stage, any of them. Always asked for when empty.',
      maxItems: 10,
    }),
    gateLabel: s.string({
      about:
        'Label that capt puts on the Cluster, with value true, once every needed stage is healthy. Set by a person it only asks for the stage.',
      maxLength: 316,
    }),
    ...stageTypes,
    checks: s.list(check, {
      default: [],
      about: 'What must be true in the workload cluster, beside what the stage type checks itself.',
      maxItems: 50,
    }),
    timeout: s.string({
      ...duration,
      default: '15m',
      about: 'How long the stage may take to become healthy before it counts as failed.',
    }),
    retry: s.object(
      {
        limit: s.integer({ default: 5, minimum: 0, maximum: 100, about: 'How often capt tries again by itself.' }),
        backoff: s.string({
          ...duration,
          default: '30s',
          about: 'Wait before the first retry; it doubles each time, to at most ten minutes.',
        }),
      },
      { default: {}, about: 'What happens after a failure.' },
    ),
    onFailure: s.string({
      enum: ['Stop', 'Continue'],
      default: 'Stop',
      about: 'Whether stages that need this one wait for ever when it has failed, or go on.',
    }),
    uninstall: s.object(
      {
        policy: s.string({
          enum: ['Delete', 'Keep'],
          default: 'Delete',
          about: 'Whether the objects are removed when the stage is no longer wanted.',
        }),
        order: s.integer({
          about: 'Lower goes first. When left out, the reverse of the order of installation.',
          minimum: 0,
          maximum: 1000,
        }),
        timeout: s.string({ ...duration, default: '10m', about: 'How long each step of the removal may take.' }),
      },
      { default: {}, about: 'How the stage is taken away.' },
    ),
  },
  {
    required: ['name'],
    rules: [
      {
        rule: `[${isSet.join(', ')}].filter(x, x).size() == 1`,
        message: `exactly one of ${types.slice(0, -1).join(', ')} and ${types.at(-1)} must be set`,
      },
      { rule: '!(self.name in self.needs)', message: 'a stage cannot need itself' },
    ],
  },
)
