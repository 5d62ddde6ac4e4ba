// Terraform's own kubernetes backend decides about our layout: it reads the saved state and is locked out by our lock.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { conditionOf, type Lease, LeaseKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { leaseName, suffixOf } from '#engine'
import { anApply, aTemplate } from '#testing'
import { type EngineWorld, engineWorld, hasTerraform, isReady } from '../support/engine/world.ts'

if (hasTerraform) {
  describe('terraform by hand', () => {
    let world: EngineWorld
    before(async () => {
      world = await engineWorld()
      await world.manager()
    })
    after(() => world.close())
    const key = (name: string) => ({ namespace: 'default', name })
    const env = () => ({ ...process.env, CHECKPOINT_DISABLE: '1', KUBE_CONFIG_PATH: world.kubeconfig })

    const run = (folder: string, ...args: string[]) =>
      promisify(execFile)('terraform', args, { cwd: folder, env: env() })

    const byHand = async (name: string): Promise<string> => {
      const folder = join(world.folder, `by-hand-${name}`)
      mkdirSync(folder, { recursive: true })
      const backend = `terraform {\n  backend "kubernetes" {\n    secret_suffix = "${suffixOf(key(name))}"\n    namespace     = "default"\n    config_path   = "${world.kubeconfig}"\n  }\n}\n`
      writeFileSync(join(folder, 'main.tf'), backend)
      await run(folder, 'init', '-input=false')
      return folder
    }
    const leaseOf = (name: string) =>
      world.connection.objects.get<Lease>(LeaseKind, key(leaseName(suffixOf(key(name)))))

    it('reads what capt saved', async () => {
      const module = 'resource "terraform_data" "x" {\n  count = 2\n}\noutput "answer" { value = 42 }'
      await world.create(WorkspaceTemplate, aTemplate(module, {}, { name: 'shared' }))
      await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'shared' } }, { name: 'shared-1' }))
      await world.until('shared-1', isReady)
      const folder = await byHand('shared-1')
      assert.equal((await run(folder, 'state', 'list')).stdout, 'terraform_data.x[0]\nterraform_data.x[1]\n')
      assert.equal((await run(folder, 'output', '-raw', 'answer')).stdout, '42')
    })

    it('is locked out during a run, with the name of the holder', async () => {
      const module = 'resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "sleep 3"\n  }\n}'
      await world.create(WorkspaceTemplate, aTemplate(module, {}, { name: 'slow' }))
      // Before the run: it takes the lock at once, and even `init` reads the state.
      const folder = await byHand('slow')
      await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'slow' } }, { name: 'slow' }))
      await world.until('slow', (apply) => apply.status?.run?.phase === 'Apply')
      const planned = run(folder, 'plan', '-input=false', '-lock-timeout=0s', '-no-color')
      const { code, stderr } = await planned.then(
        () => ({ code: 0, stderr: '' }),
        (error: { code: number; stderr: string }) => error,
      )
      assert.equal(code, 1)
      assert.match(stderr, /Error acquiring the state lock/)
      assert.match(stderr, /Who:\s+capt@/)
      assert.match(stderr, /run .* of WorkspaceTemplateApply default\/slow/)
      const held = await leaseOf('slow')
      assert.ok(held?.spec?.renewTime, 'the lock has a heartbeat')
      await world.until('slow', isReady)
      assert.ok(!(await leaseOf('slow'))?.spec?.holderIdentity)
    })

    it("'s lock is never broken: the apply waits and shows the command that would", async () => {
      const name = 'guarded'
      await world.create(LeaseKind, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          ...key(leaseName(suffixOf(key(name)))),
          annotations: {
            'app.terraform.io/lock-info': JSON.stringify({
              ID: 'abc',
              Who: 'alice@laptop',
              Operation: 'OperationTypeApply',
            }),
          },
        },
        spec: { holderIdentity: 'abc' },
      } as Lease)
      await world.create(WorkspaceTemplate, aTemplate('output "x" { value = 1 }', {}, { name }))
      await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name } }, { name }))
      const { status } = await world.until(name, (apply) => conditionOf(apply, 'Ready')?.reason === 'StateLocked')
      const message = conditionOf({ status } as never, 'Ready')?.message ?? ''
      assert.match(message, /alice@laptop/)
      assert.match(message, /kubectl -n default patch lease/)
      assert.equal((await leaseOf(name))?.spec?.holderIdentity, 'abc')
      await world.connection.objects.patch(LeaseKind, key(leaseName(suffixOf(key(name)))), {
        type: 'merge',
        body: { spec: { holderIdentity: null } },
      })
      await world.until(name, isReady)
    })
  })
}
