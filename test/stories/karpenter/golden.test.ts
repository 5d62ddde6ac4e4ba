// What the commands about an existing EKS cluster print, in every form; AWS is moto with the stand-in, the cluster simulated.
// UPDATE=1 updates the file.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '#lib'
import { EXISTING } from '../../cli/golden/karpenter.ts'
import { type ExistingCluster, startExistingCluster } from '../../support/aws/existing-cluster.ts'
import { findMoto } from '../../support/aws/moto.ts'
import { assertGolden } from '../../support/golden/file.ts'
import { printTable } from '../../support/golden/table.ts'

const program = findMoto()

describe('what commands about an existing EKS cluster print', {
  skip: program === undefined && 'not installed: moto',
}, () => {
  let site: ExistingCluster
  let folder: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'capt-golden-'))
    site = await startExistingCluster(program!, folder)
  })
  after(async () => {
    await site?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('is as golden/existing-cluster.txt holds it', { timeout: 180_000 }, async (t) => {
    const env = { ...site.env, HOME: folder }
    // The chain of credential providers of the AWS SDK reads the environment of the process.
    const before = { ...process.env }
    Object.assign(process.env, site.env)
    t.after(() => {
      for (const name of Object.keys(site.env)) delete process.env[name]
      Object.assign(process.env, before)
    })
    const text = await printTable(EXISTING, { clock: () => systemClock, env, folder, cwd: folder, steady })
    assertGolden('existing-cluster', text)
  })

  /** Ids that moto makes up are numbered in the order in which they appear, which is not that of their zones. */
  function steady(text: string): string {
    const names = new Map<string, string>()
    const numbered = (id: string, kind: string) => {
      if (!names.has(id)) names.set(id, kind + String(names.size + 1).padStart(id.length - kind.length, '0'))
      return names.get(id)!
    }
    return text
      .replaceAll(folder, 'FOLDER')
      .replace(/\b((?:vpc|subnet|sg|ami)-)[0-9a-f]{8,}/g, (id, kind: string) => numbered(id, kind))
      .replace(/(discovery=demo, eu-west-1)[ab]/g, '$1X')
      .replace(/\/id\/[0-9A-Za-z]+/g, '/id/ISSUER')
      .replace(/https?:\/\/(127\.0\.0\.1|localhost):\d+/g, 'https://SERVER')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
  }
})
