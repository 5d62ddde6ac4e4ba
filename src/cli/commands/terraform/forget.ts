// Lets go of a Terraform workspace: its records are taken away, its resources stay. For state that is lost for good, and for
// what is kept of applies that are gone.
import { notFound, RETRY_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { findAbandoned, findOwner, listRecorded, type Owner, orphanResources, type Recorded } from '#engine'
import { type Connected, createEvents } from '#kube'
import { CaptError, counted } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { confirm, endDryRun, YES_OPTION } from '../../output.ts'
import { applyNameOf } from '../../resources.ts'

export const command: Command = {
  name: 'forget',
  summary: 'Let go of a workspace and leave its resources alone',
  positionals: 'NAME',
  examples: {
    'forget demo-vpc --dry-run': 'What is recorded, and would have no owner any more',
    'forget demo-vpc --orphan-resources': 'List it, ask, then let go of it',
  },
  options: {
    ...CONNECTION_OPTIONS,
    'orphan-resources': { type: 'boolean', about: 'Leave resources that are recorded without an owner.' },
    ...YES_OPTION,
    'dry-run': { type: 'boolean', about: 'List what is recorded and change nothing.' },
  },
  async run(args, io) {
    const [word] = args.positionals
    const name = word === undefined ? undefined : applyNameOf(word, 'forget')
    if (name === undefined) throw new CaptError('CAPT_USAGE', 'forget needs a name', { hint: 'capt forget demo-vpc' })
    return withConnection(args, io, (connected) => forget(name, args, io, connected))
  },
}

async function forget(name: string, args: Arguments, io: Io, connected: Connected): Promise<number> {
  const { objects, namespace } = connected
  const { owner, apply } = await findOwner(objects, { namespace, name })
  if (!apply && !(await findAbandoned(objects, namespace)).some((one) => one.name === name))
    throw notFound(WorkspaceTemplateApply, { namespace, name })
  const recorded = await listRecorded(objects, owner, apply?.status?.state?.resources)
  const count = recorded.addresses.length + recorded.unnamed
  printRecorded(recorded, owner, io)
  if (args.values['dry-run'] === true) return endDryRun(io)
  if (count > 0 && args.values['orphan-resources'] !== true) {
    throw new CaptError('CAPT_USAGE', `${resources(count)} of ${namespace}/${name} would have no owner any more`, {
      hint: `capt delete wtapply ${name} destroys them; capt forget ${name} --orphan-resources leaves them where they are`,
    })
  }
  if (!(await confirm(questionOf(owner, apply, count), args, io))) return EXIT.failed
  await orphanResources(objects, io.clock, owner, { isApplyThere: apply !== undefined, resources: count })
  if (apply) await notify(io, connected, apply, count)
  const orphans = count === 0 ? '' : `; ${resources(count)} ${count === 1 ? 'has' : 'have'} no owner any more`
  io.stdout.write(`Let go of ${namespace}/${name}${orphans}\n`)
  return EXIT.fine
}

function questionOf({ namespace, name }: Owner, apply: WorkspaceTemplateApply | undefined, count: number): string {
  const consequence =
    apply && !apply.metadata.deletionTimestamp && !apply.spec.suspend ? ' The next run creates everything again.' : ''
  return `Let go of ${namespace}/${name} and leave ${resources(count)} without an owner?${consequence}`
}

const resources = (count: number): string => counted(count, 'resource')

function printRecorded({ addresses, unnamed }: Recorded, { namespace, name }: Owner, io: Io): void {
  io.stderr.write(
    addresses.length + unnamed === 0
      ? `Nothing is recorded for ${namespace}/${name}\n`
      : `Recorded for ${namespace}/${name}:\n`,
  )
  for (const address of addresses) io.stderr.write(`  ${address}\n`)
  if (unnamed > 0)
    io.stderr.write(`  ${resources(unnamed)} that nothing names any more; capt doctor finds them by their tag\n`)
}

/** An Event for people, and the annotation by which every manager reads the record again. */
async function notify(
  io: Io,
  { objects, namespace }: Connected,
  apply: WorkspaceTemplateApply,
  count: number,
): Promise<void> {
  const events = createEvents(objects, {
    clock: io.clock,
    controller: 'capt.appthrust.com/cli',
    instance: 'capt-forget',
  })
  const message = `A person let go of the workspace; ${resources(count)} stay without an owner`
  events.emit(apply, { type: 'Warning', reason: 'ResourcesOrphaned', message })
  await events.flush()
  const body = { metadata: { annotations: { [RETRY_ANNOTATION]: new Date(io.clock.now()).toISOString() } } }
  await objects.patch(WorkspaceTemplateApply, { namespace, name: apply.metadata.name }, { type: 'merge', body })
}
