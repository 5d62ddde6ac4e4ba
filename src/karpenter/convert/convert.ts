// Turns Karpenter objects of older APIs into v1. Pure: manifests in, objects and findings out. Where anything is refused
// there are no objects, so a half-converted set can never be applied.
import type { NodePoolObject } from '#catalog'
import { classNameFor, toNodePool } from './alpha-pool.ts'
import { betaClass, betaPool } from './beta.ts'
import { type Fields, mapAt } from './fields.ts'
import { type Finding, isRefused, type Note, notesFor } from './finding.ts'
import { classify, type Item, type ItemOptions, refuseTwins } from './items.ts'
import { readKubelet, sameKubelet } from './kubelet.ts'
import { lintObject } from './lint.ts'
import type { Manifest } from './manifests.ts'
import { type ClassOptions, toNodeClass } from './node-class.ts'

export type ConvertOptions = ClassOptions & ItemOptions

interface Converted {
  readonly objects: readonly NodePoolObject[]
  readonly findings: readonly Finding[]
}

export function convert(manifests: readonly Manifest[], options: ConvertOptions = {}): Converted {
  const findings: Finding[] = []
  const items = manifests.flatMap((manifest) => classify(manifest, options, findings))
  refuseTwins(items)
  const objects = [...oldObjects(items, 'alpha', options), ...oldObjects(items, 'beta', options), ...newObjects(items)]
  for (const object of objects) {
    const known = items.find(
      ({ name, role }) => name === object.metadata.name && (role === 'class') === (object.kind === 'EC2NodeClass'),
    )
    lintObject(object, known?.note ?? notesFor(`${object.kind}/${object.metadata.name}`, findings))
  }
  const unique = findings.filter((one, i) => findings.findIndex((other) => sameFinding(one, other)) === i)
  return { objects: unique.some(isRefused) ? [] : objects, findings: unique }
}

const sameFinding = (a: Finding, b: Finding) => a.object === b.object && a.path === b.path && a.message === b.message

/** One class per distinct kubelet configuration of the pools that use it; the first keeps the name. */
function oldObjects(items: readonly Item[], era: 'alpha' | 'beta', options: ConvertOptions): NodePoolObject[] {
  const classes = items.filter((item) => item.era === era && item.role === 'class')
  const pools = items.filter((item) => item.era === era && item.role === 'pool')
  const taken = new Set(items.filter(({ role }) => role === 'class').map(({ name }) => name))
  const made: NodePoolObject[] = []
  const variants = new Map<string, { name: string; kubelet: Fields | undefined }[]>()

  const classFor = (pool: Item): string => {
    const kubelet = kubeletOf(pool, era)
    const inline = era === 'alpha' ? inlineProvider(pool) : undefined
    if (inline) {
      const name = freeName([pool.name], taken)
      made.push(toNodeClass(name, inline, kubelet, options, at(pool.note, 'spec.provider')))
      return name
    }
    const wanted = referencedClass(pool, era)
    if (!wanted) return pool.name
    const source = classes.find(({ name }) => name === wanted)
    if (!source) {
      pool.note(
        'person',
        'CAPT_CONVERT_CLASS_MISSING',
        'spec',
        `the class ${wanted} is not among the manifests`,
        kubelet
          ? `convert it together with this pool: its kubelet settings belong into the class`
          : `EC2NodeClass ${wanted} must exist`,
      )
      return wanted
    }
    const known = variants.get(wanted) ?? []
    const same = known.find((variant) => sameKubelet(variant.kubelet, kubelet))
    if (same) return same.name
    const name = known.length === 0 ? wanted : freeName([wanted, pool.name], taken)
    if (known.length > 0)
      pool.note(
        'changed',
        'CAPT_CONVERT_KUBELET',
        'spec',
        `kubelet settings live in the class now: ${name} is a copy of ${wanted} with this pool's settings`,
      )
    variants.set(wanted, [...known, { name, kubelet }])
    made.push(oldClass(source, name, kubelet, options))
    return name
  }

  const converted = pools.map((pool) => {
    const className = classFor(pool)
    return era === 'alpha'
      ? toNodePool(pool.name, pool.spec, className, pool.meta, pool.note)
      : betaPool(pool.name, pool.spec, className, pool.meta, pool.note)
  })
  const unused = classes
    .filter(({ name }) => !variants.has(name))
    .map((source) => oldClass(source, source.name, undefined, options))
  return [...made, ...unused, ...converted]
}

function oldClass(source: Item, name: string, kubelet: Fields | undefined, options: ConvertOptions): NodePoolObject {
  if (source.era === 'beta') return betaClass(name, source.spec, kubelet, options, source.meta, source.note)
  const made = toNodeClass(name, source.spec, kubelet, options, source.note)
  return { ...made, metadata: { ...made.metadata, ...source.meta } }
}

function kubeletOf(pool: Item, era: 'alpha' | 'beta'): Fields | undefined {
  if (era === 'alpha') return readKubelet(pool.spec, 'kubeletConfiguration', pool.note, 'spec.kubeletConfiguration')
  const template = mapAt(pool.spec, 'template', pool.note, 'spec.template') ?? {}
  return readKubelet(
    mapAt(template, 'spec', pool.note, 'spec.template.spec') ?? {},
    'kubelet',
    pool.note,
    'spec.template.spec.kubelet',
  )
}

function inlineProvider(pool: Item): Fields | undefined {
  const { provider, providerRef } = pool.spec
  if (Boolean(provider) === Boolean(providerRef)) {
    const what = provider ? 'provider and providerRef are both set' : 'neither provider nor providerRef is set'
    pool.note('refused', 'CAPT_CONVERT_CONTRADICTION', 'spec.providerRef', what, 'keep exactly one of them')
  }
  return provider ? mapAt(pool.spec, 'provider', pool.note, 'spec.provider') : undefined
}

function referencedClass(pool: Item, era: 'alpha' | 'beta'): string | undefined {
  const path = era === 'alpha' ? ['providerRef'] : ['template', 'spec', 'nodeClassRef']
  const reference = path.reduce<Fields | undefined>(
    (fields, key) => fields && mapAt(fields, key, pool.note, path.join('.')),
    pool.spec,
  )
  const name = reference?.['name']
  if (typeof name === 'string' && name !== '') return name
  if (era === 'beta') pool.note('refused', 'CAPT_CONVERT_INVALID', `spec.${path.join('.')}`, 'names no class')
  return undefined
}

/** Field paths of an inline provider begin where the person wrote them. */
const at =
  (note: Note, prefix: string): Note =>
  (level, code, path, message, hint) =>
    note(level, code, path.replace(/^spec(?=\.|$)/, prefix), message, hint)

function freeName(parts: readonly string[], taken: Set<string>): string {
  let name = classNameFor(...parts)
  while (taken.has(name)) name = classNameFor(name, 'inline')
  taken.add(name)
  return name
}

/** v1 objects pass through, so that a folder half way through a migration can be given as a whole. */
function newObjects(items: readonly Item[]): NodePoolObject[] {
  return items
    .filter(({ era }) => era === 'v1')
    .map((item) => ({
      apiVersion: String(item.body['apiVersion']),
      kind: String(item.body['kind']),
      metadata: { name: item.name, ...item.meta },
      spec: item.spec,
    }))
}
