// Asks a run to stop: Terraform ends what it has in hand, writes its state and stops.
import { CANCEL_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { findOwner, isOpen, readRecord } from '#engine'
import { CaptError, parseDuration, sleep } from '#lib'
import { CONNECTION_OPTIONS, type Command, connectionOf, EXIT } from './command.ts'
import { notFound } from './retry.ts'

const LOOK_MS = 500

export const command: Command = {
  name: 'cancel',
  summary: 'Stop the Terraform run of an apply in order',
  positionals: 'NAME',
  examples: [
    { run: 'cancel demo-vpc', about: 'Ask it to stop, and wait until it has' },
    { run: 'cancel demo-vpc --wait=false', about: 'Ask it to stop and return at once' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    wait: { type: 'string', value: 'DURATION|false', default: '5m', about: 'How long to wait for it.' },
  },
  async run(args, io) {
    const [name] = args.positionals
    if (name === undefined) throw new CaptError('CAPT_USAGE', 'cancel needs a name', { hint: 'capt cancel demo-vpc' })
    const wait = String(args.values['wait'])
    const waitMs = wait === 'false' ? 0 : parseDuration(wait)
    const connected = await io.connect(connectionOf(args))
    try {
      const { objects, namespace } = connected
      const key = { namespace, name }
      const { apply } = await findOwner(objects, key)
      if (!apply) throw notFound(name, namespace)
      const run = (await readRecord(objects, key))?.record.run
      if (!isOpen(run)) {
        io.stdout.write(`Nothing runs for ${namespace}/${name}\n`)
        return EXIT.fine
      }
      const body = { metadata: { annotations: { [CANCEL_ANNOTATION]: run.id } } }
      await objects.patch(WorkspaceTemplateApply, key, { type: 'merge', body })
      io.stdout.write(`Asked run ${run.id} to stop; it ends what it has in hand first\n`)
      const until = io.clock.monotonic() + waitMs
      while (io.clock.monotonic() < until) {
        const now = (await readRecord(objects, key))?.record.run
        if (!isOpen(now) || now.id !== run.id) {
          io.stdout.write(`Run ${run.id} ended: ${now?.id === run.id ? now.phase : 'another one began'}\n`)
          return EXIT.fine
        }
        await sleep(io.clock, LOOK_MS, io.signal)
      }
      return waitMs === 0 ? EXIT.fine : EXIT.notReady
    } finally {
      await connected.close()
    }
  },
}
