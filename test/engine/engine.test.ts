// The life of an apply with real Terraform, against the embedded API: manifest in, run, status out.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { conditionOf, type Secret, SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { anApply, aTemplate } from '#testing'
import { type EngineWorld, engineWorld, hasTerraform, isReady, isStalled } from '../support/engine/world.ts'
import { planted } from '../support/secrets/planted.ts'

const MODULE = `
variable "size" {
  type    = number
  default = 1
}
resource "terraform_data" "x" {
  count = var.size
  input = "hello \${who}"
}
output "greeting" { value = terraform_data.x[0].output }
output "ids" { value = { count = length(terraform_data.x) } }
output "password" {
  value     = "${planted('')}\${who}"
  sensitive = true
}
`

if (hasTerraform) {
  describe('an apply', () => {
    let world: EngineWorld
    before(async () => {
      world = await engineWorld()
      await world.manager()
    })
    after(() => world.close())
    const key = (name: string) => ({ namespace: 'default', name })

    it('runs Terraform and reports the outcome', async () => {
      await world.create(WorkspaceTemplate, aTemplate(MODULE, {}, { name: 'hello' }))
      await world.create(
        WorkspaceTemplateApply,
        anApply(
          {
            templateRef: { name: 'hello' },
            variables: { who: 'world' },
            values: { size: 3 },
            writeConnectionSecretToRef: { name: 'hello-connection' },
          },
          { name: 'hello-apply' },
        ),
      )
      const { status } = await world.until('hello-apply', isReady)
      assert.partialDeepStrictEqual(status, {
        workspaceName: 'hello',
        applied: true,
        phase: 'Applied',
        plan: { add: 3, change: 0, destroy: 0, replace: 0 },
        outputs: { greeting: 'hello world', ids: { count: 3 } },
        state: { resources: 3 },
        attempts: 1,
        run: { verb: 'apply', phase: 'Succeeded', attempt: 1 },
      })
      assert.equal(status?.outputs?.['password'], undefined, 'a sensitive output stays out of the status')
      assert.equal(status?.appliedHash, status?.observedHash)
      assert.equal(conditionOf({ status } as never, 'Synced')?.status, 'True')

      const secret = await world.connection.objects.get<Secret>(SecretKind, key('hello-connection'))
      const text = (name: string) => Buffer.from(secret!.data![name]!, 'base64').toString()
      assert.equal(text('password'), planted('world'))
      assert.equal(text('greeting'), 'hello world')
      assert.equal(text('ids'), '{"count":3}')
    })

    it('is ready after at most five requests from the end of Terraform on', async () => {
      const asked = world.requests
        .filter(({ path }) => !path.includes('watch=true'))
        .map(({ method, path }) => `${method} ${path.split('?')[0]}`)
        .filter((line) => !/^GET .*workspacetemplateapplies\/hello-apply$/.test(line))
      // The last Secret that is made is the connection Secret; the one before it is the state.
      const connection = asked.findLastIndex((line) => /^POST .*\/secrets$/.test(line))
      const saved = asked
        .slice(0, connection)
        .findLastIndex((line) => /^(PATCH .*\/secrets\/tfstate-|POST .*\/secrets$)/.test(line))
      const reported = asked.findIndex(
        (line, i) =>
          i > saved &&
          /^PATCH .*\/hello-apply\/status$/.test(line) &&
          /lock-tfstate/.test(asked.slice(saved, i).join()),
      )
      const between = asked.slice(saved + 1, reported + 1)
      // A word of progress may have been on its way when Terraform ended: it is not part of the end.
      const progress = between.slice(0, -1).filter((line) => /^PATCH .*\/hello-apply\/status$/.test(line))
      assert.ok(progress.length <= 1, between.join('\n'))
      assert.ok(reported > saved && between.length - progress.length <= 5, between.join('\n'))
    })

    it('does nothing at all when the same object is applied again', async () => {
      const { objects } = world.connection
      const live = (await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key('hello-apply')))!
      const from = world.requests.length
      await objects.patch(WorkspaceTemplateApply, key('hello-apply'), {
        type: 'merge',
        body: { spec: { variables: { who: 'world' } } },
      })
      await new Promise((resolve) => setTimeout(resolve, 400))
      const asked = world.requests.slice(from).filter(({ path }) => !path.includes('watch=true'))
      assert.deepEqual(
        asked.map(({ method }) => method),
        ['PATCH'],
        'our own patch is the only request',
      )
      const now = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key('hello-apply'))
      assert.equal(now?.metadata.resourceVersion, live.metadata.resourceVersion)
    })

    it('causes no request while it is idle', async () => {
      const from = world.requests.length
      await new Promise((resolve) => setTimeout(resolve, 1000))
      assert.deepEqual(world.requests.slice(from), [])
    })

    it('runs again when a variable changes', async () => {
      const before = await world.until('hello-apply', isReady)
      await world.connection.objects.patch(WorkspaceTemplateApply, key('hello-apply'), {
        type: 'merge',
        body: { spec: { variables: { who: 'you' } } },
      })
      const after = await world.until(
        'hello-apply',
        (apply) => isReady(apply) && apply.status?.outputs?.['greeting'] === 'hello you',
      )
      assert.notEqual(after.status?.run?.id, before.status?.run?.id)
      assert.notEqual(after.status?.appliedHash, before.status?.appliedHash)
    })

    it('applies a change of its template', async () => {
      await world.connection.objects.patch(WorkspaceTemplate, key('hello'), {
        type: 'merge',
        body: { spec: { template: { spec: { forProvider: { module: MODULE.replace('hello', 'good morning') } } } } },
      })
      await world.until(
        'hello-apply',
        (apply) => isReady(apply) && apply.status?.outputs?.['greeting'] === 'good morning you',
      )
    })

    it('stalls on a template that is not Terraform, and names the place', async () => {
      await world.create(
        WorkspaceTemplate,
        aTemplate('output "x" {\n  value = nonsense.y\n}\n', {}, { name: 'broken' }),
      )
      await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'broken' } }, { name: 'broken' }))
      const { status } = await world.until('broken', isStalled)
      assert.equal(status?.lastError?.kind, 'user')
      assert.match(status?.lastError?.message ?? '', /main\.tf:2/)
      assert.match(conditionOf({ status } as never, 'Ready')?.message ?? '', /correct the template/)
    })

    it('says which variable is missing', async () => {
      const vars = [{ key: 'size', value: '${nobody}' }]
      await world.create(WorkspaceTemplate, aTemplate(MODULE, { vars }, { name: 'open' }))
      await world.create(
        WorkspaceTemplateApply,
        anApply({ templateRef: { name: 'open' }, variables: { who: 'x' } }, { name: 'open' }),
      )
      const { status } = await world.until('open', isStalled)
      const ready = conditionOf({ status } as never, 'Ready')
      assert.equal(ready?.reason, 'VariableUnresolved')
      assert.match(ready?.message ?? '', /\$\{nobody\}/)
    })

    it('destroys what it made and leaves nothing behind', async () => {
      await world.connection.objects.delete(WorkspaceTemplateApply, key('hello-apply'))
      await world.untilGone('hello-apply')
      const left: string[] = []
      for await (const secret of world.connection.objects.list(SecretKind, { namespace: 'default' })) {
        if (secret.metadata.name.includes('hello')) left.push(secret.metadata.name)
      }
      assert.deepEqual(left, [])
    })

    it('keeps a template that is in use until nothing uses it', async () => {
      const { objects } = world.connection
      await objects.delete(WorkspaceTemplate, key('broken'))
      const kept = await objects.get<WorkspaceTemplate>(WorkspaceTemplate, key('broken'))
      assert.ok(kept?.metadata.deletionTimestamp)
      await objects.delete(WorkspaceTemplateApply, key('broken'))
      await world.untilGone('broken')
      for (let i = 0; i < 100 && (await objects.get(WorkspaceTemplate, key('broken'))); i++) {
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      assert.equal(await objects.get(WorkspaceTemplate, key('broken')), undefined)
    })
  })
}
