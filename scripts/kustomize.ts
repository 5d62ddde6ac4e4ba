// Renders a kustomization without kubectl: the part of kustomize that config/ uses, and a refusal for everything else.
// A test compares the result with kubectl kustomize, so people may use either.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { applyPatch } from 'rfc6902'
import { parse, parseAllDocuments } from 'yaml'
import { isPlainObject } from '#lib'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

interface Target {
  readonly kind?: string
  readonly name?: string
  readonly labelSelector?: string
}

interface Kustomization {
  readonly resources?: readonly string[]
  readonly namespace?: string
  readonly namePrefix?: string
  readonly labels?: readonly { readonly pairs: Readonly<Record<string, string>>; readonly includeSelectors?: boolean }[]
  readonly images?: readonly Image[]
  readonly patches?: readonly { readonly path?: string; readonly patch?: string; readonly target?: Target }[]
}

export interface Image {
  readonly name: string
  readonly newName?: string
  readonly newTag?: string
  /** Put behind the tag. */
  readonly digest?: string
}

const KNOWN = ['apiVersion', 'kind', 'resources', 'namespace', 'namePrefix', 'labels', 'images', 'patches']

/** Texts by path, for files that are about to be written. */
type Texts = ReadonlyMap<string, string>

export function renderKustomization(folder: string, texts: Texts = new Map()): Manifest[] {
  return inOrder(build(folder, texts))
}

const textOf = (path: string, texts: Texts): string => texts.get(path) ?? readFileSync(path, 'utf8')

function build(folder: string, texts: Texts): Manifest[] {
  const file = join(folder, 'kustomization.yaml')
  const kustomization = parse(textOf(file, texts)) as Kustomization
  const strange = Object.keys(kustomization).filter((key) => !KNOWN.includes(key))
  if (strange.length > 0) throw new Error(`${file}: ${strange.join(', ')} is not rendered here`)

  let manifests = (kustomization.resources ?? []).flatMap((name) => read(join(folder, name), texts))
  for (const { path, patch, target } of kustomization.patches ?? []) {
    const text = patch ?? textOf(join(folder, path!), texts)
    manifests = patched(manifests, parse(text), target)
  }
  if (kustomization.namespace) manifests = inNamespace(manifests, kustomization.namespace)
  const { namePrefix } = kustomization
  if (namePrefix) manifests = renamed(manifests, (name) => namePrefix + name)
  for (const { pairs, includeSelectors } of kustomization.labels ?? [])
    manifests = manifests.map((manifest) => labelled(manifest, pairs, includeSelectors ?? false))
  return manifests.map((manifest) => withImages(manifest, kustomization.images ?? []))
}

function read(path: string, texts: Texts): Manifest[] {
  if (!texts.has(path) && !existsSync(path)) throw new Error(`${path} does not exist`)
  if (!texts.has(path) && statSync(path).isDirectory()) return build(path, texts)
  return parseAllDocuments(textOf(path, texts)).map((document) => document.toJS() as Manifest)
}

type Fields = Readonly<Record<string, unknown>>

function patched(manifests: readonly Manifest[], patch: unknown, target: Target | undefined): Manifest[] {
  if (Array.isArray(patch))
    return manifests.map((manifest) => (matches(manifest, target!) ? withJsonPatch(manifest, patch) : manifest))
  const fields = patch as Manifest
  const wanted = target ?? { kind: fields.kind, name: fields.metadata.name }
  if (!manifests.some((manifest) => matches(manifest, wanted)))
    throw new Error(`a patch finds nothing: ${JSON.stringify(wanted)}`)
  if (fields['$patch'] === 'delete') return manifests.filter((manifest) => !matches(manifest, wanted))
  return manifests.map((manifest) => (matches(manifest, wanted) ? (merge(manifest, fields) as Manifest) : manifest))
}

function matches({ kind, metadata }: Manifest, target: Target): boolean {
  const fits = (pattern: string | undefined, text: string) =>
    pattern === undefined || new RegExp(`^(${pattern})$`).test(text)
  const [key, value] = target.labelSelector?.split('=') ?? []
  return (
    fits(target.kind, kind) &&
    fits(target.name, metadata.name) &&
    (key === undefined || metadata.labels?.[key] === value)
  )
}

function withJsonPatch(manifest: Manifest, operations: readonly unknown[]): Manifest {
  const copy = structuredClone(manifest)
  const faults = applyPatch(copy, operations as never).filter((fault) => fault !== null)
  if (faults.length > 0) throw new Error(`${manifest.kind} ${manifest.metadata.name}: ${faults[0]!.message}`)
  return copy
}

/** Lists of these names are merged by the key; all others are replaced, as for every kind that has no merge keys. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
}

function merge(value: unknown, patch: unknown, field = ''): unknown {
  if (Array.isArray(value) && Array.isArray(patch) && MERGE_KEYS[field])
    return mergeList(value, patch, MERGE_KEYS[field])
  if (!isPlainObject(value) || !isPlainObject(patch)) return patch
  const merged: Record<string, unknown> = { ...value }
  for (const [key, inner] of Object.entries(patch)) {
    if (inner === null) delete merged[key]
    else merged[key] = merge(merged[key], inner, key)
  }
  return merged
}

function mergeList(values: readonly Fields[], patches: readonly Fields[], key: string): unknown[] {
  const isSame = (one: Fields) => (other: Fields) => one[key] === other[key]
  const kept = values.map((value) => merge(value, patches.find(isSame(value)) ?? {}))
  return [...kept, ...patches.filter((patch) => !values.some(isSame(patch)))]
}

const CLUSTER_SCOPED = ['Namespace', 'CustomResourceDefinition', 'ClusterRole', 'ClusterRoleBinding']

function inNamespace(manifests: readonly Manifest[], namespace: string): Manifest[] {
  return manifests.map((manifest) => {
    const { kind, metadata } = manifest
    if (kind === 'Namespace') return { ...manifest, metadata: { ...metadata, name: namespace } }
    const subjects = subjectsOf(manifest)?.map((subject) => ({ ...subject, namespace }))
    const own = CLUSTER_SCOPED.includes(kind) ? metadata : { ...metadata, namespace }
    return { ...manifest, metadata: own, ...(subjects ? { subjects } : {}) }
  })
}

const subjectsOf = (manifest: Manifest): readonly Fields[] | undefined =>
  manifest['subjects'] as readonly Fields[] | undefined

/** Gives objects other names, and updates the references between them. */
function renamed(manifests: readonly Manifest[], rename: (name: string) => string): Manifest[] {
  const isRenamed = ({ kind }: Manifest) => kind !== 'Namespace' && kind !== 'CustomResourceDefinition'
  const known = new Set(manifests.filter(isRenamed).map(({ kind, metadata }) => `${kind}/${metadata.name}`))
  const refer = (kind: unknown, name: unknown) => (known.has(`${kind}/${name}`) ? rename(String(name)) : name)
  return manifests.map((manifest) => {
    if (!isRenamed(manifest)) return manifest
    const own = { ...manifest, metadata: { ...manifest.metadata, name: rename(manifest.metadata.name) } }
    const subjects = subjectsOf(manifest)?.map((one) => ({ ...one, name: refer(one['kind'], one['name']) }))
    const roleRef = manifest['roleRef'] as Fields | undefined
    return {
      ...(manifest.kind === 'Deployment' ? withAccount(own, (name) => refer('ServiceAccount', name)) : own),
      ...(subjects ? { subjects } : {}),
      ...(roleRef ? { roleRef: { ...roleRef, name: refer(roleRef['kind'], roleRef['name']) } } : {}),
    }
  })
}

const withAccount = (deployment: Manifest, refer: (name: unknown) => unknown): Manifest =>
  change(deployment, ['spec', 'template', 'spec', 'serviceAccountName'], refer) as Manifest

function labelled(manifest: Manifest, pairs: Readonly<Record<string, string>>, includeSelectors: boolean): Manifest {
  const add = (labels: unknown) => ({ ...(labels as Fields), ...pairs })
  const selectors: Readonly<Record<string, readonly (readonly string[])[]>> = {
    Service: [['spec', 'selector']],
    Deployment: [
      ['spec', 'selector', 'matchLabels'],
      ['spec', 'template', 'metadata', 'labels'],
    ],
    NetworkPolicy: [['spec', 'podSelector', 'matchLabels']],
  }
  const paths = [['metadata', 'labels'], ...(includeSelectors ? (selectors[manifest.kind] ?? []) : [])]
  return paths.reduce<unknown>((changed, path) => change(changed, path, add), manifest) as Manifest
}

/** A copy in which the value at the path is another. */
function change(value: unknown, path: readonly string[], make: (value: unknown) => unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return make(value)
  const fields = (value ?? {}) as Fields
  return { ...fields, [key]: change(fields[key], rest, make) }
}

export function withImages(manifest: Manifest, images: readonly Image[]): Manifest {
  if (manifest.kind !== 'Deployment' || images.length === 0) return manifest
  return change(manifest, ['spec', 'template', 'spec', 'containers'], (containers) =>
    (containers as readonly Fields[]).map((container) => ({
      ...container,
      image: rename(String(container['image']), images),
      ...(container['env']
        ? { env: (container['env'] as readonly Fields[]).map((one) => withRunner(one, images)) }
        : {}),
    })),
  ) as Manifest
}

/** The manager names the image of its runs; kustomize itself leaves it as it is. */
function withRunner(variable: Fields, images: readonly Image[]): Fields {
  const { name, value } = variable
  return name === 'CAPT_RUNNER_IMAGE' ? { ...variable, value: rename(String(value), images) } : variable
}

function rename(image: string, images: readonly Image[]): string {
  const colon = image.lastIndexOf(':')
  const hasTag = colon > image.lastIndexOf('/')
  const [name, tag] = hasTag ? [image.slice(0, colon), image.slice(colon + 1)] : [image, undefined]
  const change = images.find((one) => one.name === name)
  if (!change) return image
  const newTag = change.newTag ?? tag
  const pinned = change.digest === undefined ? '' : `@${change.digest}`
  return (change.newName ?? name) + (newTag === undefined ? '' : `:${newTag}`) + pinned
}

/** What others need comes first. */
const ORDER = [
  'Namespace',
  'CustomResourceDefinition',
  'ServiceAccount',
  'Role',
  'ClusterRole',
  'RoleBinding',
  'ClusterRoleBinding',
  'ConfigMap',
  'Secret',
  'Service',
  'Deployment',
]

function inOrder(manifests: readonly Manifest[]): Manifest[] {
  const rank = ({ kind }: Manifest) => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length)
  const name = ({ metadata }: Manifest) => metadata.name
  return manifests.toSorted((a, b) => rank(a) - rank(b) || (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0))
}
