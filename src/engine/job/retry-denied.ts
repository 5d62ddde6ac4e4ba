// The API for a runner whose role may be deleted under it: the manager makes it again (keep-identity.ts), so calls about the
// objects of the workspace wait for that instead of losing what Terraform has made.
import { type AnyObject, type KindRef, LeaseKind, SecretKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { type Clock, pause } from '#lib'
import { ALL_SLOTS, leaseName, recordName, STATE_PARTS, slotName, stateNames, suffixOf } from '../names.ts'
import type { ObjectKey } from '../workspace.ts'

/** How long a runner waits for its role to be made again. */
const TIMEOUT_MS = 5 * 60_000
const POLL_MS = 5_000

/**
 * Calls about the objects of the workspace, and of the apply whose state a speculative run reads, wait while its role is
 * missing. All others fail at once.
 */
export function retryDenied(objects: Objects, owner: ObjectKey, clock: Clock, speculativeFor = owner.name): Objects {
  const suffix = suffixOf(owner)
  const secrets = new Set([suffix, suffixOf({ ...owner, name: speculativeFor })].flatMap(secretNames))
  const isOwn = ({ kind }: KindRef, key: { readonly namespace?: string; readonly name: string }) =>
    key.namespace === owner.namespace &&
    ((kind === SecretKind.kind && secrets.has(key.name)) || (kind === LeaseKind.kind && key.name === leaseName(suffix)))

  async function wait<T>(isOurs: boolean, work: () => Promise<T>): Promise<T> {
    const until = clock.monotonic() + TIMEOUT_MS
    for (;;) {
      try {
        return await work()
      } catch (error) {
        const isPassing = isOurs && isKubeError(error, 'Forbidden') && clock.monotonic() < until
        // A quota or a policy forbids too, and for good.
        if (!isPassing || !/ cannot \w+ resource /.test(error.message)) throw error
      }
      await pause(clock, POLL_MS)
    }
  }
  const named = (object: AnyObject) => object.metadata
  return {
    get: (kind, key) => wait(isOwn(kind, key), () => objects.get(kind, key)),
    list: (kind, options) => objects.list(kind, options),
    create: (kind, object, how) => wait(isOwn(kind, named(object)), () => objects.create(kind, object, how)),
    replace: (kind, object, how) => wait(isOwn(kind, named(object)), () => objects.replace(kind, object, how)),
    patch: (kind, key, patch, how) => wait(isOwn(kind, key), () => objects.patch(kind, key, patch, how)),
    apply: (kind, object, how) => wait(isOwn(kind, named(object)), () => objects.apply(kind, object, how)),
    delete: (kind, key, how) => wait(isOwn(kind, key), () => objects.delete(kind, key, how)),
  }
}

function secretNames(suffix: string): readonly string[] {
  return [recordName(suffix), ...stateNames(suffix, STATE_PARTS), ...ALL_SLOTS.map((slot) => slotName(suffix, slot))]
}
