// Removes the identities of workspaces that are not here any more although nobody forgot them: their applies were moved to another
// cluster, or their finalizers were removed by hand. A Role that is left would keep its namespace from being deleted.
import { type AnyObject, SecretKind, ServiceAccountKind, toKey, WorkspaceTemplateApply } from '#api'
import type { Objects } from '#kube'
import { type Clock, isCaptError, type Log, messageOf, type Timer } from '#lib'
import { recordName, suffixOf, WORKSPACE_LABEL } from '../names.ts'
import { removeIdentity } from './job-runs.ts'
import { APPLY_ANNOTATION } from './render-job.ts'

/** A minute after the start, and then seldom: each identity costs a request. */
const FIRST_MS = 60_000
const AGAIN_MS = 6 * 3_600_000

interface SweepOptions {
  readonly objects: Objects
  readonly runNamespace: string
  readonly clock: Clock
  readonly log: Log
}

/** Returns how to stop it. */
export function startSweeping({ objects, runNamespace, clock, log }: SweepOptions): () => void {
  let timer: Timer | undefined
  let isStopped = false
  const later = (delayMs: number) => {
    if (!isStopped) timer = clock.after(delayMs, () => void sweep())
  }
  const sweep = async () => {
    try {
      const swept = await sweepIdentities(objects, runNamespace)
      if (swept.length > 0) log.info('Removed identities of applies that are gone', { applies: swept.join(', ') })
      later(AGAIN_MS)
    } catch (error) {
      // A manager that does not lead, or an API server that is away.
      if (!isCaptError(error, 'CAPT_NOT_LEADER')) log.warn('Looking for identities failed', { error: messageOf(error) })
      later(FIRST_MS)
    }
  }
  later(FIRST_MS)
  return () => {
    isStopped = true
    timer?.cancel()
  }
}

/** Applies, `namespace/name`, whose identities were removed. */
export async function sweepIdentities(objects: Objects, runNamespace: string): Promise<readonly string[]> {
  const swept: string[] = []
  const selection = { namespace: runNamespace, labelSelector: WORKSPACE_LABEL }
  for await (const account of objects.list<AnyObject>(ServiceAccountKind, selection)) {
    const { namespace, name } = toKey(account.metadata.annotations?.[APPLY_ANNOTATION] ?? '')
    if (namespace === undefined) continue
    const key = { namespace, name }
    if (await objects.get(WorkspaceTemplateApply, key)) continue
    // A workspace that outlived its apply is for a person to decide about.
    if (await objects.get(SecretKind, { namespace, name: recordName(suffixOf(key)) })) continue
    await removeIdentity(objects, key, account)
    swept.push(`${namespace}/${name}`)
  }
  return swept
}
