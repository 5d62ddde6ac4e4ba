// Cancels a run: Terraform finishes the operations in progress, writes its state and stops.
import { CANCEL_ANNOTATION, notFound, WorkspaceTemplateApply } from '#api'
import { findOwner, isOpen, readRecord } from '#engine'
import { CaptError, parseDuration, sleep } from '#lib'
import { CONNECTION_OPTIONS, type Command, EXIT, withConnection } from '../../command.ts'
import { createReporter } from '../../progress/reporter.ts'
import { applyNameOf } from '../../resources.ts'

const POLL_MS = 500

export const command: Command = {
  name: 'cancel',
  summary: 'Stop the run of an apply',
  positionals: 'NAME',
  examples: {
    'cancel demo-vpc': 'Ask it to stop, and wait until it has',
    'cancel demo-vpc --wait=false': 'Ask it to stop and return at once',
  },
  options: {
    ...CONNECTION_OPTIONS,
    wait: { type: 'string', value: 'DURATION|false', default: '5m', about: 'How long to wait for it.' },
  },
  async run(args, io) {
    const [word] = args.positionals
    const name = word === undefined ? undefined : applyNameOf(word, 'cancel')
    if (name === undefined) throw new CaptError('CAPT_USAGE', 'cancel needs a name', { hint: 'capt cancel demo-vpc' })
    const wait = String(args.values['wait'])
    const waitMs = wait === 'false' ? 0 : parseDuration(wait)
    return withConnection(args, io, async (connected) => {
      const { objects, namespace } = connected
      const key = { namespace, name }
      const { apply } = await findOwner(objects, key)
      if (!apply) throw notFound(WorkspaceTemplateApply, { namespace, name })
      const run = (await readRecord(objects, key))?.record.run
      if (!isOpen(run)) {
        io.stdout.write(`Nothing runs for ${namespace}/${name}\n`)
        return EXIT.fine
      }
      const body = { metadata: { annotations: { [CANCEL_ANNOTATION]: run.id } } }
      await objects.patch(WorkspaceTemplateApply, key, { type: 'merge', body })
      io.stdout.write(`Asked run ${run.id} to stop; it ends what it has in hand first\n`)
      const reporter = createReporter(io)
      while (reporter.elapsedMs() < waitMs) {
        const now = (await readRecord(objects, key))?.record.run
        if (!isOpen(now) || now.id !== run.id) {
          reporter.close()
          io.stdout.write(`Run ${run.id} ended: ${now?.id === run.id ? now.phase : 'another one began'}\n`)
          return EXIT.fine
        }
        reporter.live(`${name}: ${now.address ?? `terraform ${run.verb}`} is ending`)
        await sleep(io.clock, POLL_MS, io.signal)
      }
      reporter.close()
      if (waitMs === 0) return EXIT.fine
      io.stderr.write(
        `Run ${run.id} has not ended after ${wait}; it ends by itself: capt logs ${name} --follow shows it\n`,
      )
      return EXIT.notReady
    })
  },
}
