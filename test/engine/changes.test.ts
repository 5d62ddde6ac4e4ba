// What changes after a success reaches Terraform: contents of ConfigMaps and Secrets, the version of a module. (A
// variable and the template itself are in engine.test.ts.) And what is wrong with a value is said of its variable.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ConfigMapKind, conditionOf, SecretKind, WorkspaceTemplateApply } from '#api'
import { type EngineWorld, engineWorld, hasTerraform, isReady, isStalled } from '../support/engine/world.ts'

const SIZED = `
variable "size" {
  type = number
  validation {
    condition     = var.size < 3
    error_message = "At most two."
  }
}
output "size" { value = var.size }
`

if (hasTerraform) {
  describe('a change', { concurrency: 2 }, () => {
    let world: EngineWorld
    before(async () => {
      world = await engineWorld()
      await world.manager()
    })
    after(() => world.close())
    const key = (name: string) => ({ namespace: 'default', name })
    const make: EngineWorld['make'] = (...options) => world.make(...options)
    const says = (name: string, output: string, value: unknown) =>
      world.until(name, (apply) => isReady(apply) && apply.status?.outputs?.[output] === value)

    it('of a ConfigMap with variables reaches Terraform, though no event announces it', async () => {
      const vars = (size: number) => ({ data: { vars: `size = ${size}\n` } })
      await world.create(ConfigMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata: key('sizes'), ...vars(1) })
      const varFiles = [{ source: 'ConfigMapKey', format: 'HCL', configMapKeyRef: { name: 'sizes', key: 'vars' } }]
      await make('from-config', SIZED, { varFiles })
      await says('from-config', 'size', 1)
      await world.connection.objects.patch(ConfigMapKind, key('sizes'), { type: 'merge', body: vars(2) })
      await says('from-config', 'size', 2)
    })

    it('of a Secret mends an apply that its value had stopped, and the error names the variable', async () => {
      const vars = (size: number) => ({ data: { vars: Buffer.from(JSON.stringify({ size })).toString('base64') } })
      await world.create(SecretKind, { apiVersion: 'v1', kind: 'Secret', metadata: key('sizes'), ...vars(7) })
      const varFiles = [{ source: 'SecretKey', format: 'JSON', secretKeyRef: { name: 'sizes', key: 'vars' } }]
      await make('from-secret', SIZED, { varFiles })
      const { status } = await world.until('from-secret', isStalled)
      assert.equal(status?.lastError?.address, 'var.size')
      const message = conditionOf({ status } as never, 'Ready')?.message ?? ''
      assert.match(message, /var\.size.*At most two/)
      assert.ok(!message.includes(world.folder), message)
      await world.connection.objects.patch(SecretKind, key('sizes'), { type: 'merge', body: vars(2) })
      await says('from-secret', 'size', 2)
    })

    it('of the version of a module reaches Terraform', async () => {
      const repository = join(world.folder, 'module.git')
      mkdirSync(repository)
      const git = (...args: string[]) =>
        execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
          cwd: repository,
          stdio: 'pipe',
        })
      git('init', '--quiet')
      for (const version of ['v1', 'v2']) {
        writeFileSync(join(repository, 'main.tf'), `output "version" { value = "${version}" }\n`)
        git('add', '.')
        git('commit', '--quiet', '--message', version)
        git('tag', version)
      }
      const address = `git::file://${repository}?ref=`
      const inner = `module "inner" {\n  source = "${address}\${version}"\n}\noutput "version" { value = module.inner.version }\n`
      await make('of-remote', `${address}\${version}`, { source: 'Remote' }, { variables: { version: 'v1' } })
      await make('of-inline', inner, {}, { variables: { version: 'v1' } })
      for (const name of ['of-remote', 'of-inline']) {
        await says(name, 'version', 'v1')
        await world.connection.objects.patch(WorkspaceTemplateApply, key(name), {
          type: 'merge',
          body: { spec: { variables: { version: 'v2' } } },
        })
        await says(name, 'version', 'v2')
      }
    })
  })
}
