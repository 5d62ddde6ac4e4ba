// Looks at everything that is kept about clusters and their Terraform workspaces, and says what needs a person.
import type { Objects } from '#kube'
import { type Examined, renderFindings } from '#view'
import { CONNECTION_OPTIONS, type Command, connectionOf, EXIT, type Io } from './command.ts'
import { examineAbandoned, observeAbandoned } from './doctor-abandoned.ts'
import { examine } from './doctor-diagnose.ts'
import { examineCluster, examineObject } from './doctor-objects.ts'
import { type Cloud, observeWorkspace, readScope } from './doctor-observe.ts'
import { OUTPUT_OPTION, outputOf, printData, renderOptions } from './output.ts'

export type OpenCloud = (objects: Objects, io: Io) => Promise<Cloud>

export function doctorCommand(openCloud: OpenCloud): Command {
  return {
    name: 'doctor',
    summary:
      'Say what needs a person: what failed or waits, suspects, locks, state, and what AWS has that no state knows',
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
        const abandoned = args.positionals.length === 0 ? await observeAbandoned(connected) : []
        const others = [
          ...abandoned.map(examineAbandoned),
          ...scope.clusters.map(examineCluster),
          ...scope.others.map((object) => examineObject(object, io.clock.now())),
        ]
        examined.push(...others.filter(({ findings }) => findings.length > 0))
        const needsPerson = examined.some(({ findings }) => findings.some(({ weight }) => weight === 'person'))
        if (output === 'json' || output === 'yaml')
          await printData({ namespace: connected.namespace, needsPerson, examined }, output, io)
        else io.stdout.write(renderFindings(examined, renderOptions(io)))
        return needsPerson ? EXIT.failed : EXIT.fine
      } finally {
        await connected.close()
      }
    },
  }
}

export const command: Command = doctorCommand(async (objects, io) => {
  const { openCloud } = await import('../app.ts')
  return openCloud(objects, io.clock, io.env)
})
