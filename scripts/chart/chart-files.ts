// The Helm chart charts/capt, made from the manifests that kustomize renders as config/default: the same objects, with the
// names of the release and with settings in the places that people change. Reads config/, writes nothing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { isPlainObject } from '#lib'
import { type Manifest, renderKustomization } from '../kustomize.ts'
import { schemaText, settings, settingsTable, valuesText } from './values.ts'

const root = join(import.meta.dirname, '../..')
const FOLDER = 'charts/capt'
const NOTE = 'Generated from config/default by npm run generate. Do not edit.'
const NAMESPACE = 'capt-system'
const FULLNAME = '{{ include "capt.fullname" . }}'

type Fields = Readonly<Record<string, unknown>>
interface Deployment extends Manifest {
  readonly spec: {
    readonly replicas: number
    readonly template: {
      readonly metadata: Fields
      readonly spec: Fields & {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly [
          Fields & { readonly image: string; readonly args: readonly string[]; readonly env: readonly object[] },
        ]
      }
    }
  }
}

/** `generated`: what is generated in config/, by path in the repository; it may not be written yet. */
export function chartFiles(generated: ReadonlyMap<string, string>): Map<string, string> {
  const texts = new Map([...generated].map(([path, text]) => [join(root, path), text]))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const manifests = renderKustomization(join(root, 'config/default'), texts).filter(({ kind }) => kind !== 'Namespace')
  const job = deploymentOf(manifests)
  const local = deploymentOf(renderKustomization(join(root, 'config/overlays/local-engine'), texts))
  const [manager, runner] = [job, local].map(({ spec }) =>
    spec.template.spec.containers[0].image.replace(/:[^:/]+$/, ''),
  ) as [string, string]
  const all = settings({ image: manager, runnerImage: runner, replicas: job.spec.replicas })
  const objects = renamed(manifests.filter(({ kind }) => kind !== 'CustomResourceDefinition')).map(withSettings)
  const crds = manifests.filter(({ kind }) => kind === 'CustomResourceDefinition').map(kept)
  const text = (list: readonly Manifest[]) => list.map((one) => `---\n${manifestText(one)}`).join('')
  return new Map([
    [`${FOLDER}/Chart.yaml`, chartText(version)],
    [`${FOLDER}/values.yaml`, valuesText(all)],
    [`${FOLDER}/values.schema.json`, schemaText(all)],
    [`${FOLDER}/README.md`, pageText(settingsTable(all))],
    [`${FOLDER}/templates/_helpers.tpl`, HELPERS + defaultsText({ job, local })],
    [
      `${FOLDER}/templates/crds.yaml`,
      `{{- /* ${NOTE} */ -}}\n{{- if .Values.crds.install }}\n${text(crds)}{{- end }}\n`,
    ],
    [`${FOLDER}/templates/installation.yaml`, `{{- /* ${NOTE} */ -}}\n${text(objects)}`],
  ])
}

const deploymentOf = (manifests: readonly Manifest[]): Deployment =>
  manifests.find(({ kind }) => kind === 'Deployment') as Deployment

/** helm uninstall would delete every cluster with its kind. */
const kept = (crd: Manifest): Manifest => ({
  ...crd,
  metadata: {
    ...crd.metadata,
    annotations: { ...((crd.metadata as Fields)['annotations'] as Fields), 'helm.sh/resource-policy': 'keep' },
  } as Manifest['metadata'],
})

/** Names, references to them and the namespace become those of the release; labels keep releases apart. */
function renamed(manifests: readonly Manifest[]): Manifest[] {
  const names = new Set(manifests.map(({ metadata }) => metadata.name))
  const rename = (text: string): string => {
    if (text === NAMESPACE) return '{{ .Release.Namespace }}'
    const [, before = '', name = ''] = /^(--[\w-]+=)?(.*)$/s.exec(text) ?? []
    return names.has(name) ? `${before}${FULLNAME}-${name.replace(/^capt-/, '')}` : text
  }
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return rename(value)
    if (Array.isArray(value)) return value.map(walk)
    if (!isPlainObject(value)) return value
    const fields = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]))
    const isOurs = value['app.kubernetes.io/name'] === 'capt'
    return isOurs ? { ...fields, 'app.kubernetes.io/instance': '{{ .Release.Name }}' } : fields
  }
  return manifests.map((manifest) => {
    const named = walk(manifest) as Manifest
    const labels = { ...named.metadata.labels, 'app.kubernetes.io/managed-by': '{{ .Release.Service }}' }
    return { ...named, metadata: { ...named.metadata, labels } }
  })
}

/** Whether only the engine `job` needs it: the account of the runs, and the roles of who starts them. */
const isOfJobs = ({ kind, metadata }: Manifest): boolean =>
  kind !== 'Deployment' && metadata.name.startsWith(`${FULLNAME}-run`)

/**
 * A value of a field: `@yaml PATH`, left out when empty, `@value PATH`, or `@include NAME` of a template. An item of a list:
 * `@more PATH`, or `@job TEXT`, which only the engine `job` has. manifestText writes them.
 */
function withSettings(manifest: Manifest): Manifest {
  if (manifest.kind === 'ServiceAccount') {
    const annotations = `@yaml ${isOfJobs(manifest) ? 'runServiceAccount' : 'serviceAccount'}.annotations`
    return { ...manifest, metadata: { ...manifest.metadata, annotations } as never }
  }
  if (manifest.kind !== 'Deployment') return manifest
  const deployment = manifest as Deployment
  const { template } = deployment.spec
  const [container] = template.spec.containers
  const annotations = { ...(template.metadata['annotations'] as Fields), '@more': 'podAnnotations' }
  return {
    ...deployment,
    spec: {
      ...deployment.spec,
      replicas: '@value replicas',
      template: {
        ...template,
        metadata: { ...template.metadata, annotations },
        spec: {
          ...template.spec,
          terminationGracePeriodSeconds: '@include capt.graceSeconds',
          imagePullSecrets: '@yaml imagePullSecrets',
          nodeSelector: '@yaml nodeSelector',
          tolerations: '@yaml tolerations',
          affinity: '@yaml affinity',
          priorityClassName: '@yaml priorityClassName',
          containers: [
            {
              ...container,
              image: '{{ include "capt.image" . }}',
              imagePullPolicy: '@value image.pullPolicy',
              args: [...container.args.map(withEngine), '@more extraArgs'],
              env: [...container.env, '@more extraEnv'],
              resources: '@include capt.resources',
            },
          ],
        },
      },
    },
  }
}

function withEngine(arg: string): string {
  if (arg === '--engine=job') return '--engine={{ .Values.engine }}'
  return arg.startsWith('--run-') ? `@job ${arg}` : arg
}

/** Around text that only the engine `job` has. */
const forJobs = (text: string, indent = ''): string =>
  `${indent}{{- if eq .Values.engine "job" }}\n${text}\n${indent}{{- end }}`

function manifestText(manifest: Manifest): string {
  const text = stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false })
  if (manifest.kind === 'CustomResourceDefinition') return text.replaceAll('{{', '{{ "{{" }}')
  const written = text
    .replaceAll(/^( *)(\w+): "@yaml (\S+)"$/gm, (_all, indent: string, key: string, path: string) =>
      [
        `${indent}{{- with .Values.${path} }}`,
        `${indent}${key}: {{- toYaml . | nindent ${indent.length + 2} }}`,
        `${indent}{{- end }}`,
      ].join('\n'),
    )
    .replaceAll(/^( *)- ["']@job (.*)["']$/gm, (_all, indent: string, item: string) =>
      forJobs(`${indent}- '${item}'`, indent),
    )
    .replaceAll(/^( *)(- name: CAPT_RUNNER_IMAGE\n *value: ).*$/gm, (_all, indent: string, item: string) =>
      forJobs(`${indent}${item}'{{ include "capt.runnerImage" . }}'`, indent),
    )
    .replaceAll(
      /^( *)(\w+): "@include (\S+)"$/gm,
      (_all, indent: string, key: string, name: string) =>
        `${indent}${key}: {{- include "${name}" . | nindent ${indent.length + 2} }}`,
    )
    .replaceAll(/"@value (\S+)"/g, (_all, path: string) => `{{ .Values.${path} }}`)
    .replaceAll(/^( *)(?:- "@more (\S+)"|"@more": (\S+))$/gm, (_all, indent: string, list?: string, map?: string) =>
      [
        `${indent}{{- with .Values.${list ?? map} }}`,
        `${indent}{{- toYaml . | nindent ${indent.length} }}`,
        `${indent}{{- end }}`,
      ].join('\n'),
    )
  if (isOfJobs(manifest)) return `${forJobs(written.trimEnd())}\n`
  if (manifest.kind !== 'NetworkPolicy') return written
  return `{{- if .Values.networkPolicy.enabled }}\n${written}{{- end }}\n`
}

const chartText = (version: string): string =>
  `# ${NOTE}\n${stringify({
    apiVersion: 'v2',
    name: 'capt',
    description: 'Cluster API provider that turns one Cluster manifest into EKS with Terraform, Flux and Karpenter.',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>= 1.30.0-0',
    keywords: ['cluster-api', 'eks', 'terraform', 'karpenter'],
  })}`

const HELPERS = `{{- /* ${NOTE} */ -}}
{{- define "capt.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "capt" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-capt" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "capt.managerImage" -}}
{{- printf "%s:%s" .Values.image.repository (default (printf "v%s" .Chart.AppVersion) .Values.image.tag) -}}
{{- with .Values.image.digest -}}@{{ . }}{{- end -}}
{{- end -}}

{{- define "capt.runnerImage" -}}
{{- printf "%s:%s" .Values.runnerImage.repository (default (printf "v%s" .Chart.AppVersion) .Values.runnerImage.tag) -}}
{{- with .Values.runnerImage.digest -}}@{{ . }}{{- end -}}
{{- end -}}

{{- define "capt.image" -}}
{{- include (eq .Values.engine "local" | ternary "capt.runnerImage" "capt.managerImage") . -}}
{{- end -}}
`

/** What the manager is given where the values leave it open, by engine. */
function defaultsText({ job, local }: Readonly<Record<'job' | 'local', Deployment>>): string {
  const define = (name: string, value: string, isGiven: string, of: (deployment: Deployment) => string) =>
    [
      `\n{{- define "${name}" -}}`,
      `{{- if ${isGiven} -}}\n{{ toYaml .Values.${value} }}`,
      `{{- else if eq .Values.engine "local" -}}\n${of(local)}`,
      `{{- else -}}\n${of(job)}\n{{- end -}}\n{{- end -}}\n`,
    ].join('\n')
  const pod = ({ spec }: Deployment) => spec.template.spec
  const grace = 'terminationGracePeriodSeconds'
  return (
    define('capt.resources', 'resources', '.Values.resources', (one) =>
      stringify(pod(one).containers[0]['resources']).trimEnd(),
    ) + define('capt.graceSeconds', grace, `not (kindIs "invalid" .Values.${grace})`, (one) => String(pod(one)[grace]))
  )
}

const pageText = (table: string): string => `# The Helm chart of capt

<!-- Generated from scripts/chart by npm run generate. Do not edit. -->

Installs what \`install.yaml\` installs, with the same rights: every kind, every controller, one manager for all namespaces, and a
Kubernetes Job for each Terraform run. Names begin with the name of the release, so that two of them do not clash. With
\`engine: local\` Terraform runs in the pod of the manager, as with \`install-local-engine.yaml\`.

<!-- docs: not run: needs helm and a kube-apiserver with Deployments; test/real/install/helm-chart.test.ts does it in make test-real -->
\`\`\`sh
helm install capt charts/capt --namespace capt-system --create-namespace
\`\`\`

The manager fits the restricted profile of Pod Security; label its namespace with
\`pod-security.kubernetes.io/enforce: restricted\`. CRDs stay when the release is uninstalled: delete the clusters first, or
what Terraform made stays in the cloud.

## Values

${table}
`
