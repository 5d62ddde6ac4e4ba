// The first start of a home that came from a backup: what was live when the backup was made is closed before any controller
// looks at it.
import { readRestoreMark, writeRestoreMark } from '#apiserver'
import { settleAfterRestore } from '#engine'
import { connect, type ServerAccess } from '#kube'
import type { Clock } from '#lib'

/** Returns when the home was restored; undefined when it never was. */
export async function prepareRestored(
  dataDir: string,
  access: ServerAccess,
  clock: Clock,
): Promise<string | undefined> {
  const mark = readRestoreMark(dataDir)
  if (!mark) return undefined
  if (!mark.isPrepared) {
    const connection = connect(access, { clock })
    try {
      await settleAfterRestore(connection.objects, clock.now())
    } finally {
      await connection.close()
    }
    writeRestoreMark(dataDir, { ...mark, isPrepared: true })
  }
  return mark.restoredAt
}
