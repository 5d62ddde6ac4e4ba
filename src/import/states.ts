// Terraform states as Crossplane kept them: Secrets and Leases of Terraform's Kubernetes backend, one Terraform workspace
// per Workspace. Which state belongs to which apply, and why one cannot be taken over. Pure.
import { gunzipSync } from 'node:zlib'
import type { UnknownObject } from '#api'
import { readState, type StateInfo, workspaceNameOf } from '#engine'
import type { MappedApply } from './map.ts'
import { fieldsOf, textOf } from './outcome.ts'

interface FoundState {
  /** `crossplane-system/tfstate-demo-vpc-aws-provider-eks` */
  readonly secret: string
  /** Name of the Terraform workspace. */
  readonly workspace: string
  readonly suffix: string
  /** Undefined: it is cut or damaged. */
  readonly text: string | undefined
  readonly info: StateInfo | undefined
  /** Who holds its lock. */
  readonly lockedBy: string | undefined
}

const NAME = /^tfstate-(?<rest>.+?)(?:-part-(?<part>\d+))?$/

export const isStateObject = ({ apiVersion, kind, metadata }: UnknownObject): boolean =>
  (apiVersion === 'v1' && kind === 'Secret' && NAME.test(metadata.name)) ||
  (apiVersion === 'coordination.k8s.io/v1' && kind === 'Lease' && metadata.name.startsWith('lock-tfstate-'))

export function readStates(objects: readonly UnknownObject[]): readonly FoundState[] {
  // The same Secret may come from a file and from the cluster.
  const byName = new Map(
    objects
      .filter((one) => one.kind === 'Secret' && isStateObject(one))
      .map((one) => [`${one.metadata.namespace ?? ''}/${one.metadata.name}`, one]),
  )
  const secrets = [...byName.values()]
  const byState = Map.groupBy(secrets, (one) => `${one.metadata.namespace ?? ''}/${baseOf(one.metadata.name)}`)
  return [...byState].map(([secret, parts]) => {
    const first = parts.find(({ metadata }) => baseOf(metadata.name) === metadata.name) ?? parts[0]!
    const text = unpack(parts)
    const info = text === undefined ? undefined : readState(text)
    const labels = first.metadata.labels ?? {}
    const suffix = labels['tfstateSecretSuffix'] ?? ''
    const rest = baseOf(first.metadata.name).slice('tfstate-'.length)
    const named = suffix !== '' && rest.endsWith(`-${suffix}`) ? rest.slice(0, -suffix.length - 1) : rest
    return {
      secret,
      workspace: labels['tfstateWorkspace'] ?? named,
      suffix,
      text: info ? text : undefined,
      info,
      lockedBy: holderOf(objects, first),
    }
  })
}

const baseOf = (name: string): string => name.replace(/-part-\d+$/, '')
const partOf = (name: string): number => Number(/-part-(\d+)$/.exec(name)?.[1] ?? 0)

function unpack(parts: readonly UnknownObject[]): string | undefined {
  const chunks = [...parts]
    .sort((a, b) => partOf(a.metadata.name) - partOf(b.metadata.name))
    .map((one) => Buffer.from(textOf(fieldsOf(one['data'])['tfstate']) ?? '', 'base64'))
  try {
    return gunzipSync(Buffer.concat(chunks)).toString('utf8')
  } catch {
    return undefined
  }
}

function holderOf(objects: readonly UnknownObject[], { metadata }: UnknownObject): string | undefined {
  const lease = objects.find(
    (one) =>
      one.kind === 'Lease' &&
      one.metadata.name === `lock-${baseOf(metadata.name)}` &&
      (one.metadata.namespace ?? '') === (metadata.namespace ?? ''),
  )
  return textOf(fieldsOf(lease?.['spec'])['holderIdentity'])
}

export interface Assignment {
  readonly apply: MappedApply
  readonly state?: FoundState & {
    readonly text: string
    readonly info: StateInfo
    /** Where it was, for people; the Secret when left out. */
    readonly from?: string
  }
  /** Why its state cannot be taken over. */
  readonly refusal?: { readonly reason: string; readonly hint: string }
}

/** `workspaces`: the Workspaces of Crossplane, where they are known. */
export function assignStates(
  applies: readonly MappedApply[],
  states: readonly FoundState[],
  workspaces: readonly UnknownObject[],
): readonly Assignment[] {
  return applies.map((apply) => {
    const name = workspaceNameOf(apply.object.metadata.name)
    const matching = states.filter((state) => belongsTo(state, name, workspaces))
    const [state, second] = matching
    const sharing = applies.filter((one) => workspaceNameOf(one.object.metadata.name) === name)
    if (state && sharing.length > 1)
      return refuse(
        apply,
        `${sharing.map(({ object }) => `${object.metadata.namespace ?? ''}/${object.metadata.name}`).join(' and ')} shared one Workspace ${name} in the older project, and with it one state`,
        'import them one at a time, with the state of the one that it belongs to',
      )
    if (second)
      return refuse(
        apply,
        `several states are of Workspace ${name}: ${matching.map(({ secret }) => secret).join(', ')}`,
        'give the one that holds with --state, and no other',
      )
    return state ? take(apply, state) : { apply }
  })
}

function take(apply: MappedApply, state: FoundState): Assignment {
  const { secret, text, info, lockedBy } = state
  if (lockedBy !== undefined)
    return refuse(
      apply,
      `the state in Secret ${secret} is locked by ${lockedBy}: Terraform is at work on it`,
      'pause the Workspace, wait until the run has ended, then import again',
    )
  if (text === undefined || !info)
    return refuse(
      apply,
      `the state in Secret ${secret} is cut or damaged, or not of format version 4`,
      'export it again with all of its parts: kubectl get secrets -l tfstate=true -o yaml',
    )
  return { apply, state: { ...state, text, info } }
}

const refuse = (apply: MappedApply, reason: string, hint: string): Assignment => ({ apply, refusal: { reason, hint } })

/** The Terraform workspace has the external name of the Workspace; a suffix of its own has its uid. */
function belongsTo(state: FoundState, name: string, workspaces: readonly UnknownObject[]): boolean {
  const found = workspaces.find(({ metadata }) => metadata.name === name)
  const external = found?.metadata.annotations?.['crossplane.io/external-name'] ?? name
  if (state.workspace === external) return true
  const uid = found?.metadata.uid
  return state.workspace === 'default' && uid !== undefined && state.suffix === uid
}
