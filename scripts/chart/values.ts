// The settings of the Helm chart: one table makes values.yaml, values.schema.json and the table of the chart's page.
import { stringify } from 'yaml'
import type { JsonObject } from '#lib'

export interface Setting {
  /** `image.tag` */
  readonly path: string
  readonly about: string
  readonly schema: JsonObject
  readonly value: unknown
}

const strings = { type: 'object', additionalProperties: { type: 'string' } }
const quantities = { type: 'object', additionalProperties: { type: ['string', 'number'] } }
const objects = { type: 'array', items: { type: 'object' } }

/** `manager`: what the kustomize install says of the same things, so that the defaults are the same. */
export interface ManagerDefaults {
  readonly image: string
  readonly runnerImage: string
  readonly replicas: number
}

export function settings(manager: ManagerDefaults): readonly Setting[] {
  const make = (path: string, value: unknown, schema: JsonObject, about: string): Setting => ({
    path,
    value,
    schema,
    about,
  })
  const text = { type: 'string' }
  return [
    make('fullnameOverride', '', text, 'Name of the installation instead of the one made from the release.'),
    make(
      'engine',
      'job',
      { type: 'string', enum: ['job', 'local'] },
      'What runs Terraform: `job`, a Kubernetes Job for each run; `local`, the pod of the manager, for one tenant.',
    ),
    make('image.repository', manager.image, { type: 'string', minLength: 1 }, 'Image of the manager, without tag.'),
    make('image.tag', '', text, 'Tag; empty means the version of the chart with a v before it.'),
    make(
      'image.digest',
      '',
      { type: 'string', pattern: '^$|^sha256:[0-9a-f]{64}$' },
      'Digest of the image, put behind the tag.',
    ),
    make(
      'image.pullPolicy',
      'IfNotPresent',
      { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] },
      'When the image is pulled.',
    ),
    make(
      'runnerImage.repository',
      manager.runnerImage,
      { type: 'string', minLength: 1 },
      'Image with Terraform, without tag: of the runs, or with the engine `local` of the manager.',
    ),
    make('runnerImage.tag', '', text, 'Tag; empty means the version of the chart with a v before it.'),
    make(
      'runnerImage.digest',
      '',
      { type: 'string', pattern: '^$|^sha256:[0-9a-f]{64}$' },
      'Digest of the image, put behind the tag.',
    ),
    make(
      'runServiceAccount.annotations',
      {},
      strings,
      'Annotations of the ServiceAccount that runs in Jobs have towards the cloud, such as `eks.amazonaws.com/role-arn`.',
    ),
    make('imagePullSecrets', [], objects, 'Secrets with credentials of the registry.'),
    make(
      'crds.install',
      true,
      { type: 'boolean' },
      'Whether the chart brings the CRDs. They stay when the release is uninstalled.',
    ),
    make('replicas', manager.replicas, { type: 'integer', minimum: 0 }, 'Managers; one of them leads.'),
    make('extraArgs', [], { type: 'array', items: text }, 'More options of `capt manager`.'),
    make('extraEnv', [], objects, 'More environment variables of the manager.'),
    make(
      'resources',
      {},
      {
        type: 'object',
        additionalProperties: false,
        properties: { limits: quantities, requests: quantities, claims: objects },
      },
      'Requests and limits of the manager. Empty means 128Mi of memory; 4Gi with the engine `local`, for Terraform in its pod.',
    ),
    make(
      'terminationGracePeriodSeconds',
      null,
      { type: ['integer', 'null'], minimum: 0 },
      'Time that the manager has to stop. Empty means 30; 300 with the engine `local`, for a run to save its state.',
    ),
    make(
      'serviceAccount.annotations',
      {},
      strings,
      'Annotations of the ServiceAccount of the manager, such as `eks.amazonaws.com/role-arn`.',
    ),
    make('podAnnotations', {}, strings, 'Annotations of the pod.'),
    make('nodeSelector', {}, strings, 'Labels of the nodes that the pod may run on.'),
    make('tolerations', [], objects, 'Taints that the pod tolerates.'),
    make('affinity', {}, { type: 'object' }, 'Affinity of the pod.'),
    make('priorityClassName', '', text, 'Priority class of the pod.'),
    make(
      'networkPolicy.enabled',
      true,
      { type: 'boolean' },
      'Whether only probes and namespaces labelled `metrics: enabled` may connect to the pod.',
    ),
  ]
}

const NOTE = 'Generated from scripts/chart by npm run generate. Do not edit.'

export function valuesText(all: readonly Setting[]): string {
  const blocks = new Map<string, string[]>()
  for (const { path, value, about } of all) {
    const [head = '', rest] = path.split('.')
    const indent = rest === undefined ? '' : '  '
    const text = stringify({ [rest ?? head]: value }, { defaultStringType: 'PLAIN', indentSeq: true }).trimEnd()
    const lines = [`${indent}# ${about}`, ...text.split('\n').map((line) => indent + line)]
    blocks.set(head, [...(blocks.get(head) ?? (rest === undefined ? [] : [`${head}:`])), ...lines])
  }
  return `# ${NOTE}\n${[...blocks.values()].map((lines) => lines.join('\n')).join('\n\n')}\n`
}

export function schemaText(all: readonly Setting[]): string {
  const properties: Record<string, JsonObject> = {}
  for (const { path, schema, about } of all) {
    const [head = '', rest] = path.split('.')
    const described = { description: about, ...schema }
    if (rest === undefined) properties[head] = described
    else {
      const known = (properties[head]?.['properties'] ?? {}) as JsonObject
      properties[head] = { type: 'object', additionalProperties: false, properties: { ...known, [rest]: described } }
    }
  }
  // Helm itself adds `global` when the chart is part of another one.
  const known = { ...properties, global: { type: 'object' } }
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', title: 'Values of the chart capt' }
  return `${JSON.stringify({ ...schema, type: 'object', additionalProperties: false, properties: known }, null, 2)}\n`
}

export function settingsTable(all: readonly Setting[]): string {
  const rows = all.map(({ path, about, value }) => {
    const shown = typeof value === 'string' ? value : JSON.stringify(value)
    return `| \`${path}\` | ${about} | ${shown === '' ? '' : `\`${shown}\``} |`
  })
  return ['| value | meaning | default |', '| --- | --- | --- |', ...rows].join('\n')
}
