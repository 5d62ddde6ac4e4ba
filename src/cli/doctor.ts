// Looks at everything that is kept about clusters and their Terraform workspaces, and says what needs a person.
import { type AddonDelivery, type AnyObject, conditionOf } from '#api'
import type { Objects } from '#kube'
import { redact } from '#lib'
import { type Examined, type Finding, renderFindings } from '#view'
import { CONNECTION_OPTIONS, type Command, connectionOf, EXIT, type Io } from './command.ts'
import { examine } from './doctor-diagnose.ts'
import { type Cloud, observeWorkspace, readScope } from './doctor-observe.ts'
import { OUTPUT_OPTION, outputOf, painter, printData } from './output.ts'

export type OpenCloud = (objects: Objects, io: Io) => Promise<Cloud>

export function doctorCommand(openCloud: OpenCloud): Command {
  return {
    name: 'doctor',
    summary: 'Say what needs a person: suspects, locks, state, lost runs, stops, and what AWS has that no state knows',
    positionals: '[CLUSTER | KIND NAME]',
    examples: [
      { run: 'doctor', about: 'Everything in the namespace' },
      { run: 'doctor demo', about: 'One cluster' },
      { run: 'doctor wtapply demo-vpc', about: 'One Terraform workspace' },
      { run: 'doctor demo --skip-aws -o json', about: 'As data, without asking AWS' },
    ],
    options: {
      ...CONNECTION_OPTIONS,
      ...OUTPUT_OPTION,
      output: { ...OUTPUT_OPTION.output, value: 'json|yaml' },
      'skip-aws': { type: 'boolean', about: 'Do not ask AWS what carries the tags of the workspaces.' },
    },
    /** 0: nothing needs a person. 1: something does. */
    async run(args, io) {
      const output = outputOf(args, ['json', 'yaml'])
      const connected = await io.connect(connectionOf(args))
      try {
        const scope = await readScope(args.positionals, connected)
        const cloud = args.values['skip-aws'] === true ? undefined : await openCloud(connected.objects, io)
        const examined: Examined[] = []
        for (const apply of scope.applies)
          examined.push(examine(await observeWorkspace(connected, apply, cloud, io.clock.now())))
        examined.push(...scope.others.map(examineObject).filter(({ findings }) => findings.length > 0))
        const needsPerson = examined.some(({ findings }) => findings.some(({ weight }) => weight === 'person'))
        if (output === 'json' || output === 'yaml')
          await printData({ namespace: connected.namespace, needsPerson, examined }, output, io)
        else
          io.stdout.write(
            renderFindings(examined, { width: io.stdout.columns, now: io.clock.now(), paint: painter(io) }),
          )
        return needsPerson ? EXIT.failed : EXIT.fine
      } finally {
        await connected.close()
      }
    },
  }
}

/** An object without a workspace of its own: whether it stopped, and what a teardown left. */
export function examineObject(object: AnyObject): Examined {
  const { kind, metadata } = object
  const stalled = conditionOf(object, 'Stalled')
  const { teardown } = (object as AddonDelivery).status ?? {}
  const left = (teardown?.leftovers ?? []).map(
    (what): Finding => ({
      word: 'left',
      weight: 'person',
      what: `${what} was left when the add-ons were taken away`,
      todo: 'look at it, and remove it when nobody needs it',
    }),
  )
  const stop: Finding[] =
    stalled?.status === 'True'
      ? [
          {
            word: 'stalled',
            weight: 'person',
            what: redact(stalled.message),
            todo: 'see the whole of it:',
            command: `capt describe ${kind.toLowerCase()} ${metadata.name}`,
            since: stalled.lastTransitionTime,
          },
        ]
      : []
  return { name: `${kind}/${metadata.name}`, fact: '', findings: [...stop, ...left] }
}

export const command: Command = doctorCommand(async (objects, io) => {
  const { openCloud } = await import('../app.ts')
  return openCloud(objects, io.clock, io.env)
})
