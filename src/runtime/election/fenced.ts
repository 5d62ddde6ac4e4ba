// Writes that need leadership. A process that was paused cannot write after its successor has started: between the last time
// a write is sent (the renew deadline) and the first time another may take over (the lease duration) are five seconds, for
// requests that are in flight.
import type { Objects, Permitted } from '#kube'
import { CaptError } from '#lib'
import type { Election } from './election.ts'

/** The same objects, refusing every write unless we are the leader beyond doubt, also when it waited for its connection. */
export function fenced(objects: Objects, election: Pick<Election, 'holds'>): Objects {
  const check = (verb: string) => () => {
    if (election.holds()) return
    throw new CaptError('CAPT_NOT_LEADER', `Refused to ${verb}: this process is not the leader`, {
      hint: 'Another manager has taken over, or will soon; nothing was written',
    })
  }
  async function guard<O extends Permitted, R>(
    verb: string,
    options: O | undefined,
    write: (options: O) => Promise<R>,
  ) {
    const permit = check(verb)
    permit()
    return await write({ ...options, permit } as O)
  }
  return {
    get: (kind, key) => objects.get(kind, key),
    list: (kind, options) => objects.list(kind, options),
    create: (kind, object, options) => guard('create', options, (how) => objects.create(kind, object, how)),
    replace: (kind, object, options) => guard('replace', options, (how) => objects.replace(kind, object, how)),
    patch: (kind, key, patch, options) => guard('patch', options, (how) => objects.patch(kind, key, patch, how)),
    apply: (kind, object, options) => guard('apply', options, (how) => objects.apply(kind, object, how)),
    delete: (kind, key, options) => guard('delete', options, (how) => objects.delete(kind, key, how)),
  }
}
