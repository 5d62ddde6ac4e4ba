// A helm that was killed leaves its release pending, and helm refuses every later operation on it. Whether that helm is
// still at work cannot be asked, so it gets the time of --wait, counted from when it began.
import { type Secret, SecretKind } from '#api'
import { missingAfterWait, type Site } from './site.ts'

interface Release {
  readonly name: string
  readonly namespace: string
}

/** Waits for another helm that is at work on the release. */
export async function awaitOtherHelm(site: Site, release: Release): Promise<void> {
  const begun = await pendingOf(site, release)
  if (!begun) return
  // The clocks agree within minutes: AWS refuses signatures of one that does not.
  const age = Math.max(0, site.clock.now() - Date.parse(begun.metadata.creationTimestamp ?? '')) || 0
  const lacking = async () => {
    const status = (await pendingOf(site, release))?.metadata.labels?.['status']
    return status === undefined
      ? undefined
      : `it is ${status}; one that was killed is given up when it began longer ago than --wait`
  }
  await missingAfterWait(site, `another helm on release ${release.name}`, lacking, site.waitMs - age)
}

/**
 * Removes the record of an operation that never ended. What it made stays, marked as the release's own: the next operation
 * adopts it.
 */
export async function freeRelease(site: Site, release: Release): Promise<void> {
  await awaitOtherHelm(site, release)
  const left = await pendingOf(site, release)
  if (!left) return
  const { namespace, name, uid, labels } = left.metadata
  site.report(`release ${release.name}: removing ${namespace}/${name}, ${labels?.['status']} since a helm was killed`)
  await site.objects.delete(SecretKind, { namespace: namespace ?? '', name }, uid === undefined ? {} : { uid })
}

async function pendingOf({ objects }: Site, { name, namespace }: Release): Promise<Secret | undefined> {
  const labelSelector = `owner=helm,name=${name},status in (pending-install,pending-upgrade,pending-rollback)`
  for await (const secret of objects.list<Secret>(SecretKind, { namespace, labelSelector })) return secret
  return undefined
}
