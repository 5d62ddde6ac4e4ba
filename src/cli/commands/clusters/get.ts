// Lists objects as the server's own table prints them, or as data.
import { type AnyObject, WorkspaceTemplateApply } from '#api'
import type { Connected } from '#kube'
import { CaptError } from '#lib'
import { renderTable } from '#view'
import { CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { FORMAT_OPTION, type Format, formatOf, nameOf, printObjects } from '../../objects/format.ts'
import { showRuns } from '../../objects/runs.ts'
import {
  EVERYWHERE_OPTION,
  FILE_OPTION,
  filesOf,
  type Group,
  groupsOf,
  readGroup,
  SELECTOR_OPTION,
} from '../../objects/select.ts'
import { type Row, readTable } from '../../objects/table.ts'
import { type Watched, watchChanges } from '../../objects/watch.ts'
import { selectionsOf } from '../../resources.ts'
import { report } from '../../run.ts'

export const command: Command = {
  name: 'get',
  summary: 'List clusters, applies, deliveries and the other kinds of capt',
  positionals: 'KIND [NAME...] | KIND/NAME...',
  examples: {
    'get clusters': 'The clusters of this namespace',
    'get wtapply -A -o wide': 'Every Terraform workspace with its progress',
    'get clusters -l env=prod -w': 'Those with a label, and every change until Ctrl-C',
    'get runs -A': 'Terraform runs: in progress, queued with position and reason, ended',
    'get captcluster/demo wtapply/demo-vpc -o yaml': 'Two objects, whole',
    "get captcluster demo -o jsonpath='{.status.vpcId}'": 'One field',
  },
  options: {
    ...CONNECTION_OPTIONS,
    ...FORMAT_OPTION,
    ...EVERYWHERE_OPTION,
    ...SELECTOR_OPTION,
    ...FILE_OPTION,
    watch: { type: 'boolean', short: 'w', about: 'Stay, and print what changes until Ctrl-C.' },
  },
  async run(args, io) {
    const { positionals } = args
    if (positionals.length === 0 && filesOf(args).length === 0)
      throw new CaptError('CAPT_USAGE', 'get needs a kind', { hint: 'capt get clusters' })
    const format = formatOf(args)
    return withConnection(args, io, async (connected) => {
      const runs = positionals.length === 0 ? undefined : runsOf(positionals)
      if (runs) {
        const words = [WorkspaceTemplateApply.plural, ...runs]
        const [group] = await groupsOf(words, args, { connected, io, command: 'get' })
        return showRuns(group!, format, connected, io)
      }
      const groups = await groupsOf(positionals, args, { connected, io, command: 'get' })
      const isTable = format.is === 'table' || format.is === 'wide'
      if (args.values['watch'] === true)
        return await (isTable ? watchTables : watchObjects)(groups, format, connected, io)
      return await (isTable ? showTables : showObjects)(groups, format, connected, io)
    })
  },
}

/** Names of runs, when runs are asked for: they are no objects of their own. */
function runsOf(words: readonly string[]): readonly string[] | undefined {
  const [first, ...more] = selectionsOf(words, 'get')
  return first && more.length === 0 && /^runs?$/i.test(first.word) ? first.names : undefined
}

type Show = (groups: readonly Group[], format: Format, connected: Connected, io: Io) => Promise<number>

const showTables: Show = async (groups, format, connected, io) => {
  const missing: CaptError[] = []
  let isFirst = true
  for (const group of groups) {
    const table = await readTable(group, tableOptions(groups, format), connected)
    missing.push(...table.missing)
    if (table.rows.length > 0) {
      const text = renderTable(
        table.head,
        table.rows.map(({ cells }) => cells),
      )
      io.stdout.write(`${isFirst ? '' : '\n'}${text}`)
      isFirst = false
    } else if (table.missing.length === 0) io.stderr.write(`${noneOf(group)}\n`)
  }
  return reportMissing(missing, io)
}

const tableOptions = (groups: readonly Group[], format: Format) => ({
  isWide: format.is === 'wide',
  isQualified: groups.length > 1,
})

function noneOf({ kind, namespace, selector }: Group): string {
  const labels = selector === undefined ? '' : ` with labels ${selector}`
  return `No ${kind.plural}${labels}${namespace === undefined ? '' : ` in namespace ${namespace}`}`
}

const showObjects: Show = async (groups, format, connected, io) => {
  const found: AnyObject[] = []
  const missing: CaptError[] = []
  for (const group of groups) {
    const read = await readGroup(group, connected)
    found.push(...read.objects)
    missing.push(...read.missing)
  }
  const isList = groups.length > 1 || groups[0]?.names.length !== 1
  if (isList || found.length > 0) await printObjects(found, isList, format, io)
  return reportMissing(missing, io)
}

function reportMissing(missing: readonly CaptError[], io: Io): number {
  for (const error of missing) report(error, io)
  return missing.length > 0 ? EXIT.failed : EXIT.fine
}

/** Widths grow with what is printed; the head is printed again only for another kind. */
const watchTables: Show = async (groups, format, connected, io) => {
  let head: readonly string[] = []
  let shownKind = ''
  const widths: number[] = []
  const line = (cells: readonly string[]) => {
    cells.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length)
    })
    io.stdout.write(
      `${cells
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('   ')
        .trimEnd()}\n`,
    )
  }
  const read = async () => {
    const rows: (Row & { readonly kind: string; readonly head: readonly string[] })[] = []
    for (const group of groups) {
      const table = await readTable(group, tableOptions(groups, format), connected)
      const { kind } = table.kind
      rows.push(...table.rows.map((row) => ({ ...row, id: `${kind}${row.id}`, kind, head: table.head })))
    }
    return rows
  }
  return await watchChanges(
    read,
    {
      print(rows) {
        for (const row of rows)
          row.cells.forEach((cell, i) => {
            widths[i] = Math.max(widths[i] ?? 0, cell.length)
          })
        for (const row of rows) {
          if (row.kind !== shownKind) line(row.head)
          head = row.head
          shownKind = row.kind
          line(row.cells)
        }
      },
      gone: ({ kind, cells }) => io.stderr.write(`${kind} ${cells[head[0] === 'NAMESPACE' ? 1 : 0]} is gone\n`),
    },
    io,
  )
}

interface WatchedObject extends Watched {
  readonly object: AnyObject
}

const watchObjects: Show = async (groups, format, connected, io) => {
  const read = async () => {
    const found: WatchedObject[] = []
    for (const group of groups)
      for (const object of (await readGroup(group, connected)).objects)
        found.push({
          id: `${object.metadata.namespace}/${nameOf(object)}`,
          version: object.metadata.resourceVersion ?? '',
          object,
        })
    return found
  }
  const print = async (changed: readonly WatchedObject[]) => {
    for (const { object } of changed) {
      if (format.is === 'yaml') io.stdout.write('---\n')
      await printObjects([object], false, format, io)
      if (format.is === 'jsonpath') io.stdout.write('\n')
    }
  }
  return await watchChanges(read, { print, gone: ({ id }) => io.stderr.write(`${id} is gone\n`) }, io)
}
