// Approves or denies the plan of an apply. The approval names the plan's hash and the user that the API server knows us by.
import { decideOnPlan } from '#engine'
import { CaptError } from '#lib'
import { CONNECTION_OPTIONS, type Command, EXIT, withConnection } from '../../command.ts'
import { applyNameOf } from '../../resources.ts'

export const command: Command = {
  name: 'approve',
  summary: 'Approve or deny the plan of an apply',
  positionals: 'NAME',
  examples: {
    'approve demo-vpc --plan 6f1c2d3e4a5b6c7d': 'Apply exactly this plan; capt plan shows it and its hash',
    'approve demo-vpc --deny': 'Do not apply the plan that waits',
  },
  options: {
    ...CONNECTION_OPTIONS,
    plan: { type: 'string', value: 'HASH', about: 'Hash of the plan, or its first 8 characters or more.' },
    deny: {
      type: 'boolean',
      about: 'Deny it instead; nothing is planned again before the inputs change or capt retry.',
    },
  },
  async run(args, io) {
    const [word] = args.positionals
    const name = word === undefined ? undefined : applyNameOf(word, 'approve')
    const { plan, deny = false } = args.values
    if (name === undefined || (typeof plan !== 'string' && !deny))
      throw new CaptError('CAPT_USAGE', name === undefined ? 'approve needs a name' : 'approve needs --plan', {
        hint: 'capt plan demo-vpc shows the plan and its hash; then capt approve demo-vpc --plan HASH',
      })
    return withConnection(args, io, async ({ objects, namespace }) => {
      const decision = { ...(typeof plan === 'string' ? { plan } : {}), deny: deny === true }
      const { hash, user, isSuspended } = await decideOnPlan(objects, { namespace, name }, decision, io.clock.now())
      io.stdout.write(
        deny
          ? `Denied plan ${hash} of ${namespace}/${name} as ${user}; capt retry ${name} plans again\n`
          : `Approved plan ${hash} of ${namespace}/${name} as ${user}; capt logs ${name} --follow shows its run\n`,
      )
      if (isSuspended) io.stderr.write('It is suspended: nothing starts before spec.suspend is false\n')
      return EXIT.fine
    })
  },
}
