// Closes what was live in a management cluster when its snapshot was taken, before a manager looks at it.
import { type Lease, LeaseKind } from '#api'
import { settleManagementCluster } from '#engine'
import type { Objects } from '#kube'
import { CaptError, toTimestamp } from '#lib'
import { CONNECTION_OPTIONS, type Command, EXIT, withConnection } from '../../command.ts'
import { confirm, YES_OPTION } from '../../output.ts'

const { namespace: _all, ...CONNECTION } = CONNECTION_OPTIONS

export const command: Command = {
  name: 'restore settle',
  summary: 'Close the runs of a management cluster that was restored from a snapshot',
  examples: {
    'restore settle': 'After an etcd or Velero restore, before the manager is started (docs/backup.md)',
  },
  options: { ...CONNECTION, ...YES_OPTION },
  async run(args, io) {
    return withConnection(args, io, async ({ objects, server }) => {
      await refuseBesideManager(objects, io.clock.now())
      const question = `Close every Terraform run in ${server} as lost, and remove the locks and Jobs of runs?`
      if (!(await confirm(question, args, io))) return EXIT.failed
      const { closed, locks, jobs } = await settleManagementCluster(objects, io.clock.now())
      for (const name of closed) io.stdout.write(`${name}: its run is closed as lost\n`)
      io.stdout.write(`Removed locks: ${locks}, Jobs: ${jobs}\n`)
      io.stderr.write(
        `Start the manager with --restored-at=${toTimestamp(io.clock.now())}: everything is planned once, and a plan that would change something waits\n`,
      )
      return EXIT.fine
    })
  },
}

/** A leader renews its Lease every few seconds; one of a snapshot is as old as the snapshot. */
const FRESH_MS = 20_000

async function refuseBesideManager(objects: Objects, nowMs: number): Promise<void> {
  for await (const { metadata, spec } of objects.list<Lease>(LeaseKind)) {
    const isLeader = metadata.name.startsWith('capt-controller-manager') && Boolean(spec?.holderIdentity)
    if (!isLeader || nowMs - Date.parse(spec?.renewTime ?? '') > FRESH_MS) continue
    throw new CaptError(
      'CAPT_RESTORE_MANAGER_RUNS',
      `A manager works in ${metadata.namespace}, or did seconds ago (${spec?.holderIdentity})`,
      {
        hint: `kubectl -n ${metadata.namespace} scale deployment/capt-controller-manager --replicas=0, then try again in half a minute; nothing was changed`,
      },
    )
  }
}
