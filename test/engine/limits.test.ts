// What a run leaves behind and what it does not: secrets nowhere, large things bounded, time limited.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  CANCEL_ANNOTATION,
  conditionOf,
  EventKind,
  RETRY_ANNOTATION,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { PART_LABEL, readLog, readRecord, recordName, suffixOf, WORKSPACE_LABEL } from '#engine'
import { collectingLog } from '#testing'
import { type EngineWorld, engineWorld, hasTerraform, isReady, isStalled } from '../support/engine/world.ts'
import { planted } from '../support/secrets/planted.ts'

if (hasTerraform) {
  describe('a run', { concurrency: 2 }, () => {
    let world: EngineWorld
    const managerLog = collectingLog()
    before(async () => {
      world = await engineWorld()
      await world.manager({ log: managerLog })
    })
    after(() => world.close())
    const key = (name: string) => ({ namespace: 'default', name })
    const make: EngineWorld['make'] = (...options) => world.make(...options)
    const happens = async (what: string, test: () => boolean | Promise<boolean>) => {
      const deadline = Date.now() + 180_000
      while (!(await test())) {
        assert.ok(Date.now() < deadline, `it never happened that ${what}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const logOf = async (name: string) => {
      const run = (await readRecord(world.connection.objects, key(name)))!.record.run!
      return (await readLog(world.connection.objects, key(name), run.id)) ?? ''
    }

    it('leaves no trace of a sensitive value where people look', async () => {
      const canary = planted(`${process.pid}-"q$%{x}`)
      const secret: Secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: key('hush'),
        data: {
          vars: Buffer.from(JSON.stringify({ password: canary })).toString('base64'),
          TOKEN: Buffer.from(`${canary}-token`).toString('base64'),
        },
      }
      await world.create(SecretKind, secret)
      const hold = join(world.folder, 'hush')
      writeFileSync(hold, '')
      const module = `
variable "password" { sensitive = true }
resource "terraform_data" "x" {
  input = var.password
  provisioner "local-exec" {
    command = "echo saying $TOKEN; ps -o args= -p $PPID; while test -f ${hold}; do sleep 0.1; done; echo bad: $TOKEN >&2; exit 1"
  }
}
output "password" {
  value     = var.password
  sensitive = true
}`
      await make(
        'hush',
        module,
        {
          varFiles: [{ source: 'SecretKey', format: 'JSON', secretKeyRef: { name: 'hush', key: 'vars' } }],
          env: [{ name: 'TOKEN', secretKeyRef: { name: 'hush', key: 'TOKEN' } }],
          enableTerraformCLILogging: true,
        },
        { retry: { limit: 0 } },
      )
      await world.until('hush', (apply) => apply.status?.run?.phase === 'Apply')
      const argv = execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
      const { objects } = world.connection
      const folder = join(world.workDir, 'workspaces', suffixOf(key('hush')))
      const plans = async () => {
        const found: string[] = []
        for await (const one of objects.list<Secret>(SecretKind, { namespace: 'default' }))
          if (
            one.metadata.labels?.[WORKSPACE_LABEL] === suffixOf(key('hush')) &&
            one.metadata.labels[PART_LABEL] === 'plan'
          )
            found.push(JSON.stringify(one))
        return found
      }
      await happens('the plan is stored', async () => (await plans()).length > 0)
      const stored = (await plans()).join()
      const report = readFileSync(join(folder, 'report.json'), 'utf8')
      rmSync(hold)
      await world.until('hush', isStalled)
      assert.deepEqual(await plans(), [], 'a plan, which knows every value, is gone with its run')

      const apply = JSON.stringify(
        (await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key('hush')))?.status,
      )
      const record = await objects.get<Secret>(SecretKind, key(recordName(suffixOf(key('hush')))))
      const recordText = Buffer.from(record!.data!['record']!, 'base64').toString()
      const events: string[] = []
      for await (const event of objects.list(EventKind, { namespace: 'default' })) events.push(JSON.stringify(event))
      const log = await logOf('hush')
      const manager = JSON.stringify(managerLog.lines)
      assert.match(manager, /saying …redacted…/, 'the manager logs what Terraform prints, as configured')
      const runner = readFileSync(join(folder, 'runner.log'), 'utf8')
      assert.match(log, /saying …redacted…/, 'the log says that something was left out')
      const shown = { argv, apply, recordText, events: events.join('\n'), log, manager, runner, report, stored }
      for (const [where, text] of Object.entries(shown)) {
        for (const form of [canary, JSON.stringify(canary).slice(1, -1), `canary-${process.pid}`]) {
          assert.ok(!text.includes(form), `${where} shows the value`)
        }
      }
      const loose = (readdirSync(folder, { recursive: true }) as string[]).filter(
        (path) =>
          statSync(join(folder, path)).isFile() && readFileSync(join(folder, path), 'utf8').includes(`${canary}-token`),
      )
      assert.deepEqual(loose, [], 'credentials are not on the disk when the run is over')
    })

    it('is ready after at most five requests from the end of Terraform on, also when its plan was stored', async () => {
      const hold = join(world.folder, 'lengthy')
      writeFileSync(hold, '')
      const command = `while test -f ${hold}; do sleep 0.1; done`
      await make(
        'lengthy',
        `resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "${command}"\n  }\n}`,
      )
      const asked = () =>
        world.requests
          .map(({ method, path }) => `${method} ${path.split('?')[0]}`)
          .filter((line) => line.includes('lengthy') && !/^GET .*workspacetemplateapplies\/lengthy$/.test(line))
      await happens('the plan is stored', () => asked().some((line) => /^DELETE .*\/capt-plan-/.test(line)))
      rmSync(hold)
      await world.until('lengthy', isReady)
      const all = asked()
      // The first save makes a Secret, and such a request does not name it: the read that follows it does.
      const saved = all.findLastIndex((line) => /^GET .*\/secrets\/tfstate-/.test(line)) - 1
      const reported = all.findLastIndex((line) => /^PATCH .*\/lengthy\/status$/.test(line))
      const between = all.slice(saved + 1, reported + 1)
      assert.ok(saved > 0 && reported > saved && between.length <= 5, between.join('\n'))
    })

    it('tags the resources of every provider, so that a sweep finds what no state holds', async () => {
      const module = `
resource "terraform_data" "x" {
  provisioner "local-exec" {
    interpreter = ["/usr/bin/env"]
    command     = "SHOWN=1"
  }
}`
      await make('tagged', module)
      await world.until('tagged', isReady)
      const { workspaceId } = (await readRecord(world.connection.objects, key('tagged')))!.record
      assert.ok((await logOf('tagged')).includes(`TF_AWS_DEFAULT_TAGS_capt-workspace=${workspaceId}`))
    })

    it('whose outputs do not fit into a Secret says so, and everything else is done', async () => {
      const module =
        'output "large" { value = join("", [for i in range(1024) : format("%01100d", i)]) }\noutput "small" { value = "here" }'
      await make('large', module, {}, { writeConnectionSecretToRef: { name: 'large-connection' } })
      const { status } = await world.until('large', isStalled)
      assert.equal(status?.lastError?.code, 'CAPT_OUTPUTS_TOO_LARGE')
      assert.deepEqual(status?.outputs, { small: 'here' }, 'the large one is not in the status either')
      assert.equal(status?.applied, true)
    })

    it('that prints a hundred thousand lines keeps a bounded log', async () => {
      const module =
        'resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "seq 1 100000; echo the last word"\n  }\n}'
      await make('chatty', module)
      await world.until('chatty', isReady)
      const log = await logOf('chatty')
      assert.ok(log.length < 4 * 1024 * 1024, `${log.length} characters`)
      assert.match(log, /left out/)
      assert.match(log, /the last word/)
    })

    it('that takes too long is stopped and stalls', async () => {
      const module = 'resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "sleep 60"\n  }\n}'
      await make('slow', module, {}, { timeout: '2s' })
      const { status } = await world.until('slow', isStalled)
      assert.equal(conditionOf({ status } as never, 'Ready')?.reason, 'TimedOut')
    })

    it('can be cancelled, and started again', async () => {
      const file = join(world.folder, 'quick')
      const module = `resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "test -f ${file} || sleep 60"\n  }\n}`
      await make('long', module)
      const { status } = await world.until('long', (apply) => apply.status?.run?.phase === 'Apply')
      const annotate = (annotations: object) =>
        world.connection.objects.patch(WorkspaceTemplateApply, key('long'), {
          type: 'merge',
          body: { metadata: { annotations } },
        })
      await annotate({ [CANCEL_ANNOTATION]: status?.run?.id })
      const cancelled = await world.until('long', isStalled)
      assert.equal(conditionOf(cancelled, 'Ready')?.reason, 'Cancelled')
      writeFileSync(file, '')
      await annotate({ [RETRY_ANNOTATION]: 'now' })
      await world.until('long', isReady)
    })

    it('takes a Remote module, a folder in it, and everything a template can say', async () => {
      const remote = join(world.folder, 'remote')
      mkdirSync(join(remote, 'env', 'prod'), { recursive: true })
      mkdirSync(join(remote, 'shared'), { recursive: true })
      writeFileSync(
        join(remote, 'shared', 'main.tf'),
        'variable "name" {}\noutput "greeting" { value = "hello ${var.name}" }\n',
      )
      writeFileSync(
        join(remote, 'env', 'prod', 'main.tf'),
        `variable "name" {}
variable "list" { type = list(string) }
variable "map" { type = map(number) }
variable "from_args" { default = "" }
variable "from_env" { default = "" }
module "shared" {
  source = "../../shared"
  name   = var.name
}
resource "terraform_data" "x" { input = var.name }
output "all" { value = [module.shared.greeting, var.list, var.map, var.from_args, var.from_env] }
`,
      )
      const forProvider = {
        source: 'Remote',
        entrypoint: 'env/prod',
        vars: [
          { key: 'list', value: '["${who}"]' },
          { key: 'name', value: '${who}' },
        ],
        varmap: { map: { a: 1 } },
        env: [{ name: 'TF_VAR_from_env', value: 'env-${who}' }],
        planArgs: ['-parallelism=2', '-var=from_args=arg'],
        applyArgs: ['-parallelism=2'],
        initArgs: ['-upgrade'],
        destroyArgs: ['-refresh=false'],
      }
      await make('remote', remote, forProvider, { variables: { who: 'you' } })
      const { status } = await world.until('remote', isReady)
      assert.deepEqual(status?.outputs?.['all'], ['hello you', ['you'], { a: 1 }, 'arg', 'env-you'])
      // The module is gone; its frozen copy is enough to destroy.
      execFileSync('rm', ['-rf', remote])
      await world.connection.objects.delete(WorkspaceTemplateApply, key('remote'))
      await world.untilGone('remote')
    })
  })
}
