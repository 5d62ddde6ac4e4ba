// Prints the kubeconfig of a cluster: the one for people, which gets its own tokens, or the one with a token inside.
import { type AnyObject, kubeconfigSecretName, type Secret, SecretKind, userKubeconfigSecretName } from '#api'
import { CaptError, formatDuration } from '#lib'
import { CONNECTION_OPTIONS, type Command, connectionOf, EXIT } from './command.ts'

const EXPIRES_ANNOTATION = 'capt.appthrust.com/expires-at'

export const command: Command = {
  name: 'kubeconfig',
  summary: 'Print a kubeconfig for a cluster',
  positionals: 'CLUSTER',
  examples: [
    { run: 'kubeconfig demo > demo.yaml', about: 'For people: asks the AWS command line for a token when it is used' },
    { run: 'kubeconfig demo --token > demo.yaml', about: 'With a token inside: needs nothing, ends within minutes' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    token: { type: 'boolean', about: 'The one that Cluster API uses, with a token inside.' },
  },
  async run(args, io) {
    const [cluster] = args.positionals
    if (cluster === undefined)
      throw new CaptError('CAPT_USAGE', 'kubeconfig needs the name of a cluster', { hint: 'capt kubeconfig demo' })
    const connected = await io.connect(connectionOf(args))
    try {
      const isToken = args.values['token'] === true
      const name = isToken ? kubeconfigSecretName(cluster) : userKubeconfigSecretName(cluster)
      const secret = await connected.objects.get<Secret>(SecretKind, { namespace: connected.namespace, name })
      const value = secret?.data?.['value']
      if (value === undefined)
        throw new CaptError(
          'CAPT_KUBECONFIG_MISSING',
          `Cluster ${connected.namespace}/${cluster} has no kubeconfig yet`,
          {
            hint: `capt describe cluster ${cluster} says what it waits for`,
          },
        )
      const left = isToken ? millisecondsLeft(secret!, io.clock.now()) : undefined
      if (left !== undefined) io.stderr.write(`The token works for another ${formatDuration(left)}\n`)
      io.stdout.write(Buffer.from(value, 'base64').toString('utf8'))
      return EXIT.fine
    } finally {
      await connected.close()
    }
  },
}

function millisecondsLeft(secret: AnyObject, nowMs: number): number | undefined {
  const expires = secret.metadata.annotations?.[EXPIRES_ANNOTATION]
  return expires === undefined ? undefined : Math.max(0, Date.parse(expires) - nowMs)
}
