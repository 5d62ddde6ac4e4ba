import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compareVersions } from '../version.ts'
import { strandedBy } from './lockstep.ts'
import { eksRows, supportRows, supports, versionsFor } from './matrix.ts'

const lines = eksRows()
  .map(({ line }) => line)
  .sort(compareVersions)
const neighbours = lines.slice(1).map((to, index) => [lines[index]!, to] as const)

describe('an upgrade of Kubernetes', () => {
  for (const [from, to] of neighbours)
    it(`from ${from} to ${to} strands exactly what does not support ${to}, and names a way across`, () => {
      for (const component of ['flux', 'karpenter'] as const)
        for (const { newest: version } of supportRows(component)) {
          const [stranded] = strandedBy(from, to, [{ component, version }])
          assert.equal(stranded === undefined, supports(component, version, to), `${component} ${version}`)
          if (stranded?.bridge === undefined) continue
          assert.ok(supports(component, stranded.bridge, from) && supports(component, stranded.bridge, to))
          assert.deepEqual(strandedBy(from, to, [{ component, version: stranded.bridge }]), [])
        }
    })

  it('has a way across for everything that capt installs, from the first version that both components support', () => {
    for (const [from, to] of neighbours.filter(([line]) => versionsFor('flux', line).length > 0))
      for (const component of ['flux', 'karpenter'] as const)
        for (const version of versionsFor(component, from))
          for (const { bridge } of strandedBy(from, to, [{ component, version }]))
            assert.ok(bridge, `${component} ${version} from ${from} to ${to}`)
  })

  it('says what the matrix says, with its source', () => {
    const [one] = strandedBy('1.35', '1.36', [{ component: 'karpenter', version: 'v1.12.0' }])
    assert.equal(one?.bridge, '1.14.1')
    assert.match(one.evidence, /^Karpenter 1\.12\.0 supports Kubernetes 1\.26 to 1\.35 \(https:\/\/karpenter\.sh\//)
  })

  it('does not hold a release that is newer than the matrix, and holds one that is older', () => {
    assert.deepEqual(strandedBy('1.35', '1.36', [{ component: 'flux', version: '2.99.0' }]), [])
    assert.equal(strandedBy('1.35', '1.36', [{ component: 'flux', version: '2.1.0' }]).length, 1)
  })
})
