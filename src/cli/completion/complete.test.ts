import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { COMMANDS } from '../commands.generated.ts'
import { complete, type Lookup } from './complete.ts'

const lookup: Lookup = {
  namesOf: async (word, values) => {
    if (word === 'clusters' || word === 'cluster') return values['namespace'] === 'shop' ? ['shop'] : ['demo', 'dev']
    return word.startsWith('w') ? ['demo-vpc'] : []
  },
  namespaces: async () => ['default', 'shop'],
  contexts: async () => ['home'],
  codes: async () => ['CAPT_INVALID', 'CAPT_USAGE'],
}

describe('Completion', () => {
  for (const [line, expected] of [
    ['desc', ['describe']],
    ['karpenter con', ['convert']],
    ['get clus', ['clusters', 'clusterresourcesets']],
    ['get clusters d', ['demo', 'dev']],
    ['get clusters demo d', ['demo', 'dev']],
    ['get clusters -n shop ', ['shop']],
    ['-n shop get clusters ', ['shop']],
    ['get wtapply/d', ['wtapply/demo-vpc']],
    ['get -n s', ['shop']],
    ['get clusters -o j', ['json', 'jsonpath=']],
    ['get clusters --output=y', ['--output=yaml']],
    ['get clusters --output = y', ['yaml']],
    ['get --all', ['--all-namespaces']],
    ['logs de', ['demo-vpc', 'demo', 'dev']],
    ['state re', ['restore']],
    ['state list ', ['demo-vpc']],
    ['kubeconfig ', ['demo', 'dev']],
    ['explain CAPT_I', ['CAPT_INVALID']],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['doctor de', ['demo', 'dev']],
    ['get --context ', ['home']],
    ['__comp', []],
    ['cancel demo-vpc ', []],
    ['nothing ', []],
  ] as const)
    it(`of "${line}"`, async () => {
      const found = await complete(line.split(' '), COMMANDS, lookup)
      assert.ok(found !== 'files')
      assert.deepEqual(
        found.map(({ text }) => text),
        expected,
      )
    })

  for (const line of ['apply -f ', 'up --data ', 'karpenter convert ', 'get --kubeconfig '])
    it(`leaves files to the shell: "${line}"`, async () =>
      assert.equal(await complete(line.split(' '), COMMANDS, lookup), 'files'))
})
