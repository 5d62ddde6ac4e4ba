// Runner, Terraform and work folder are lost in the very instant in which a resource is made: nothing but the record is left.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { type AnyObject, conditionOf, EventKind, WorkspaceTemplateApply } from '#api'
import { readRecord } from '#engine'
import { ledgerModule, readLedger } from '../support/engine/ledger.ts'
import { engineWorld, hasTerraform, isReady } from '../support/engine/world.ts'

it('a run names what its lost runner may have made, although that had no time to write it down', {
  skip: !hasTerraform && 'no terraform',
}, async () => {
  const world = await engineWorld()
  try {
    const ledger = join(world.folder, 'ledger')
    const lost = join(world.folder, 'lost')
    // Terraform is the parent of the shell, and the runner is the parent of Terraform. The shell goes on and says `made`.
    const loseAll = `kill -9 $(ps -o ppid= -p $PPID); rm -rf \\"$TF_WORK_FOLDER_OF_CAPT\\"; kill -9 $PPID`
    const later = `{ touch ${lost}; ${loseAll}; }`
    const manager = await world.manager()
    await world.make(
      'victim',
      ledgerModule(ledger, 3, `test $i != 0 && sleep 1; test $i != 0 || test -f ${lost} || ${later};`),
    )
    const apply = await world.until('victim', isReady)
    assert.ok(existsSync(lost))
    const key = { namespace: 'default', name: 'victim' }
    const suspects = (await readRecord(world.connection.objects, key))!.record.suspects
    const { made } = readLedger(ledger)
    assert.equal(made.filter((one) => one === '0').length, 2, `made: ${made}`)
    assert.deepEqual(
      suspects.map(({ address }) => address),
      [0, 1, 2].map((i) => `terraform_data.x[${i}]`),
    )
    assert.match(conditionOf(apply, 'Suspects')?.message ?? '', /lost before it reported .*x\[0\].*--clear-suspects/)

    await world.connection.objects.delete(WorkspaceTemplateApply, key)
    await world.untilGone('victim')
    await manager.stop()
    const notes: string[] = []
    for await (const event of world.connection.objects.list<AnyObject>(EventKind, { namespace: 'default' }))
      notes.push(JSON.stringify(event))
    assert.match(
      notes.join('\n'),
      /SuspectsLeft.*x\[0\]|x\[0\].*SuspectsLeft/,
      'a deletion does not hide what no state has',
    )
  } finally {
    await world.close()
  }
})
