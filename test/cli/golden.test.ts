// What each command prints, in its normal, wide, JSON and error form, over objects and a time that do not change.
// UPDATE=1 updates the files.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { assertGolden } from '../support/golden/file.ts'
import { missingForms, printTable } from '../support/golden/table.ts'
import { type GoldenWorld, startGoldenWorld } from '../support/golden/world.ts'
import { CLUSTERS } from './golden/clusters.ts'
import { EXISTING, KARPENTER } from './golden/karpenter.ts'
import { ELSEWHERE, RUN } from './golden/run.ts'
import { TERRAFORM } from './golden/terraform.ts'
import { VERSIONS } from './golden/versions.ts'

const root = join(import.meta.dirname, '../..')

describe('what commands print', () => {
  let world: GoldenWorld
  before(async () => {
    world = await startGoldenWorld()
  })
  after(async () => {
    await world?.close()
  })

  it('is held for every command in every form that it offers', async () => {
    assert.deepEqual(await missingForms([RUN, CLUSTERS, TERRAFORM, KARPENTER, EXISTING, VERSIONS], ELSEWHERE), [])
    for (const [name, forms] of Object.entries(ELSEWHERE))
      for (const file of Object.values(forms)) {
        const golden = name.replaceAll(' ', '-')
        assert.ok(existsSync(join(root, 'test/cli/golden', `${golden}.txt`)), golden)
        assert.ok(readFileSync(join(root, file), 'utf8').includes(`assertGolden('${golden}'`), `${file} holds ${name}`)
      }
  })

  for (const [name, table] of Object.entries({
    run: RUN,
    terraform: TERRAFORM,
    clusters: CLUSTERS,
    karpenter: KARPENTER,
    versions: VERSIONS,
  }))
    it(`is as golden/${name}.txt holds it`, async () => {
      const { clock, folder, kubeconfig, steady } = world
      const env = { KUBECONFIG: kubeconfig, HOME: folder }
      assertGolden(name, await printTable(table, { clock, env, folder, cwd: folder, steady }))
    })
})
