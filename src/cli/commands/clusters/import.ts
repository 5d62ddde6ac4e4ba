// Takes over clusters of the older project: prints what becomes of each object, then writes manifests, or brings objects
// and Terraform state to a management cluster. Nothing is written while anything is refused.
import { resolve } from 'node:path'
import { readManifests, type UnknownObject } from '#api'
import {
  type Assignment,
  assignStates,
  checkTarget,
  type Given,
  isRefused,
  isStateObject,
  land,
  type Mapped,
  mapObjects,
  readStates,
  surveyOlder,
} from '#import'
import { CaptError, isPlainObject } from '#lib'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  EXIT,
  filesOption,
  type Io,
  withConnection,
} from '../../command.ts'
import { renderOutcomes } from '../../import/report.ts'
import { writeManifests } from '../../import/write-manifests.ts'
import { confirm, YES_OPTION } from '../../output.ts'
import { readSources } from '../../sources.ts'

export const command: Command = {
  name: 'import',
  summary: 'Take over clusters of the older project, state included',
  examples: {
    'import -f older/ --state states.yaml': 'Print the manifests that capt uses; the report goes to stderr',
    'import -f older/ --state states.yaml --apply': 'Bring objects and state to the management cluster',
    'import --from-kubeconfig older.yaml -n team-a --apply --dry-run':
      'Read a running management cluster of the older project, and check everything',
  },
  options: {
    ...CONNECTION_OPTIONS,
    ...filesOption('Manifests of the older project: file, folder or - for standard input.'),
    state: {
      type: 'string',
      value: 'FILE',
      multiple: true,
      about: 'Secrets (and Leases) in which Crossplane keeps Terraform state, as kubectl get -o yaml writes them.',
    },
    'from-kubeconfig': {
      type: 'string',
      value: 'FILE',
      about: 'Read a management cluster of the older project instead.',
    },
    'from-context': { type: 'string', value: 'NAME', about: "Context in that file; the file's current one otherwise." },
    output: { type: 'string', short: 'o', value: 'DIR', about: 'Write one manifest per object to this folder.' },
    apply: { type: 'boolean', about: 'Bring objects and state to the management cluster of the connection.' },
    credentials: {
      type: 'string',
      value: 'NAME',
      about:
        'Secret with AWS credentials, instead of one named like the ProviderConfig; none: the identity of capt itself.',
    },
    'with-pools': { type: 'boolean', about: 'Also make a MachinePool of each ManagedNodeGroup template.' },
    'without-state': { type: 'boolean', about: 'Accept objects without Terraform state: everything is created again.' },
    'skip-refused': { type: 'boolean', about: 'Go on without what is refused.' },
    ...YES_OPTION,
    'dry-run': { type: 'boolean', about: 'With --apply: check everything and change nothing.' },
  },
  onSignal: 'finishes',
  async run(args, io) {
    const { output } = args.values
    if (output !== undefined && args.values['apply'] === true)
      throw new CaptError('CAPT_USAGE', '--output and --apply exclude each other', {
        hint: 'write manifests first and read them, then run it again with --apply',
      })
    const { given, kept } = await readInput(args, io)
    if (given.length === 0)
      throw new CaptError('CAPT_INVALID', 'There is no object to import', {
        hint: 'give the objects of the older project with -f; --state holds their Terraform state',
      })
    const prepared = prepare(given, kept, args, io)
    if (!prepared) return EXIT.failed
    const { mapped, assignments } = prepared
    if (args.values['apply'] === true) return withConnection(args, io, (to) => bring(prepared, args, { ...io, to }))
    await writeManifests(mapped, assignments, typeof output === 'string' ? resolve(io.cwd, output) : undefined, io)
    return EXIT.fine
  },
}

interface Input {
  readonly given: readonly Given[]
  /** State Secrets and their locks. */
  readonly kept: readonly UnknownObject[]
}

async function readInput(args: Arguments, io: Io): Promise<Input> {
  const listed = (name: string) => (args.values[name] as readonly string[] | undefined) ?? []
  const from = args.values['from-kubeconfig']
  const files = listed('filename')
  if (files.length === 0 && typeof from !== 'string')
    throw new CaptError('CAPT_USAGE', 'import needs --filename or --from-kubeconfig', {
      hint: 'capt import -f older/ --state states.yaml',
    })
  const read = async (names: readonly string[]) => {
    if (names.length === 0) return []
    const manifests = (await readSources(names, io)).flatMap(({ name, text }) => readManifests(text, name))
    for (const { object, file, line } of manifests) requireName(object, `${file}, line ${line}`)
    return manifests
  }
  const objects = (await read(files)).map(({ object, notes }): Given => {
    const before = notes
      .map((note) => /^(Capt\w+) is spelt/.exec(note)?.[1])
      .find((one) => `CAPT${one?.slice(4)}` === object.kind)
    return { object, ...(before === undefined ? {} : { speltBefore: before }) }
  })
  const states = (await read(listed('state'))).map(({ object, file, line }) => {
    if (isStateObject(object)) return object
    throw new CaptError('CAPT_INVALID', `${object.kind}/${object.metadata.name} is not a Terraform state`, {
      at: `${file}, line ${line}`,
      hint: 'give Secrets tfstate-… and their Leases with --state, everything else with -f',
    })
  })
  const surveyed = typeof from === 'string' ? await surveyFrom(from, args, io) : { given: [], kept: [] }
  return {
    given: [...objects.filter(({ object }) => !isStateObject(object)), ...surveyed.given],
    kept: [...objects.map(({ object }) => object).filter(isStateObject), ...states, ...surveyed.kept],
  }
}

function requireName({ kind, metadata }: UnknownObject, at: string): void {
  const name: unknown = isPlainObject(metadata) ? metadata['name'] : undefined
  if (typeof name === 'string' && name !== '') return
  throw new CaptError('CAPT_MANIFEST_INVALID', `${kind} has no metadata.name`, {
    at,
    hint: 'give manifests as kubectl get -o yaml writes them',
  })
}

async function surveyFrom(kubeconfig: string, args: Arguments, io: Io): Promise<Input> {
  const { namespace, 'from-context': context } = args.values
  const from = await io.connect({
    kubeconfig,
    ...(typeof namespace === 'string' ? { namespace } : {}),
    ...(typeof context === 'string' ? { context } : {}),
  })
  try {
    return await surveyOlder(from)
  } finally {
    await from.close()
  }
}

interface Prepared {
  readonly mapped: Mapped
  readonly assignments: readonly Assignment[]
}

/** Undefined when something is refused. */
function prepare(
  given: readonly Given[],
  kept: readonly UnknownObject[],
  args: Arguments,
  io: Io,
): Prepared | undefined {
  const { namespace, credentials, apply } = args.values
  const mapped = mapObjects(given, {
    namespace: typeof namespace === 'string' ? namespace : 'default',
    ...(typeof credentials === 'string' ? { credentials } : {}),
    withPools: args.values['with-pools'] === true,
  })
  const workspaces = given.map(({ object }) => object).filter(({ kind }) => kind === 'Workspace')
  const found = assignStates(mapped.applies, readStates(kept), workspaces)
  const mayBeNew = args.values['without-state'] === true
  const assignments = mayBeNew ? found : found.map((one) => withoutState(one, apply === true))
  io.stderr.write(renderOutcomes(mapped.outcomes, assignments))
  if (isStopped(mapped, assignments, args.values['skip-refused'] === true, io)) return undefined
  return { mapped, assignments }
}

/** A state that is refused is never skipped: the object that asks for its apply would make everything a second time. */
function isStopped({ outcomes }: Mapped, assignments: readonly Assignment[], mayBeSkipped: boolean, io: Io): boolean {
  const refused = outcomes.filter(isRefused)
  const final = refused.filter(({ isFinal }) => isFinal).length + assignments.filter(({ refusal }) => refusal).length
  const count = refused.length + assignments.filter(({ refusal }) => refusal).length
  if (count === 0 || (mayBeSkipped && final === 0)) return false
  const way = final > 0 ? `${final} of them cannot be skipped` : '--skip-refused goes on without them'
  io.stderr.write(`${count} refused, nothing was written; ${way}\n`)
  return true
}

/** An apply without its state would make everything a second time. */
function withoutState(assignment: Assignment, isStrict: boolean): Assignment {
  const { apply, state, refusal } = assignment
  if (state || refusal || !(isStrict || apply.wasApplied)) return assignment
  const reason = apply.wasApplied
    ? 'Terraform applied it in the older project, and its state is not among the input'
    : 'there is no state for it among the input'
  return { apply, refusal: { reason, hint: 'give its Secret with --state; --without-state creates everything again' } }
}

async function bring(
  { mapped, assignments }: Prepared,
  args: Arguments,
  io: Io & Pick<Parameters<typeof land>[2], 'to'>,
): Promise<number> {
  const { to } = io
  await checkTarget(mapped, assignments, { to })
  const states = assignments.filter(({ state }) => state).length
  const what = `${mapped.objects.length + assignments.length} objects and ${states} ${states === 1 ? 'state' : 'states'}`
  if (args.values['dry-run'] === true) {
    io.stderr.write(`${what} would go to ${to.server}\n`)
    return EXIT.fine
  }
  if (!(await confirm(`Bring ${what} to ${to.server}?`, args, io))) return EXIT.failed
  await land(mapped, assignments, { to, clock: io.clock, report: (text) => io.stderr.write(`  ${text}\n`) })
  io.stdout.write(`Imported ${what} to ${to.server}; a first plan that is not empty waits for capt approve\n`)
  return EXIT.fine
}
