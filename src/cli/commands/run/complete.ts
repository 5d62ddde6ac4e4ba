// Called by the completion scripts: what may come next on a command line. Whatever cannot be asked for is left out.
import { readFileSync } from 'node:fs'
import { NamespaceKind } from '#api'
import type { Connected } from '#kube'
import { type Command, EXIT, type Io } from '../../command.ts'
import { complete, type Lookup } from '../../completion/complete.ts'
import { readGroup } from '../../objects/select.ts'
import { findKind } from '../../resources.ts'

/** A person waits with a finger on the key. */
const LIMIT_MS = 2000

export const command: Command = {
  name: '__complete',
  summary: 'List what may be typed next, for completion scripts',
  positionals: 'WORD...',
  hidden: true,
  examples: { '__complete -- get cl': 'What may follow' },
  options: {},
  async run({ positionals }, io) {
    const { COMMANDS } = await import('../../commands.generated.ts')
    const found = await complete(positionals, COMMANDS, lookupOf(io))
    if (found === 'files') io.stdout.write(':files\n')
    else for (const { text, about } of found) io.stdout.write(`${text}${about === undefined ? '' : `\t${about}`}\n`)
    return EXIT.fine
  },
}

function lookupOf(io: Io): Lookup {
  const within = async (
    values: Readonly<Record<string, string>>,
    ask: (connected: Connected) => Promise<readonly string[]>,
  ): Promise<readonly string[]> => {
    const late = new Promise<readonly string[]>((resolve) => io.clock.after(LIMIT_MS, () => resolve([])))
    const asked = connect(values, io, ask).catch(() => [])
    return await Promise.race([asked, late])
  }
  return {
    namesOf: (word, values) =>
      within(values, async (connected) => {
        const kind = await findKind(/^runs?$/.test(word) ? 'wtapply' : word, connected)
        const { objects } = await readGroup({ kind, names: [], namespace: connected.namespace }, connected)
        return objects.map(({ metadata }) => metadata.name)
      }),
    namespaces: (values) =>
      within(values, async (connected) => {
        const group = { kind: NamespaceKind, names: [], namespace: undefined }
        return (await readGroup(group, connected)).objects.map(({ metadata }) => metadata.name)
      }),
    contexts: async (values) => await contextsIn(values['kubeconfig'] ?? defaultKubeconfig(io)),
    codes: async () => Object.keys((await import('../../errors.generated.json', { with: { type: 'json' } })).default),
  }
}

async function connect<T>(
  { kubeconfig, context, namespace }: Readonly<Record<string, string>>,
  io: Io,
  ask: (connected: Connected) => Promise<T>,
): Promise<T> {
  const connected = await io.connect({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(namespace === undefined ? {} : { namespace }),
  })
  try {
    return await ask(connected)
  } finally {
    await connected.close()
  }
}

const defaultKubeconfig = ({ env }: Io): string => env['KUBECONFIG']?.split(':')[0] || `${env['HOME']}/.kube/config`

async function contextsIn(file: string): Promise<readonly string[]> {
  try {
    const { parse } = await import('yaml')
    const { contexts } = parse(readFileSync(file, 'utf8')) as {
      readonly contexts?: readonly { readonly name: string }[]
    }
    return (contexts ?? []).map(({ name }) => name)
  } catch {
    return []
  }
}
