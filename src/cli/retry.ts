// Asks for another run, whatever became of the last one.
import { RETRY_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { clearSuspects, declareGone, findOwner, isOpen, readRecord } from '#engine'
import { CaptError } from '#lib'
import { CONNECTION_OPTIONS, type Command, connectionOf, EXIT } from './command.ts'
import { confirm } from './output.ts'

export const command: Command = {
  name: 'retry',
  summary: 'Run Terraform again for an apply, whatever became of the last run',
  positionals: 'NAME',
  examples: [
    { run: 'retry demo-vpc', about: 'Start another run; the count of attempts begins again' },
    { run: 'retry demo-vpc --clear-suspects', about: 'The suspects were looked at: forget them, and run again' },
    { run: 'retry demo-vpc --holder-is-gone', about: 'The machine of an unreachable run is gone for good' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    'clear-suspects': { type: 'boolean', about: 'Forget the resources that were in flight when a run was killed.' },
    'holder-is-gone': { type: 'boolean', about: 'Take the lock of a run whose machine you know to be gone.' },
    yes: { type: 'boolean', short: 'y', about: 'Do not ask.' },
  },
  async run(args, io) {
    const [name] = args.positionals
    if (name === undefined) throw new CaptError('CAPT_USAGE', 'retry needs a name', { hint: 'capt retry demo-vpc' })
    const connected = await io.connect(connectionOf(args))
    try {
      const { objects, namespace } = connected
      const { owner, apply } = await findOwner(objects, { namespace, name })
      if (!apply) throw notFound(name, namespace)
      if (args.values['holder-is-gone'] === true) {
        const run = (await readRecord(objects, owner))?.record.run
        const who = run?.runner ?? run?.holder
        const question = `Is process ${who?.pid} on ${who?.host} gone for good? Two Terraforms at once would damage the state.`
        if (isOpen(run) && !(await confirm(question, args, io))) return EXIT.failed
        await declareGone(objects, io.clock, owner)
      }
      const cleared = args.values['clear-suspects'] === true ? await clearSuspects(objects, owner) : 0
      const annotations = { [RETRY_ANNOTATION]: new Date(io.clock.now()).toISOString() }
      const body = { metadata: { annotations } }
      await objects.patch(WorkspaceTemplateApply, { namespace, name }, { type: 'merge', body })
      if (cleared > 0) io.stdout.write(`Forgot ${cleared} suspects\n`)
      io.stdout.write(`Asked for another run of ${namespace}/${name}; capt logs ${name} --follow shows it\n`)
      if (apply.spec.suspend) io.stderr.write('It is suspended: nothing starts before spec.suspend is false\n')
      return EXIT.fine
    } finally {
      await connected.close()
    }
  },
}

export function notFound(name: string, namespace: string): CaptError {
  return new CaptError(
    'CAPT_KUBE_NOT_FOUND',
    `There is no WorkspaceTemplateApply "${name}" in namespace ${namespace}`,
    {
      hint: 'capt get wtapply lists them; -n NAMESPACE looks elsewhere',
    },
  )
}
