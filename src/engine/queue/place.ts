// The place of a run in the queue: whose it is, who pays for it, and whether it is known to be quick.
import type { StartRequest } from '../port.ts'
import type { Run, RunRecord } from '../record/record.ts'
import { credentialRefs } from '../runner/inputs/credentials.ts'
import type { ObjectKey } from '../workspace.ts'
import { LONG_MS, type Place } from './schedule.ts'

/** The identity of the runner itself: there are no other credentials. */
const AMBIENT = ''

export function placeOf(request: StartRequest, record: RunRecord | undefined): Place {
  const { owner, verb, check } = request
  const { namespace, name } = owner
  const last = record?.history.find((past) => past.verb === verb && past.phase === 'Succeeded')
  const tookMs = last ? Date.parse(last.finishedAt) - Date.parse(last.startedAt) : Number.POSITIVE_INFINITY
  return {
    id: `${namespace}/${name}`,
    namespace,
    identity: identityOf(request, record) ?? AMBIENT,
    isDrift: check !== undefined,
    isDestroy: verb === 'destroy',
    isQuick: tookMs < LONG_MS,
  }
}

/** Undefined: the identity of the runner itself. A destroy without its template has that of the run before it. */
export function identityOf(
  { workspace, credentials }: StartRequest,
  record: RunRecord | undefined,
): string | undefined {
  const refs = workspace ? credentialRefs(workspace) : credentials ? [credentials] : undefined
  if (!refs) return record?.run?.identity
  return refs.length === 0
    ? undefined
    : [...new Set(refs.map((ref) => `${ref.namespace}/${ref.name}`))].sort().join('+')
}

/** Of a run that is found in progress. */
export function placeOfOpen({ namespace, name }: ObjectKey, run: Run): Place {
  const { identity = AMBIENT, isCheck, verb } = run
  const isDestroy = verb === 'destroy'
  return { id: `${namespace}/${name}`, namespace, identity, isDrift: isCheck === true, isDestroy, isQuick: false }
}
