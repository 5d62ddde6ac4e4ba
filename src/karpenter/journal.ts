// What capt made for Karpenter in one account and cluster, kept as a ConfigMap in that cluster: it is there for everyone who
// continues, upgrades or uninstalls, on whichever machine. It is written before anything is made.
import { type ConfigMap, ConfigMapKind } from '#api'
import type { Live, Objects } from '#kube'
import { CaptError, isPlainObject } from '#lib'
import { MANAGED_LABEL } from './kinds.ts'

type ResourceType =
  | 'flux'
  | 'node-role'
  | 'attached-policy'
  | 'instance-profile'
  | 'queue'
  | 'rule'
  | 'controller-role'
  | 'inline-policy'
  | 'access-entry'
  | 'aws-auth'
  | 'association'
  | 'tag'
  | 'spot-role'
  | 'namespace'
  | 'definition'
  | 'release'
  | 'node-class'
  | 'node-pool'
  | 'autoscaler'
  | 'node-group-size'

/** Enough to find and remove one thing. */
export interface ResourceRef {
  readonly type: ResourceType
  readonly name: string
  /** What it belongs to: the role of a policy, the key of a tag, the namespace of a release. */
  readonly of?: string
  /** Of a tag; or what was before, of what is given back at the end. */
  readonly value?: string
}

export interface Journal {
  readonly format: 1
  readonly phase: 'installing' | 'installed' | 'removing'
  readonly cluster: string
  readonly region: string
  readonly account: string
  readonly version: string
  readonly namespace: string
  readonly identity: 'irsa' | 'pod-identity'
  readonly discoveryTag: string
  readonly image?: string
  /** Hash of the release that was brought in last. */
  readonly release?: string
  /** In the order in which they are made. */
  readonly made: readonly ResourceRef[]
}

const KEY = { namespace: 'kube-system', name: 'capt-karpenter' }

export const idOf = ({ type, name, of }: ResourceRef): string => [type, of, name].filter(Boolean).join(' ')

/** What capt changed and gives back as it was, rather than made and removes. */
export const isGivenBack = ({ type }: Pick<ResourceRef, 'type'>): boolean =>
  type === 'autoscaler' || type === 'node-group-size'

export const hasBroughtFlux = ({ made }: Journal): boolean => made.some(({ type }) => type === 'flux')

/** Known ones stay as they are: the first entry says what was there before capt came. */
export function addRefs(known: readonly ResourceRef[], added: readonly ResourceRef[]): readonly ResourceRef[] {
  const ids = new Set(known.map(idOf))
  return [...known, ...added.filter((one) => !ids.has(idOf(one)))]
}

export interface KeptJournal {
  readonly journal: Journal
  readonly object: Live<ConfigMap>
}

export async function readJournal(objects: Objects): Promise<KeptJournal | undefined> {
  const object = await objects.get<ConfigMap>(ConfigMapKind, KEY)
  if (!object) return undefined
  return { object, journal: parseJournal(object.data?.['journal']) }
}

export function parseJournal(text: string | undefined): Journal {
  let parsed: unknown
  try {
    parsed = JSON.parse(text ?? '')
  } catch {
    parsed = undefined
  }
  if (isPlainObject(parsed) && parsed['format'] === 1 && Array.isArray(parsed['made']))
    return parsed as unknown as Journal
  throw new CaptError('CAPT_KARPENTER_JOURNAL', `ConfigMap ${KEY.namespace}/${KEY.name} cannot be read as a journal`, {
    hint: 'a newer capt may have written it, or a person has changed it; nothing was touched',
  })
}

/** Refused with a conflict when somebody else has written it since it was read. */
export async function writeJournal(objects: Objects, journal: Journal, known?: Live<ConfigMap>): Promise<KeptJournal> {
  const data = { journal: JSON.stringify(journal) }
  const object = known
    ? await objects.replace<ConfigMap>(ConfigMapKind, { ...known, data })
    : await objects.create<ConfigMap>(ConfigMapKind, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...KEY, labels: { [MANAGED_LABEL]: 'journal' } },
        data,
      })
  return { journal, object }
}

export async function deleteJournal(objects: Objects): Promise<void> {
  await objects.delete(ConfigMapKind, KEY)
}
