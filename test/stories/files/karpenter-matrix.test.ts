// capt matrix, capt matrix check and capt explain as a person runs them.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { SYMPTOMS } from '#catalog'
import { generatedFiles } from '../../../scripts/generated.ts'
import { command as explain } from '../../../src/cli/commands/versions/explain.ts'
import { command as matrix } from '../../../src/cli/commands/versions/matrix.ts'
import { command as check } from '../../../src/cli/commands/versions/matrix-check.ts'
import { parseErrorPages } from '../../../src/cli/error-pages.ts'
import { capt } from '../../support/karpenter-io.ts'

const root = join(import.meta.dirname, '../../..')

describe('capt matrix', () => {
  it('shows what runs where, as of today', async () => {
    const { code, stdout } = await capt(matrix, [], { today: '2026-11-15' })
    assert.equal(code, 0)
    assert.equal(
      stdout,
      [
        'KUBERNETES   EKS SUPPORT                 FLUX                  KARPENTER',
        '1.36         standard until 2027-08-02   2.9.5                 1.14.1, from 1.13 on',
        '1.35         standard until 2027-03-27   2.9.5, 2.8.8          1.14.1, from 1.9 on',
        '1.34         standard until 2026-12-02   2.9.5, 2.8.8, 2.7.5   1.14.1, from 1.6 on',
        '1.33         extended until 2027-07-29   2.8.8, 2.7.5, 2.6.4   1.14.1, from 1.5 on',
        '1.32         extended until 2027-03-23   2.7.5, 2.6.4          1.14.1, from 1.2 on',
        '1.31         extended until 2026-11-26   2.6.4                 1.14.1, from 1.0 on',
        '1.30         ended on 2026-07-23         -                     1.14.1, from 1.0 on',
        '1.29         ended on 2026-03-23         -                     1.14.1, from 1.0 on',
        '1.28         ended on 2025-11-26         -                     1.14.1, from 1.0 on',
        '1.27         ended on 2025-07-24         -                     1.14.1, from 1.0 on',
        '',
      ].join('\n'),
    )
  })

  it('gives every row with its source and date as data', async () => {
    const rows = JSON.parse((await capt(matrix, ['-o', 'json'])).stdout) as { source: string; checked: string }[]
    assert.ok(
      rows.length > 40 && rows.every(({ source, checked }) => source.startsWith('https://') && checked.length === 10),
    )
  })
})

describe('capt matrix check', () => {
  it('allows what goes together and says what it would install', async () => {
    const { code, stdout } = await capt(check, ['--kubernetes', '1.35'])
    assert.deepEqual(
      [code, stdout],
      [0, 'Kubernetes 1.35\n  fine       capt would install Flux 2.9.5 and Karpenter 1.14.1\n'],
    )
    assert.equal(
      (await capt(check, ['--kubernetes', '1.35', '--flux', '2.8.8', '--karpenter', '1.9.0'])).stdout,
      'Kubernetes 1.35, Flux 2.8.8, Karpenter 1.9.0\n  fine       these run together\n',
    )
  })

  it('forbids what does not, names the way out, and exits with 1', async () => {
    const { code, stdout } = await capt(check, ['--kubernetes', '1.34', '--karpenter', '1.0.7'])
    assert.deepEqual(
      [code, stdout],
      [
        1,
        'Kubernetes 1.34, Karpenter 1.0.7\n  forbidden  Karpenter 1.0.7 supports Kubernetes 1.25 to 1.31, not 1.34  CAPT_MATRIX_FORBIDDEN\n             use Karpenter 1.14.1 for Kubernetes 1.34 (capt matrix)\n',
      ],
    )
  })

  it('warns about the end of support by the date', async () => {
    assert.match((await capt(check, ['--kubernetes', '1.31'], { today: '2026-11-26' })).stdout, /extended support/)
    assert.match(
      (await capt(check, ['--kubernetes', '1.31'], { today: '2026-11-27' })).stdout,
      /has ended.*CAPT_EKS_SUPPORT_ENDED/,
    )
  })

  it('reads the versions out of a manifest', async () => {
    const stdin = [
      'apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: CAPTControlPlane\nmetadata: {name: demo}\nspec: {version: v1.36.0}\n',
      'apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AddonPipeline\nmetadata: {name: p}\nspec: {stages: [{name: flux, flux: {version: 2.6.4}}, {name: k, karpenter: {version: 1.14.1}}]}\n',
    ].join('---\n')
    const { code, stdout } = await capt(check, ['-f', '-', '-o', 'json'], { stdin })
    const [answer] = JSON.parse(stdout) as { from: string; pair: object; faults: { code: string }[] }[]
    assert.deepEqual(
      [code, answer?.from, answer?.pair],
      [1, 'CAPTControlPlane/demo', { kubernetes: 'v1.36.0', flux: '2.6.4', karpenter: '1.14.1' }],
    )
    assert.deepEqual(
      answer?.faults.map((fault) => fault.code),
      ['CAPT_MATRIX_FORBIDDEN'],
    )
  })

  for (const [what, argv, stdin, code, message] of [
    ['nothing', [], '', 2, /nothing to check/],
    [
      'a manifest without a version',
      ['-f', '-'],
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
      1,
      /names no Kubernetes version/,
    ],
    ['a manifest that is none', ['-f', '-'], '- a\n', 1, /is not a Kubernetes object/],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const printed = await capt(check, argv, { stdin })
      assert.equal(printed.code, code)
      assert.match(printed.stderr, message)
    })
  }
})

describe('capt explain', () => {
  const seed =
    'could not download chart: pulling from host public.ecr.aws failed with status code [manifests v0.27.3]: 403 forbidden'

  it('explains the 403 of the chart from its text and from its code, with cause, check and fix', async () => {
    const byText = await capt(explain, [seed])
    const byCode = await capt(explain, ['CAPT_CHART_FORBIDDEN'])
    assert.equal(byText.code, 0)
    assert.equal(byText.stdout, byCode.stdout)
    assert.match(
      byCode.stdout,
      /^CAPT_CHART_FORBIDDEN\n\nWhat it means\n[\s\S]*expired login[\s\S]*\nCheck\n[\s\S]*\nFix\n[\s\S]*docker logout public.ecr.aws[\s\S]*helm registry logout public.ecr.aws/,
    )
  })

  it('finds pages by words, lists all, and takes a code without its prefix', async () => {
    assert.match((await capt(explain, ['service-linked', 'spot'])).stdout, /^CAPT_SPOT_ROLE_MISSING\n/)
    assert.match((await capt(explain, ['policy_too_large'])).stdout, /6,144/)
    assert.ok((await capt(explain, [])).stdout.split('\n').length > 50)
    assert.equal(
      (JSON.parse((await capt(explain, ['CAPT_CHART_RANGE', '-o', 'json'])).stdout) as { code: string }).code,
      'CAPT_CHART_RANGE',
    )
  })

  it('says so when no page speaks of a text', async () => {
    const { code, stderr } = await capt(explain, ['xyzzy plugh'])
    assert.equal(code, 1)
    assert.match(stderr, /there is no page about "xyzzy plugh"/)
  })

  for (const [text, code] of [
    ['unable to locate any tags in provided repository', 'CAPT_CHART_RANGE'],
    ['0/2 nodes are available: 2 node(s) had untolerated taint {CriticalAddonsOnly: true}', 'CAPT_FLUX_PODS_PENDING'],
    ['container runtime network not ready: cni plugin not initialized', 'CAPT_EKS_ADDONS_MISSING'],
    ['dial tcp 10.0.1.7:443: i/o timeout', 'CAPT_EKS_ENDPOINT_UNREACHABLE'],
    ['the server has asked for the client to provide credentials', 'CAPT_EKS_CREATOR_NOT_ADMIN'],
    ['LimitExceeded: Cannot exceed quota for PolicySize: 6144', 'CAPT_POLICY_TOO_LARGE'],
    ['error: You must be logged in to the server (Unauthorized)', 'CAPT_KUBECONFIG_EXPIRED'],
    [
      'AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission',
      'CAPT_SPOT_ROLE_MISSING',
    ],
  ] as const) {
    it(`knows: ${text}`, async () => assert.ok((await capt(explain, [text])).stdout.startsWith(`${code}\n`)))
  }

  const TRAPS = [
    'CAPT_FLUX_PODS_PENDING',
    'CAPT_EKS_ADDONS_MISSING',
    'CAPT_EKS_ENDPOINT_UNREACHABLE',
    'CAPT_EKS_CREATOR_NOT_ADMIN',
    'CAPT_CHART_RANGE',
    'CAPT_STATE_SUFFIX_NUMBER',
    'CAPT_AMI_AL2_ENDED',
    'CAPT_POLICY_TOO_LARGE',
    'CAPT_CONVERT_EXPIRY',
    'CAPT_AMI_LATEST_DRIFT',
    'CAPT_KUBECONFIG_EXPIRED',
    'CAPT_KARPENTER_TEARDOWN_ORDER',
    'CAPT_RELEASE_RENAMED',
    'CAPT_CHART_FORBIDDEN',
  ]
  const sections = ['catalog', 'karpenter', 'karpenter-existing'].map((module) =>
    readFileSync(join(root, `docs/errors.d/${module}.md`), 'utf8'),
  )
  const pages = parseErrorPages(sections)

  it('has a whole page for every trap and for every text it recognises', () => {
    for (const code of [...TRAPS, ...SYMPTOMS.map((symptom) => symptom.code)])
      assert.ok(pages[code], `${code} has no page`)
    for (const [code, page] of Object.entries(pages))
      assert.ok(page.means && page.check && page.fix, `${code} lacks a part`)
  })

  it('has a page for every code that the catalogue and the converter use', () => {
    const files = ['catalog', 'karpenter'].flatMap((module) =>
      readdirSync(join(root, 'src', module), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .map((name) => readFileSync(join(root, 'src', module, name), 'utf8')),
    )
    const all = parseErrorPages(
      readdirSync(join(root, 'docs/errors.d')).map((name) => readFileSync(join(root, 'docs/errors.d', name), 'utf8')),
    )
    const used = new Set(files.flatMap((text) => text.match(/CAPT_[A-Z0-9_]+/g) ?? []))
    assert.deepEqual(
      [...used].filter((code) => !all[code]),
      [],
    )
  })
})

describe('generated pages', () => {
  for (const path of ['docs/compatibility.md', 'src/cli/errors.generated.json']) {
    it(`${path} is what the sources say (npm run generate)`, () => {
      assert.equal(readFileSync(join(root, path), 'utf8'), generatedFiles(root).get(path))
    })
  }
})
