import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideVersion } from '../../../src/controllers/control-plane/decide-version.ts'
import type { Delivery, ObservedComponent } from '../../../src/controllers/control-plane/observe.ts'
import { anObservedPlane } from '../../support/cluster/observed.ts'

const running = (component: 'flux' | 'karpenter', version: string, more: Partial<ObservedComponent> = {}) => ({
  component,
  version,
  isMoving: false,
  ...more,
})
const delivery = (components: readonly ObservedComponent[]): Delivery => ({
  name: 'demo',
  pipeline: { namespace: 'capt-system', name: 'default' },
  tornDown: false,
  mayBeDelivered: true,
  message: '',
  components,
})

function decide(target: string, components: readonly ObservedComponent[], isRequested = false) {
  const base = anObservedPlane({ spec: { version: target, workspaceTemplateRef: { name: 'eks' } } })
  const variables = { ...base.apply!.spec.variables, kubernetes_version: isRequested ? target : '1.35' }
  return decideVersion(
    {
      ...base,
      apply: { ...base.apply!, spec: { ...base.apply!.spec, variables } } as typeof base.apply,
      facts: { ...base.facts, outputs: { ...base.facts.outputs, cluster_version: '1.35' } },
      deliveries: [delivery(components)],
    },
    {},
  )
}

describe('a Kubernetes upgrade', () => {
  for (const [what, components, reason, text] of [
    ['goes on without add-ons', [], undefined, /^$/],
    [
      'goes on when everything supports it',
      [running('flux', '2.9.5'), running('karpenter', '1.14.1')],
      undefined,
      /^$/,
    ],
    [
      'is held by a Karpenter that does not support it',
      [running('karpenter', '1.12.0')],
      'AddonsNotReady',
      /first upgrade Karpenter to 1\.14\.1, then Kubernetes goes to 1\.36 by itself; capt upgrade plan demo/,
    ],
    [
      'is held by both, in order',
      [running('flux', '2.8.8'), running('karpenter', '1.12.0')],
      'AddonsNotReady',
      /first upgrade Flux to 2\.9\.5, then upgrade Karpenter to 1\.14\.1, then/,
    ],
    [
      'is held by a Flux of others',
      [running('flux', '2.8.1', { isForeign: true })],
      'AddonsNotReady',
      /upgrade Flux to 2\.9\.5 where it was installed from/,
    ],
    [
      'waits for one that is being upgraded',
      [running('karpenter', '1.14.1', { isMoving: true })],
      'AddonsChanging',
      /waits until Karpenter 1\.14\.1 is seen to work/,
    ],
  ] as const)
    it(what, () => {
      const decision = decide('1.36', components)
      const { reason: found, message = '', hint = '' } = (decision ?? {}) as Record<string, string>
      assert.equal(found, reason)
      assert.match(reason === undefined ? '' : `${message} ${hint}`, text)
    })

  it('that is already written is not held', () => {
    assert.equal(decide('1.36', [running('karpenter', '1.12.0')], true), undefined)
  })
})

describe('an EKS add-on', () => {
  const decideAddon = (running: unknown, version: string | undefined) => {
    const addons = [{ name: 'vpc-cni', ...(version ? { version } : {}) }]
    const base = anObservedPlane({
      spec: { version: '1.35', workspaceTemplateRef: { name: 'eks' }, controlPlaneConfig: { addons } as never },
    })
    const outputs = { cluster_version: '1.35', addon_versions: { 'vpc-cni': running } } as never
    return (decideVersion({ ...base, facts: { ...base.facts, outputs } }, {}) as { reason?: string } | undefined)
      ?.reason
  }
  for (const [now, asked, reason] of [
    ['v1.20.0-eksbuild.2', 'v1.19.6-eksbuild.9', 'AddonDowngradeRefused'],
    ['v1.20.0-eksbuild.2', 'v1.20.0-eksbuild.1', 'AddonDowngradeRefused'],
    ['v1.20.0-eksbuild.2', 'v1.20.0-eksbuild.2', undefined],
    ['v1.20.0-eksbuild.2', 'v1.20.1-eksbuild.1', undefined],
    ['v1.20.0-eksbuild.2', undefined, undefined],
    ['not a version', 'v1.0.0', undefined],
  ] as const)
    it(`at ${now} ${reason ? 'does not go' : 'may go'} to ${asked ?? 'what the template chooses'}`, () => {
      assert.equal(decideAddon(now, asked), reason)
    })
})

describe('values for further variables of the template', () => {
  const reasonOf = (values: object, config: object = {}) => {
    const controlPlaneConfig = { values, ...config } as never
    const spec = { version: '1.35', workspaceTemplateRef: { name: 'eks' }, controlPlaneConfig }
    return (decideVersion(anObservedPlane({ spec }), {}) as { reason?: string } | undefined)?.reason
  }
  it('are refused where a field of the control plane sets them', () => {
    assert.equal(reasonOf({ identity: 'irsa' }), undefined)
    assert.equal(reasonOf({ identity: 'irsa', cluster_name: 'other' }), 'ValueReserved')
    assert.equal(reasonOf({ auto_mode: true }), 'ValueReserved')
    assert.equal(reasonOf({ identity: 'irsa' }, { karpenter: { namespace: 'karpenter' } }), undefined)
    assert.equal(reasonOf({ identity: 'irsa' }, { karpenter: { identity: 'IRSA' } }), 'ValueReserved')
  })
})
