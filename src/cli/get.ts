// Lists objects as the server's own table prints them.
import type { KindRef } from '#api'
import { apiVersionOf } from '#api'
import { CaptError, parseJson } from '#lib'
import { renderTable } from '#view'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  type Connected,
  connectionOf,
  EXIT,
  type Io,
} from './command.ts'
import { askServer } from './discovery.ts'
import { OUTPUT_OPTION, outputOf, printData } from './output.ts'
import { findKind } from './resources.ts'

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[]
  readonly rows: readonly {
    readonly cells: readonly unknown[]
    readonly object: { readonly metadata: { readonly namespace?: string } }
  }[]
}

export const command: Command = {
  name: 'get',
  summary: 'List clusters, applies, deliveries and the other kinds of capt',
  positionals: 'KIND [NAME]',
  examples: [
    { run: 'get clusters', about: 'The clusters of this namespace' },
    { run: 'get wtapply -A -o wide', about: 'Every Terraform workspace with its progress' },
    { run: 'get captcluster demo -o yaml', about: 'One object, whole' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTION,
    'all-namespaces': { type: 'boolean', short: 'A', about: 'Look into every namespace.' },
  },
  async run(args, io) {
    const [word, name] = args.positionals
    if (word === undefined) throw new CaptError('CAPT_USAGE', 'get needs a kind', { hint: 'capt get clusters' })
    const output = outputOf(args)
    const connected = await io.connect(connectionOf(args))
    try {
      const kind = await findKind(word, connected)
      return await show(kind, name, output, args, connected, io)
    } finally {
      await connected.close()
    }
  },
}

async function show(
  kind: KindRef,
  name: string | undefined,
  output: string | undefined,
  args: Arguments,
  connected: Connected,
  io: Io,
): Promise<number> {
  const everywhere = args.values['all-namespaces'] === true
  const path = pathOf(kind, everywhere ? undefined : connected.namespace, name)
  const ask = async (accept: string): Promise<string> => {
    const what = `get ${kind.kind}${name === undefined ? 's' : ` ${name}`}`
    const body = await askServer(connected, path, { what, accept, kind })
    if (body === undefined) throw notThere(kind, name, connected)
    return body
  }
  if (output === 'json' || output === 'yaml') {
    await printData(parseJson(await ask('application/json')), output, io)
    return EXIT.fine
  }
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
  const table = parseJson(await ask(accept)) as Table
  if (table.rows.length === 0) {
    io.stderr.write(everywhere ? `No ${kind.plural}\n` : `No ${kind.plural} in namespace ${connected.namespace}\n`)
    return EXIT.fine
  }
  const shown = table.columnDefinitions
    .map((column, i) => ({ ...column, i }))
    .filter(({ priority }) => output === 'wide' || !priority)
  const head = [...(everywhere ? ['NAMESPACE'] : []), ...shown.map((column) => column.name.toUpperCase())]
  const rows = table.rows.map((row) => [
    ...(everywhere ? [row.object.metadata.namespace ?? ''] : []),
    ...shown.map(({ i }) => (row.cells[i] === null || row.cells[i] === undefined ? '' : String(row.cells[i]))),
  ])
  io.stdout.write(renderTable(head, rows))
  return EXIT.fine
}

function pathOf(kind: KindRef, namespace: string | undefined, name: string | undefined): string {
  const base = kind.group === '' ? `/api/${kind.version}` : `/apis/${apiVersionOf(kind)}`
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${base}${scope}/${kind.plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

function notThere(kind: KindRef, name: string | undefined, { server, namespace }: Connected): CaptError {
  if (name === undefined)
    return new CaptError(
      'CAPT_KUBE_KIND_NOT_SERVED',
      `${server} does not serve ${kind.kind} in ${apiVersionOf(kind)}`,
      {
        hint: 'install capt there, or use an embedded home: capt up --data DIR',
      },
    )
  return new CaptError('CAPT_KUBE_NOT_FOUND', `There is no ${kind.kind} "${name}" in namespace ${namespace}`, {
    hint: `capt get ${kind.plural} -A shows where there are some`,
  })
}
