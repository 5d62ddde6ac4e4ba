import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compareVersions, defaultVersionsFor, eksRows, fluxVersions, supports, versionsFor } from '#catalog'
import { isCaptError } from '#lib'
import { planUpgrade } from './plan.ts'
import type { ClusterState, ComponentState } from './state.ts'

const component = (
  name: 'flux' | 'karpenter',
  version: string,
  over: Partial<ComponentState> = {},
): ComponentState => ({
  component: name,
  version,
  stage: name,
  delivery: { namespace: 'default', name: 'demo' },
  isPinned: true,
  isForeign: false,
  state: 'Healthy',
  message: '',
  ...over,
})
const state = (kubernetes: string, components: readonly ComponentState[], over: Partial<ClusterState> = {}) => ({
  cluster: { namespace: 'default', name: 'demo' },
  controlPlane: { namespace: 'default', name: 'demo' },
  kubernetes,
  requested: kubernetes,
  hasTopology: false,
  isSettled: true,
  stops: [],
  components,
  ...over,
})
const inShort = (given: ClusterState, target?: string) =>
  planUpgrade(given, target).steps.map(({ name, to, by }) => `${name} ${to} ${by}`)

describe('the plan of an upgrade', () => {
  it('moves what Kubernetes would strand first, one minor version at a time', () => {
    assert.deepEqual(inShort(state('1.34', [component('flux', '2.7.5'), component('karpenter', '1.8.0')]), '1.36'), [
      'Flux 2.9.5 capt',
      'Karpenter 1.14.1 capt',
      'Kubernetes 1.35 capt',
      'Kubernetes 1.36 capt',
    ])
  })

  it('lets what nobody pinned follow by itself', () => {
    const free = { isPinned: false }
    assert.deepEqual(inShort(state('1.33', [component('flux', '2.8.8', free)]), '1.34'), [
      'Kubernetes 1.34 capt',
      'Flux 2.9.5 itself',
    ])
    assert.deepEqual(inShort(state('1.34', [component('flux', '2.8.8', free)]), '1.34'), ['Flux 2.9.5 itself'])
  })

  it('leaves what capt did not install to a person', () => {
    assert.deepEqual(inShort(state('1.35', [component('flux', '2.8.1', { isForeign: true })]), '1.36'), [
      'Flux 2.9.5 person',
      'Kubernetes 1.36 capt',
    ])
  })

  it('goes to the newest version that both support when none is given, and is empty there', () => {
    assert.equal(planUpgrade(state('1.35', []), undefined).to, '1.36')
    assert.deepEqual(inShort(state('1.36', [])), [])
  })

  it('writes where the version comes from', () => {
    const how = (over: Partial<ClusterState>) => planUpgrade(state('1.35', [], over), '1.36').steps[0]?.how
    assert.equal(how({}), 'spec.version of CAPTControlPlane demo')
    assert.equal(how({ hasTopology: true }), 'spec.topology.version of Cluster demo')
  })

  for (const [target, message] of [
    ['1.34', /EKS does not go back/],
    ['9.99', /is not in the version matrix/],
    ['soon', /is not a Kubernetes version/],
  ] as const)
    it(`refuses ${target}`, () => {
      assert.throws(
        () => planUpgrade(state('1.35', []), target),
        (error: unknown) => isCaptError(error) && error.code === 'CAPT_UPGRADE_REFUSED' && message.test(error.message),
      )
    })
})

describe('an upgrade through neighbouring rows of the matrix', () => {
  const lines = eksRows()
    .map(({ line }) => line)
    .filter((line) => versionsFor('flux', line).length > 0)
    .sort(compareVersions)
  for (const [index, to] of lines.slice(1).entries()) {
    const from = lines[index]!
    it(`from ${from} to ${to} never runs a combination that the matrix forbids`, () => {
      for (const flux of versionsFor('flux', from))
        for (const karpenter of versionsFor('karpenter', from))
          for (const isPinned of [true, false]) {
            const defaults = defaultVersionsFor(from, { fluxBundles: fluxVersions })
            const start = isPinned ? { flux, karpenter } : defaults
            let kubernetes = from
            const now: Record<string, string> = { ...start }
            const components = [
              component('flux', start.flux, { isPinned }),
              component('karpenter', start.karpenter, { isPinned }),
            ]
            for (const step of planUpgrade(state(from, components), to).steps) {
              assert.notEqual(step.by, 'person')
              if (step.what === 'kubernetes') kubernetes = step.to
              else now[step.what] = step.to
              for (const what of ['flux', 'karpenter'] as const)
                assert.ok(supports(what, now[what]!, kubernetes), `${what} ${now[what]} on ${kubernetes}`)
            }
            assert.equal(kubernetes, to)
          }
    })
  }
})
