// A Terraform configuration that applies are made from, in the shape of a Crossplane Workspace.
// People write the spec; only controllers/workspace-template writes the status.
import { defineKind, type KindOf } from '../define-kind.ts'
import { conditions } from '../meta.ts'
import { ENVIRONMENT_NAME, FOLDER, QUANTITY, VERSION_CONSTRAINT } from '../patterns.ts'
import * as s from '../schema/build.ts'
import { driftDetection } from './drift-detection.ts'
import { approval, guard } from './plan-approval.ts'

/** Keeps a template alive while an apply uses it. The older project's string, so that its objects can be finalized. */
export const TEMPLATE_FINALIZER = 'workspacetemplate.v2.infrastructure.cluster.x-k8s.io'

/** Inline Terraform text may have this many characters; larger modules belong to source Remote. */
const MAX_MODULE_LENGTH = 262_144

const keyRef = (what: string) =>
  s.object(
    {
      name: s.string({ about: `Name of the ${what}.`, minLength: 1, maxLength: 253 }),
      namespace: s.string({
        about: `Namespace of the ${what}; that of the apply when left out. Another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces.`,
        maxLength: 63,
      }),
      key: s.string({ about: `Key inside the ${what}.`, minLength: 1, maxLength: 253 }),
    },
    { required: ['name', 'key'], about: `Key of a ${what}.` },
  )

const variable = s.object(
  {
    key: s.string({ about: 'Name of the Terraform variable.', minLength: 1, maxLength: 253 }),
    value: s.string({
      about: 'Its value; lists and maps are written as JSON. ${name} stands for a variable of the apply.',
      maxLength: 65_536,
    }),
  },
  { required: ['key', 'value'] },
)

const varFile = s.object(
  {
    source: s.string({ enum: ['ConfigMapKey', 'SecretKey'], about: 'Where the file comes from.' }),
    format: s.string({ enum: ['HCL', 'JSON'], default: 'HCL', about: 'How the file is written.' }),
    configMapKeyRef: keyRef('ConfigMap'),
    secretKeyRef: keyRef('Secret'),
  },
  {
    required: ['source'],
    rules: [
      {
        rule: "self.source == 'ConfigMapKey' ? has(self.configMapKeyRef) && !has(self.secretKeyRef) : has(self.secretKeyRef) && !has(self.configMapKeyRef)",
        message: 'source ConfigMapKey needs configMapKeyRef alone, source SecretKey needs secretKeyRef alone',
      },
    ],
  },
)

const environmentVariable = s.object(
  {
    name: s.string({
      about: 'Name of the environment variable.',
      pattern: ENVIRONMENT_NAME,
      maxLength: 253,
    }),
    value: s.string({ about: 'Its value. ${name} stands for a variable of the apply.', maxLength: 65_536 }),
    configMapKeyRef: keyRef('ConfigMap'),
    secretKeyRef: keyRef('Secret'),
  },
  {
    required: ['name'],
    rules: [
      {
        rule: '[has(self.value), has(self.configMapKeyRef), has(self.secretKeyRef)].filter(given, given).size() == 1',
        message: 'exactly one of value, configMapKeyRef and secretKeyRef must be set',
      },
    ],
  },
)

const args = (command: string) =>
  s.list(s.string({ maxLength: 4096 }), {
    about: `Further arguments of terraform ${command}.`,
    maxItems: 64,
  })

const forProvider = s.object(
  {
    source: s.string({
      enum: ['Inline', 'Remote'],
      about: 'Inline: module is Terraform text. Remote: module is the address of a module.',
    }),
    module: s.string({
      about: `Terraform text of at most ${MAX_MODULE_LENGTH} characters, or the address of a module as terraform init -from-module takes it.`,
      minLength: 1,
      maxLength: MAX_MODULE_LENGTH,
    }),
    inlineFormat: s.string({ enum: ['HCL', 'JSON'], default: 'HCL', about: 'How inline text is written.' }),
    entrypoint: s.string({
      about: 'Folder inside a Remote module to run Terraform in; its top when left out.',
      pattern: FOLDER,
      maxLength: 512,
    }),
    vars: s.list(variable, {
      about: 'Terraform variables. They win over varmap and varFiles.',
      maxItems: 256,
    }),
    varmap: s.freeObject({ about: 'Terraform variables of any type. They win over varFiles.' }),
    varFiles: s.list(varFile, { about: 'Files with Terraform variables; a later file wins.', maxItems: 32 }),
    env: s.list(environmentVariable, {
      about:
        'Environment of Terraform. Values from a Secret are read when a run starts and are not kept with it, except those of TF_VAR_ variables.',
      maxItems: 128,
      listType: 'map',
      mapKeys: ['name'],
    }),
    initArgs: args('init'),
    planArgs: args('plan'),
    applyArgs: args('apply'),
    destroyArgs: args('plan -destroy'),
    enableTerraformCLILogging: s.boolean({
      about: "Also write what Terraform says, redacted, to the manager's log.",
    }),
  },
  {
    required: ['source', 'module'],
    about: 'What Terraform is given.',
    rules: [
      {
        rule: "self.source != 'Inline' || !has(self.entrypoint) || self.entrypoint == ''",
        message: 'entrypoint is for source Remote; inline text has no folders',
      },
      {
        rule: "self.source != 'Remote' || self.module.size() <= 2048",
        message: 'module of source Remote is an address of at most 2048 characters; for text use source Inline',
      },
    ],
  },
)

export const connectionSecretRef = s.object(
  {
    name: s.string({
      about: 'Name of the Secret. ${name} stands for a variable of the apply.',
      minLength: 1,
      maxLength: 253,
    }),
    namespace: s.string({
      about:
        'Namespace of the Secret; that of the apply when left out. Another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces on the Secret.',
      maxLength: 253,
    }),
  },
  {
    required: ['name'],
    about: 'Secret that receives every output: strings as they are, everything else as JSON text.',
  },
)

const amounts = (what: string) => {
  const amount = (of: string) => s.string({ about: `${of}.`, pattern: QUANTITY, maxLength: 32 })
  return s.object(
    { cpu: amount('Cores'), memory: amount('Memory'), 'ephemeral-storage': amount('Disk of the work folder') },
    { about: what },
  )
}

const resources = s.object(
  {
    requests: amounts('What the node must have free. Left out: what limits say where they are lower than the default.'),
    limits: amounts('What a run may take at most.'),
  },
  {
    about:
      'What a run asks of its node, with the engine job; what is left out is what the manager says (--run-memory, --run-storage). The engine local shares the pod or machine of the manager and takes no notice. A change starts no run.',
  },
)

const workspaceSpec = s.object(
  {
    forProvider,
    providerConfigRef: s.object(
      { name: s.string({ about: 'Name of the Secret.', minLength: 1, maxLength: 253 }) },
      {
        required: ['name'],
        about:
          "Secret in the apply's namespace with credentials, as spec.credentialsRef of an apply. Settings of providers belong to the module: Terraform code in a Secret is refused.",
      },
    ),
    tool: s.object(
      {
        name: s.string({
          enum: ['terraform', 'tofu'],
          about:
            'Program that runs it. When left out, the one that wrote the state of the apply, else the default of the manager (--engine).',
        }),
        version: s.string({
          about:
            'Versions that may run it, as Terraform writes constraints: ~> 1.11.0, or >= 1.9, < 2.0. Another version is refused before anything runs.',
          pattern: VERSION_CONSTRAINT,
          maxLength: 128,
        }),
      },
      {
        about:
          'Program and versions of it that may run this template. A state is never written by an older version than its own.',
      },
    ),
    resources,
    writeConnectionSecretToRef: connectionSecretRef,
  },
  { required: ['forProvider'], about: 'What every apply of this template runs.' },
)

/** On a WorkspaceTemplate: it is the next version of the template of that name, and may be planned upon the state of its applies. */
export const PROPOSED_FOR_ANNOTATION = 'capt.appthrust.com/proposed-for'

export const WorkspaceTemplate = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'WorkspaceTemplate',
  reconciledBy: 'infrastructure',
  categories: ['capt', 'terraform'],
  about:
    'A Terraform configuration that WorkspaceTemplateApplies run. A change reaches every apply that uses it, oldest first; a template in use is not deleted from under them.',
  spec: s.object(
    {
      template: s.object(
        {
          metadata: s.object(
            {
              description: s.string({ about: 'What the template makes.' }),
              version: s.string({ about: 'Version of the template, for people.' }),
              tags: s.map(s.string(), { about: 'Tags of the template, for people.' }),
            },
            { about: 'Information about the template; nothing depends on it.' },
          ),
          spec: workspaceSpec,
        },
        { required: ['spec'], about: 'The configuration.' },
      ),
      approval: approval('what the manager says (--approval), else Auto'),
      guard: guard('EKS clusters, node groups, VPCs, subnets, KMS keys and IAM roles'),
      driftDetection: driftDetection('no checks, unless the apply asks for them'),
    },
    { required: ['template'], about: 'Desired state.' },
  ),
  status: s.object(
    {
      usedBy: s.integer({ about: 'Number of applies that use this template.', minimum: 0 }),
      updating: s.integer({
        about: 'Number of applies that a change of this template has not reached yet.',
        minimum: 0,
      }),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  moves: true,
  columns: [
    { name: 'VERSION', path: '.spec.template.metadata.version' },
    { name: 'USED BY', path: '.status.usedBy', type: 'integer' },
    { name: 'UPDATING', path: '.status.updating', type: 'integer', priority: 1 },
    { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type WorkspaceTemplate = KindOf<typeof WorkspaceTemplate>
