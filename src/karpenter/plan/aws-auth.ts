// The entry of a node role in `mapRoles` of the ConfigMap aws-auth. Other entries stay byte for byte: losing one makes
// nodes NotReady.
import { parse } from 'yaml'
import { toYaml } from '#api'
import { CaptError, isPlainObject } from '#lib'

function readEntries(mapRoles: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  try {
    const entries: unknown = mapRoles.trim() === '' ? [] : parse(mapRoles)
    return Array.isArray(entries) && entries.every(isPlainObject) ? entries : undefined
  } catch {
    return undefined
  }
}

function entriesOf(mapRoles: string): readonly Readonly<Record<string, unknown>>[] {
  const entries = readEntries(mapRoles)
  if (entries) return entries
  throw new CaptError('CAPT_KARPENTER_ACCESS', 'mapRoles of kube-system/aws-auth is not a list of roles', {
    hint: 'mend it first (kubectl -n kube-system edit configmap aws-auth); nothing was changed',
  })
}

const entryFor = (rolearn: string) => ({
  rolearn,
  username: 'system:node:{{EC2PrivateDNSName}}',
  groups: ['system:bootstrappers', 'system:nodes'],
})

export const hasNodeRole = (mapRoles: string, arn: string): boolean =>
  entriesOf(mapRoles).some(({ rolearn }) => rolearn === arn)

function blockFor(mapRoles: string, arn: string): string {
  const indent = /^( *)- /m.exec(mapRoles)?.[1] ?? ''
  return toYaml([entryFor(arn)])
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => `${indent}${line}\n`)
    .join('')
}

/** Appends the entry as text; a list that text cannot be appended to is rewritten. */
export function addNodeRole(mapRoles: string, arn: string): string {
  const entries = entriesOf(mapRoles)
  if (entries.some(({ rolearn }) => rolearn === arn)) return mapRoles
  const start = mapRoles === '' || mapRoles.endsWith('\n') ? mapRoles : `${mapRoles}\n`
  const appended = entries.length === 0 ? blockFor('', arn) : start + blockFor(mapRoles, arn)
  return readEntries(appended)?.length === entries.length + 1 ? appended : toYaml([...entries, entryFor(arn)])
}

export function removeNodeRole(mapRoles: string, arn: string): string {
  const entries = entriesOf(mapRoles)
  const left = entries.filter(({ rolearn }) => rolearn !== arn)
  if (left.length === entries.length) return mapRoles
  const cut = mapRoles.replace(blockFor(mapRoles, arn), '')
  return readEntries(cut)?.length === left.length ? cut : toYaml(left)
}
