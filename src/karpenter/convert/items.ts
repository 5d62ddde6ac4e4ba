// Sorts manifests into pools and classes of the three eras, with what people wrote kept and what machines wrote left behind.
import { type Fields, mapAt } from './fields.ts'
import { type Finding, type Note, notesFor } from './finding.ts'
import type { Manifest } from './manifests.ts'
import { fillVariables } from './variables.ts'

export interface ItemOptions {
  /** Values for ${NAME}. */
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** Leave manifests of other projects out instead of refusing them. */
  readonly ignoreOther?: boolean | undefined
}

export interface Item {
  readonly era: 'alpha' | 'beta' | 'v1'
  readonly role: 'pool' | 'class'
  readonly name: string
  readonly spec: Fields
  readonly meta: Fields
  readonly body: Fields
  readonly note: Note
}

const KINDS: Readonly<Record<string, Pick<Item, 'era' | 'role'>>> = {
  'karpenter.sh/v1alpha5 Provisioner': { era: 'alpha', role: 'pool' },
  'karpenter.k8s.aws/v1alpha1 AWSNodeTemplate': { era: 'alpha', role: 'class' },
  'karpenter.sh/v1beta1 NodePool': { era: 'beta', role: 'pool' },
  'karpenter.k8s.aws/v1beta1 EC2NodeClass': { era: 'beta', role: 'class' },
  'karpenter.sh/v1 NodePool': { era: 'v1', role: 'pool' },
  'karpenter.k8s.aws/v1 EC2NodeClass': { era: 'v1', role: 'class' },
}

export function classify(manifest: Manifest, options: ItemOptions, findings: Finding[]): Item[] {
  const note = notesFor(`${manifest.kind}/${manifest.name}`, findings)
  const known = KINDS[`${manifest.apiVersion} ${manifest.kind}`]
  if (!known) {
    if (options.ignoreOther && !/(^|\.)karpenter\.(sh|k8s\.aws)\//.test(manifest.apiVersion)) return []
    note(
      'refused',
      'CAPT_CONVERT_UNKNOWN_KIND',
      manifest.at,
      `${manifest.apiVersion} ${manifest.kind} is not something capt converts`,
      hintForKind(manifest),
    )
    return []
  }
  const body = fillVariables(manifest.body, options.variables ?? {}, note) as Fields
  const spec = mapAt(body, 'spec', note) ?? {}
  return [
    { ...known, name: (body['metadata'] as { name: string }).name, spec, meta: keptMetadata(body, note), body, note },
  ]
}

function hintForKind({ kind }: Manifest): string {
  if (['Machine', 'NodeClaim', 'Node'].includes(kind))
    return 'running nodes are not converted: roll them while the old controller still runs'
  return 'give Provisioner, AWSNodeTemplate, NodePool and EC2NodeClass, or --ignore-other'
}

const HASHES = [
  'karpenter.sh/provisioner-hash',
  'karpenter.k8s.aws/nodetemplate-hash',
  'karpenter.sh/nodepool-hash',
  'karpenter.k8s.aws/ec2nodeclass-hash',
  'kubectl.kubernetes.io/last-applied-configuration',
]

/** Labels and annotations people wrote; what controllers and the API server wrote stays behind. */
function keptMetadata(body: Fields, note: Note): Fields {
  const metadata = mapAt(body, 'metadata', note) ?? {}
  const labels = mapAt(metadata, 'labels', note, 'metadata.labels')
  const given = mapAt(metadata, 'annotations', note, 'metadata.annotations') ?? {}
  const annotations = Object.fromEntries(
    Object.entries(given).filter(([key]) => !HASHES.includes(key) && !/-hash-version$/.test(key)),
  )
  return {
    ...(labels && Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  }
}

export function refuseTwins(items: readonly Item[]): void {
  for (const [i, item] of items.entries()) {
    const first = items.findIndex(({ role, name }) => role === item.role && name === item.name)
    if (first !== i)
      item.note(
        'refused',
        'CAPT_CONVERT_CONTRADICTION',
        'metadata.name',
        'two objects would get this name',
        'keep one of them',
      )
  }
}
