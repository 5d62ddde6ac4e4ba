// Condenses Kubernetes' published API description into types.generated.json: field names, types, merge keys and wire
// numbers of the built-in kinds we serve, nothing else. Run by hand when the Kubernetes version moves:
//   node src/apiserver/builtin/generate.ts SWAGGER_JSON PROTO_FOLDER... > src/apiserver/builtin/types.generated.json
// The code of a field is `<wire number> <type>`; types.ts reads it and says what the letters mean.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Property {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly items?: Property
  readonly additionalProperties?: Property
  readonly properties?: Readonly<Record<string, Property>>
  readonly required?: readonly string[]
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: string
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-patch-strategy'?: string
}

const ROOTS: Readonly<Record<string, readonly string[]>> = {
  'api.core.v1': [
    'Namespace,Secret,ConfigMap,ServiceAccount,Event,Pod,Node,Service,Endpoints,PersistentVolume',
    'PersistentVolumeClaim,ResourceQuota,LimitRange,ReplicationController,PodTemplate,Binding',
  ],
  'api.events.v1': ['Event'],
  'api.coordination.v1': ['Lease'],
  'api.apps.v1': ['Deployment,ReplicaSet,StatefulSet,DaemonSet,ControllerRevision'],
  'api.batch.v1': ['Job,CronJob'],
  'api.autoscaling.v1': ['Scale'],
  'api.autoscaling.v2': ['HorizontalPodAutoscaler'],
  'api.networking.v1': ['NetworkPolicy,Ingress,IngressClass'],
  'api.policy.v1': ['PodDisruptionBudget,Eviction'],
  'api.storage.v1': ['StorageClass,CSIDriver,CSINode,VolumeAttachment'],
  'api.scheduling.v1': ['PriorityClass'],
  'api.discovery.v1': ['EndpointSlice'],
  'api.rbac.v1': ['Role,RoleBinding,ClusterRole,ClusterRoleBinding'],
  'api.admissionregistration.v1': ['ValidatingWebhookConfiguration,MutatingWebhookConfiguration'],
  'api.authentication.v1': ['TokenReview,TokenRequest,SelfSubjectReview'],
  'api.authorization.v1': [
    'SelfSubjectAccessReview,SelfSubjectRulesReview,SubjectAccessReview,LocalSubjectAccessReview',
  ],
  'apiextensions-apiserver.pkg.apis.apiextensions.v1': ['CustomResourceDefinition'],
  'kube-aggregator.pkg.apis.apiregistration.v1': ['APIService'],
  'apimachinery.pkg.apis.meta.v1': ['DeleteOptions'],
}

const ANY = new Set(['JSON', 'JSONSchemaPropsOrBool', 'JSONSchemaPropsOrArray', 'JSONSchemaPropsOrStringArray'])
const [swaggerPath, ...protoFolders] = process.argv.slice(2)
if (swaggerPath === undefined) throw new Error('usage: generate.ts SWAGGER_JSON PROTO_FOLDER...')
const swagger = JSON.parse(readFileSync(swaggerPath, 'utf8')) as { definitions: Record<string, Property> }
const messages = new Map<string, Map<string, { number: number; type: string; repeated: boolean }>>()
/** `scope.Message` to the names of its fields that may be absent, in lower case. */
const pointers = new Map<string, Set<string>>()
for (const folder of protoFolders) {
  for (const file of protosBelow(folder)) {
    const source = readFileSync(file, 'utf8')
    readProto(source)
    readPointers(scopeOf(source), readFileSync(file.replace(/proto$/, 'pb.go'), 'utf8'))
  }
}

const types: Record<string, { f: Record<string, string>; r?: readonly string[]; a?: 1 }> = {}
for (const [group, kinds] of Object.entries(ROOTS)) {
  for (const kind of kinds.flatMap((names) => names.split(','))) define(`io.k8s.${group}.${kind}`)
}
process.stdout.write(`${JSON.stringify(Object.fromEntries(Object.entries(types).sort()), undefined, 1)}\n`)

/** `parent` lends its properties to a message that exists on the wire only. */
function define(name: string, parent?: Property): string {
  const short = shortName(name)
  if (types[short]) return short
  const definition = swagger.definitions[name] ?? parent
  const wire = messages.get(name.slice('io.k8s.'.length))
  const entry: { f: Record<string, string>; r?: readonly string[]; a?: 1 } = { f: {} }
  types[short] = entry
  if (definition?.required && definition !== parent) entry.r = definition.required
  if (definition?.['x-kubernetes-map-type'] === 'atomic') entry.a = 1
  for (const [field, property] of Object.entries(definition?.properties ?? {})) {
    if ((field === 'apiVersion' || field === 'kind') && !wire?.has(field)) continue
    if (definition === parent && !wire?.has(field)) continue
    const code = codeOf(property)
    const isPointer = pointers.get(name.slice('io.k8s.'.length))?.has(field.toLowerCase())
    entry.f[field] =
      `${wire?.get(field)?.number ?? 0} ${isPointer && /^[silb]$/.test(code) ? code.toUpperCase() : code}`
  }
  // Fields that are a message on the wire and part of their parent in JSON.
  for (const [field, { number, type }] of wire ?? []) {
    if (definition?.properties?.[field] || !type.includes('.') || !messages.has(type)) continue
    entry.f[`^${field}`] = `${number} #${define(`io.k8s.${type}`, definition)}`
  }
  return short
}

function codeOf(property: Property): string {
  if (property.$ref) return refCode(property.$ref.slice('#/definitions/'.length))
  if (property.items) return `${listCode(property)}${codeOf(property.items)}`
  if (property.additionalProperties) {
    return `{${property['x-kubernetes-map-type'] === 'atomic' ? 'a' : ''}}${codeOf(property.additionalProperties)}`
  }
  if (property.type === 'integer') return property.format === 'int64' ? 'l' : 'i'
  if (property.type === 'number') return 'n'
  if (property.type === 'boolean') return 'b'
  if (property.type === 'string') return property.format === 'byte' ? 'y' : 's'
  return '*'
}

function refCode(name: string): string {
  const last = name.split('.').at(-1)!
  if (last === 'Time') return 't'
  if (last === 'MicroTime') return 'u'
  if (last === 'Quantity') return 'q'
  if (last === 'IntOrString') return 'x'
  if (ANY.has(last)) return '*'
  if (last === 'RawExtension' || last === 'FieldsV1') return '*'
  const atomic = swagger.definitions[name]?.['x-kubernetes-map-type'] === 'atomic'
  return `${atomic ? '%' : '#'}${define(name)}`
}

function listCode(property: Property): string {
  const kind = property['x-kubernetes-list-type'] ?? ''
  const keys = property['x-kubernetes-list-map-keys'] ?? []
  const merge = property['x-kubernetes-patch-merge-key'] ?? ''
  const strategy = property['x-kubernetes-patch-strategy'] ?? ''
  const how = kind === 'map' ? `m:${keys.join('+')}` : kind === 'set' ? 's' : kind === 'atomic' ? 'a' : ''
  const patch = strategy.startsWith('merge') ? `p:${merge}` : ''
  const retain = strategy.includes('retainKeys') ? 'r' : ''
  return `[${[how, patch, retain].filter((part) => part !== '').join(';')}]`
}

function shortName(name: string): string {
  return name.replace(/^io\.k8s\./, '').replace(/^(api|.*\.pkg\.apis)\./, '')
}

function protosBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return protosBelow(path)
    return entry.name === 'generated.proto' ? [path] : []
  })
}

function scopeOf(source: string): string {
  return /^package (\S+);/m
    .exec(source)![1]!
    .replace(/^k8s\.io\./, '')
    .replaceAll('_', '-')
}

/** The encoder asks `!= nil` exactly for the fields that are pointers. */
function readPointers(scope: string, source: string): void {
  for (const match of source.matchAll(/^func \(m \*(\w+)\) MarshalToSizedBuffer[\s\S]*?^\}/gm)) {
    const fields = [...match[0].matchAll(/if m\.(\w+) != nil \{/g)].map((found) => found[1]!.toLowerCase())
    pointers.set(`${scope}.${match[1]}`, new Set(fields))
  }
}

function readProto(source: string): void {
  const scope = scopeOf(source)
  let fields: Map<string, { number: number; type: string; repeated: boolean }> | undefined
  for (const line of source.split('\n')) {
    const message = /^message (\w+) \{/.exec(line)
    if (message) {
      fields = new Map()
      messages.set(`${scope}.${message[1]}`, fields)
    }
    const field = /^ {2}(?:(optional|repeated|required) )?(map<[^>]+>|\.?[\w.]+) (\w+) = (\d+)/.exec(line)
    if (!field || !fields) continue
    const bare = field[2]!.replace(/^\.?k8s\.io\./, '').replaceAll('_', '-')
    const isMessage = /^[A-Z]/.test(bare)
    // A few wire names start with a capital or lost their dollar sign; JSON knows better.
    fields.set(
      field[3]!.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase()),
      {
        number: Number(field[4]),
        type: isMessage ? `${scope}.${bare}` : bare,
        repeated: field[1] === 'repeated',
      },
    )
  }
}
