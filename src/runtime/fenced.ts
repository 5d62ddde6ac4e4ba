// Writes that need leadership. A process that was paused and woke up too late cannot overtake its successor: between
// the last moment we write (the renew deadline) and the first moment another may take over (the lease duration) lie
// five seconds, for requests that are already on their way.
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import type { Election } from './election.ts'

/** The same objects, refusing every write unless we are the leader beyond doubt. */
export function fenced(objects: Objects, election: Pick<Election, 'holds'>): Objects {
  const guarded =
    <A extends readonly unknown[], R>(verb: string, write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (election.holds()) return write(...args)
      throw new CaptError('CAPT_NOT_LEADER', `Refused to ${verb}: this process is not the leader`, {
        hint: 'Another manager has taken over, or will soon; nothing was written',
      })
    }
  return {
    get: (kind, key) => objects.get(kind, key),
    list: (kind, options) => objects.list(kind, options),
    create: guarded('create', objects.create.bind(objects)) as Objects['create'],
    replace: guarded('replace', objects.replace.bind(objects)) as Objects['replace'],
    patch: guarded('patch', objects.patch.bind(objects)) as Objects['patch'],
    apply: guarded('apply', objects.apply.bind(objects)) as Objects['apply'],
    delete: guarded('delete', objects.delete.bind(objects)),
  }
}
