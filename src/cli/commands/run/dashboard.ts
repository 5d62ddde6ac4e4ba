// The page in the browser, under the caller's own kubeconfig.
import { startDashboard } from '#app'
import { askServer } from '#kube'
import { CaptError } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, connectionOf, EXIT, withConnection } from '../../command.ts'
import { addressOf } from './up.ts'

export const command: Command = {
  name: 'dashboard',
  summary: 'Show clusters, runs, plans and add-ons live in the browser',
  examples: {
    dashboard: 'Serve the page on this machine and print its link; Ctrl-C ends it',
    'dashboard -n team-a': 'One namespace only',
    'dashboard --allow-writes': 'Plans can be approved on the page, with your own permissions',
    'dashboard --listen 0.0.0.0:8443': 'Serve it to others, over TLS',
  },
  options: {
    ...CONNECTION_OPTIONS,
    namespace: { type: 'string', short: 'n', value: 'NAME', about: 'Only this namespace; all of them otherwise.' },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      default: '127.0.0.1:0',
      about: 'Address to listen on; port 0 is a free one. Beyond this machine it is TLS.',
    },
    'allow-writes': { type: 'boolean', about: 'Let the page approve and deny plans.' },
    'tls-cert': { type: 'string', value: 'FILE', about: 'Certificate; a self-signed one is made otherwise.' },
    'tls-key': { type: 'string', value: 'FILE', about: 'Its private key.' },
  },
  onSignal: 'stops',
  async run(args, io) {
    const address = addressOf(String(args.values['listen']))
    const tls = tlsOf(args)
    // The page connects when its first reader comes; what is wrong with the connection is said now.
    await withConnection(args, io, (server) => askServer(server, '/version'))
    const { kubeconfig, context, namespace } = connectionOf(args)
    const dashboard = await startDashboard({
      ...address,
      allowWrites: args.values['allow-writes'] === true,
      ...(namespace === undefined ? {} : { namespace }),
      ...tls,
      access: {
        ...(kubeconfig === undefined ? {} : { path: kubeconfig }),
        ...(context === undefined ? {} : { context }),
        env: io.env,
      },
    })
    try {
      io.stdout.write(`Dashboard: ${dashboard.url}\n`)
      io.stderr.write('Anyone with this link sees what you may see. Ctrl-C ends it.\n')
      if (!io.signal.aborted)
        await new Promise((resolve) => io.signal.addEventListener('abort', resolve, { once: true }))
      return EXIT.fine
    } finally {
      await dashboard.close()
    }
  },
}

function tlsOf({ values }: Arguments): { readonly tls?: { readonly certificate: string; readonly key: string } } {
  const { 'tls-cert': certificate, 'tls-key': key } = values
  if (certificate === undefined && key === undefined) return {}
  if (typeof certificate !== 'string' || typeof key !== 'string')
    throw new CaptError('CAPT_USAGE', '--tls-cert and --tls-key belong together', {
      hint: 'give both, or neither for a self-signed certificate',
    })
  return { tls: { certificate, key } }
}
