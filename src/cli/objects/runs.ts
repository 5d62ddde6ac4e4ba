// Terraform runs as a table or as data: the status of an apply has its run.
import type { WorkspaceTemplateApply } from '#api'
import type { Connected } from '#kube'
import { RUN_HEAD, renderTable, runRows } from '#view'
import { EXIT, type Io } from '../command.ts'
import { printData } from '../output.ts'
import { report } from '../run.ts'
import type { Format } from './format.ts'
import { type Group, readGroup } from './select.ts'

export async function showRuns(group: Group, format: Format, connected: Connected, io: Io): Promise<number> {
  const { objects, missing } = await readGroup(group, connected)
  for (const error of missing) report(error, io)
  const code = missing.length > 0 ? EXIT.failed : EXIT.fine
  const rows = runRows(objects as unknown as readonly WorkspaceTemplateApply[], io.clock.now())
  if (format.is === 'name') {
    for (const { apply } of rows) io.stdout.write(`${apply.metadata.name}\n`)
    return code
  }
  if (format.is !== 'table' && format.is !== 'wide') {
    const items = rows.map(({ apply: { metadata, status } }) => ({
      namespace: metadata.namespace,
      apply: metadata.name,
      ...status?.run,
    }))
    if (format.render) io.stdout.write(format.render({ items }))
    else await printData({ items }, format.is === 'yaml' ? 'yaml' : 'json', io)
    return code
  }
  const isEverywhere = group.namespace === undefined
  if (rows.length === 0) {
    if (code === EXIT.fine) io.stderr.write(isEverywhere ? 'No runs\n' : `No runs in namespace ${group.namespace}\n`)
    return code
  }
  const head = [...(isEverywhere ? ['NAMESPACE'] : []), ...RUN_HEAD]
  const cells = rows.map((row) => [...(isEverywhere ? [row.apply.metadata.namespace ?? ''] : []), ...row.cells])
  io.stdout.write(renderTable(head, cells))
  return code
}
