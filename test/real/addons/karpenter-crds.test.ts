// What the converter and the catalogue write, checked by the real CRDs of Karpenter on a real API server. The CRDs come from
// the Go module proxy into Go's own cache; unknown fields count as errors, because the server would drop them in silence.
// Needs CAPT_REAL_KUBECONFIG: a kubeconfig of a throw-away server.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { defaultNodeClass, defaultNodePool, eksRows, rowFor, supports } from '#catalog'
import { convert, readManifests } from '#karpenter'
import { awsDefinitions } from '../support/karpenter-definitions.ts'
import { prove } from '../support/proofs.ts'

/** The newest release, and the oldest with the v1 API that the proxy has; between them what it has of the other eras. */
const VERSIONS = ['1.14.1', '1.6.3', '1.3.3', '1.0.8']
/** Nothing chooses an image by itself. */
const IMAGE = 'al2023@v20261102'
const DATA = join(import.meta.dirname, '../../../src/karpenter/convert/testdata')

let kubeconfig: string

before(() => {
  kubeconfig = process.env['CAPT_REAL_KUBECONFIG'] ?? ''
  assert.ok(kubeconfig, 'set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')
})

function kubectl(args: readonly string[], input?: string): string {
  return execFileSync('kubectl', [`--kubeconfig=${kubeconfig}`, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    maxBuffer: 64 << 20,
    ...(input === undefined ? {} : { input }),
  })
}

const toYaml = (objects: readonly object[]) =>
  objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n')
const tryToApply = (objects: readonly object[]) =>
  kubectl(['create', '--dry-run=server', '--validate=strict', '-o', 'name', '-f', '-'], toYaml(objects))

function removeDefinitions(): void {
  kubectl([
    'delete',
    'crd',
    'nodepools.karpenter.sh',
    'ec2nodeclasses.karpenter.k8s.aws',
    '--ignore-not-found',
    '--timeout=240s',
  ])
}

function converted(name: string, options: Parameters<typeof convert>[1] = {}): readonly object[] {
  const { objects, findings } = convert(
    readManifests({ name, text: readFileSync(join(DATA, `${name}.yaml`), 'utf8') }),
    options,
  )
  assert.ok(objects.length > 0, JSON.stringify(findings))
  return objects
}

const BOTH = /ec2nodeclass\S*\n[\s\S]*nodepool\S*\n/

for (const version of VERSIONS) {
  describe(`the real CRDs of Karpenter ${version}`, () => {
    before(() => {
      removeDefinitions()
      kubectl(['create', '-f', '-'], awsDefinitions(version).join('\n---\n'))
      kubectl([
        'wait',
        '--for=condition=Established',
        '--timeout=240s',
        'crd/nodepools.karpenter.sh',
        'crd/ec2nodeclasses.karpenter.k8s.aws',
      ])
    })
    after(removeDefinitions)

    it('accept the Provisioner of the module guide, converted', () =>
      assert.match(tryToApply(converted('ops-provisioner', { role: 'KarpenterNodeRole-demo', amiAlias: IMAGE })), BOTH))

    it('accept the Provisioner of the installation guide, converted, with and without placeholders', () => {
      assert.match(
        tryToApply(converted('default-provisioner', { role: 'r', variables: { CLUSTER_NAME: 'demo' } })),
        BOTH,
      )
      assert.match(tryToApply(converted('default-provisioner')), BOTH)
    })

    it('accept converted v1beta1 objects', () => {
      assert.match(tryToApply(converted('beta')), BOTH)
      prove('Karpenter CRDs', version, 'converted v1alpha5 and v1beta1 objects are accepted')
    })

    it('accept the default pool of every Kubernetes version this release supports', () => {
      const lines = eksRows()
        .map(({ line }) => line)
        .filter((line) => supports('karpenter', version, line))
      assert.ok(lines.length > 0 && rowFor('karpenter', version))
      for (const line of lines) {
        const spec = { clusterName: `demo-${line.replace('.', '-')}`, role: 'KarpenterNodeRole-demo', amiAlias: IMAGE }
        assert.match(tryToApply([defaultNodeClass(spec), defaultNodePool(spec)]), BOTH)
      }
      prove('Karpenter CRDs', version, 'default node pools are accepted', `${lines.length} Kubernetes versions`)
    })

    it('accept a pool with everything set', () => {
      const spec = {
        name: 'ops',
        clusterName: 'demo',
        instanceProfile: 'p',
        zones: ['eu-west-1a'],
        capacityTypes: ['spot', 'on-demand'],
        architectures: ['arm64', 'amd64'],
        labels: { role: 'ops' },
        taints: [{ key: 'role', value: 'ops', effect: 'NoSchedule' }],
        tags: { team: 'a' },
        cpuLimit: '100',
        expireAfter: '720h',
        consolidationPolicy: 'WhenEmpty',
        consolidateAfter: '30s',
        amiAlias: 'bottlerocket@v1.40.0',
      } as const
      assert.match(tryToApply([defaultNodeClass(spec), defaultNodePool(spec)]), BOTH)
    })

    it('accept what capt refuses: that is why capt looks itself', () => {
      const spec = { clusterName: 'demo', role: 'r', amiAlias: IMAGE }
      const base = defaultNodeClass(spec)
      const joined = { ...base, spec: { ...base.spec, subnetSelectorTerms: [{ id: 'subnet-a,subnet-b' }] } }
      const pool = defaultNodePool(spec)
      const template = pool.spec['template'] as { spec: object }
      const categories = {
        ...pool,
        spec: {
          ...pool.spec,
          template: {
            ...template,
            spec: {
              ...template.spec,
              requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['c', 't', 'm'] }],
            },
          },
        },
      }
      assert.match(tryToApply([joined, categories]), BOTH)
      const text = toYaml([joined, categories])
      assert.deepEqual(convert(readManifests({ name: 'x', text })).objects, [])
    })

    it('refuse what the table of the converter says they refuse', () => {
      const spec = { clusterName: 'demo', role: 'r', amiAlias: IMAGE }
      const nodeClass = defaultNodeClass(spec)
      const pool = defaultNodePool(spec)
      const refused: readonly object[] = [
        { ...nodeClass, spec: { ...nodeClass.spec, instanceProfile: 'both' } },
        { ...nodeClass, spec: { ...nodeClass.spec, amiFamily: 'Ubuntu' } },
        { ...nodeClass, spec: { ...nodeClass.spec, tags: { 'karpenter.sh/nodepool': 'x' } } },
        { ...pool, spec: { ...pool.spec, weight: 0 } },
        { ...pool, spec: { ...pool.spec, limits: { resources: { cpu: '1' } } } },
      ]
      for (const object of refused) assert.throws(() => tryToApply([object]), /is invalid|Invalid value|unknown field/)
    })
  })
}
