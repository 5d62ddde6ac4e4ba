// Deletion always ends: one test for each thing that may be gone or wrong by then.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  ConfigMapKind,
  conditionOf,
  LeaseKind,
  NamespaceKind,
  type Secret,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { stateName, suffixOf } from '#engine'
import { type EngineWorld, engineWorld, hasTerraform, isReady, isStalled } from '../support/engine/world.ts'

if (hasTerraform) {
  describe('deletion ends', { concurrency: 2 }, () => {
    let world: EngineWorld
    before(async () => {
      world = await engineWorld()
      await world.manager()
    })
    after(() => world.close())
    const key = (name: string, namespace = 'default') => ({ namespace, name })
    const file = (name: string) => join(world.folder, name)
    const remove = (name: string) => world.connection.objects.delete(WorkspaceTemplateApply, key(name))

    /** One resource that writes down its end, so that a test knows it was really destroyed. */
    const module = (name: string, more = '') => `
resource "terraform_data" "x" {
  input = { file = ${JSON.stringify(file(name))} }
  provisioner "local-exec" {
    when    = destroy
    command = "echo gone >> \${self.input.file}"
  }
}
${more}`
    const isGone = (name: string) => readFileSync(file(name), 'utf8') === 'gone\n'
    const make = (name: string, text = module(name), forProvider = {}, spec = {}, namespace = 'default') =>
      world.make(name, text, forProvider, spec, namespace)

    it('when the template is gone', async () => {
      await make('no-template')
      await world.until('no-template', isReady)
      const { objects } = world.connection
      await objects.delete(WorkspaceTemplate, key('no-template'))
      await objects.patch(WorkspaceTemplate, key('no-template'), {
        type: 'merge',
        body: { metadata: { finalizers: null } },
      })
      assert.equal(await objects.get(WorkspaceTemplate, key('no-template')), undefined)
      await remove('no-template')
      await world.untilGone('no-template')
      assert.ok(isGone('no-template'))
    })

    it('when the source of a variable is gone', async () => {
      const configMap = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: key('settings'),
        data: { vars: 'who = "me"\n' },
      }
      await world.create(ConfigMapKind, configMap)
      const varFiles = [{ source: 'ConfigMapKey', format: 'HCL', configMapKeyRef: { name: 'settings', key: 'vars' } }]
      await make('no-source', module('no-source', 'variable "who" {}\noutput "who" { value = var.who }'), { varFiles })
      const { status } = await world.until('no-source', isReady)
      assert.equal(status?.outputs?.['who'], 'me')
      await world.connection.objects.delete(ConfigMapKind, key('settings'))
      await remove('no-source')
      await world.untilGone('no-source')
      assert.ok(isGone('no-source'))
    })

    it('when the credentials were wrong, as soon as they are right', async () => {
      const token = (text: string): Secret => ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: key('cloud'),
        data: { HCLOUD_TOKEN: Buffer.from(text).toString('base64') },
      })
      await world.create(SecretKind, token('right-one'))
      const text = module('wrong-keys').replace(
        '"echo gone',
        '"[ \\"$HCLOUD_TOKEN\\" = right-one ] || { echo ExpiredToken: renew it >&2; exit 1; }; echo gone',
      )
      await make('wrong-keys', text, {}, { credentialsRef: { name: 'cloud' } })
      await world.until('wrong-keys', isReady)
      const { objects } = world.connection
      const kept = await objects.get<Secret>(SecretKind, key('cloud'))
      assert.ok(kept?.metadata.finalizers?.length, 'credentials in use are held')
      await objects.patch(SecretKind, key('cloud'), { type: 'merge', body: { data: token('wrong-one').data } })
      await remove('wrong-keys')
      const { status } = await world.until('wrong-keys', isStalled)
      assert.equal(conditionOf({ status } as never, 'Ready')?.reason, 'CredentialsRejected')
      assert.match(conditionOf({ status } as never, 'Ready')?.message ?? '', /renew the credentials/)
      await objects.patch(SecretKind, key('cloud'), { type: 'merge', body: { data: token('right-one').data } })
      await world.untilGone('wrong-keys')
      assert.ok(isGone('wrong-keys'))
      const free = await objects.get<Secret>(SecretKind, key('cloud'))
      assert.equal(free?.metadata.finalizers?.length ?? 0, 0, 'nothing holds the credentials any more')
    })

    it('when nothing was ever made', async () => {
      await make('never', 'this is not terraform')
      await world.until('never', isStalled)
      await remove('never')
      await world.untilGone('never')
    })

    it('when the template has become one that cannot be planned', async () => {
      await make('unplannable')
      await world.until('unplannable', isReady)
      await world.connection.objects.patch(WorkspaceTemplate, key('unplannable'), {
        type: 'merge',
        body: { spec: { template: { spec: { forProvider: { module: 'this is not terraform' } } } } },
      })
      await world.until('unplannable', isStalled)
      await remove('unplannable')
      await world.untilGone('unplannable')
      assert.ok(isGone('unplannable'))
    })

    it('when something it reads cannot be read any more', async () => {
      writeFileSync(
        file('other.tfstate'),
        JSON.stringify({ version: 4, serial: 1, lineage: 'x', outputs: {}, resources: [] }),
      )
      const data = `data "terraform_remote_state" "other" {\n  backend = "local"\n  config  = { path = ${JSON.stringify(file('other.tfstate'))} }\n}`
      await make('unreadable', module('unreadable', data))
      await world.until('unreadable', isReady)
      rmSync(file('other.tfstate'))
      await remove('unreadable')
      await world.untilGone('unreadable')
      assert.ok(isGone('unreadable'))
    })

    it('when the state is empty already', async () => {
      await make('empty', 'output "x" { value = 1 }')
      await world.until('empty', isReady)
      await remove('empty')
      await world.untilGone('empty')
    })

    it('when its namespace is being deleted, and nothing is left behind', async () => {
      const { objects } = world.connection
      const namespace = 'going'
      await world.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      await make('last', module('last'), {}, {}, namespace)
      const deadline = Date.now() + 180_000
      const find = () => objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key('last', namespace))
      for (let found = await find(); !found || !isReady(found); found = await find()) {
        assert.ok(Date.now() < deadline, 'it must become ready first')
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      await objects.delete(NamespaceKind, { name: namespace })
      while (await objects.get(NamespaceKind, { name: namespace })) {
        assert.ok(Date.now() < deadline, `the namespace does not end: ${JSON.stringify((await find())?.status)}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      assert.ok(isGone('last'))
    })

    it('and keeps infrastructure and state when asked to', async () => {
      const { objects } = world.connection
      await make('kept', module('kept'), {}, { retainWorkspaceOnDelete: true })
      await world.until('kept', isReady)
      await remove('kept')
      await world.untilGone('kept')
      const suffix = suffixOf(key('kept'))
      const state = await objects.get<Secret>(SecretKind, key(stateName(suffix)))
      assert.ok(state, 'the state stays')
      assert.equal(state.metadata.ownerReferences?.length ?? 0, 0, 'nothing collects it')
      assert.equal(await objects.get(LeaseKind, key(`lock-${stateName(suffix)}`)), undefined)
      assert.throws(() => isGone('kept'), 'nothing was destroyed')
    })

    it('in the order of dependencies, dependents first', async () => {
      const log = file('order')
      const text = (name: string) => module(name).replace('echo gone', `echo ${name} >> ${log}; echo gone`)
      await make('ground', text('ground'))
      await make('house', text('house'), {}, { waitForWorkspaces: [{ name: 'ground' }] })
      await world.until('house', isReady)
      await remove('ground')
      await world.until('ground', (apply) => conditionOf(apply, 'Ready')?.reason === 'DependentsExist')
      await remove('house')
      await world.untilGone('house')
      await world.untilGone('ground')
      assert.equal(readFileSync(log, 'utf8'), 'house\nground\n')
    })
  })
}
