// Every failure that a page documents shows its cause and the next step in `capt describe`, without a log: the classes of
// Terraform failures, the texts of docs/troubleshooting.md, and every reason for which a controller waits.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { AddonDelivery, type AnyObject, CAPTControlPlane, type WorkspaceTemplateApply } from '#api'
import { anApply } from '#testing'
import { applyBranch, deliveryBranch, isOrdinary, renderStops, stateOf, stopOf } from '#view'
import pages from '../../src/cli/errors.generated.json' with { type: 'json' }
import { type RunFault, toFault } from '../../src/engine/faults/faults.ts'
import { adviceFor } from '../../src/view/advice.ts'

const root = join(import.meta.dirname, '../..')
const AT = '2026-01-01T00:00:00Z'
const now = Date.parse('2026-01-01T00:10:00Z')
const render = (branch: Parameters<typeof renderStops>[0]) => renderStops(branch, { width: 80, wraps: false, now })
const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: AT,
  observedGeneration: 1,
})

function failedApply({ kind, code, message, hint }: RunFault): WorkspaceTemplateApply {
  return {
    ...anApply(),
    status: {
      phase: 'Stalled',
      attempts: 1,
      lastError: { kind, code, message, hint },
      conditions: [
        condition('Ready', 'False', 'ApplyRejected', message),
        condition('Stalled', 'True', 'ApplyRejected', message),
      ],
    },
  } as unknown as WorkspaceTemplateApply
}

const failedStage = (message: string): AddonDelivery =>
  ({
    apiVersion: AddonDelivery.apiVersion,
    kind: AddonDelivery.kind,
    metadata: { name: 'demo', generation: 1 },
    spec: { clusterName: 'demo', pipelineRef: { name: 'default' } },
    status: {
      conditions: [condition('Ready', 'False', 'NotHealthy', 'karpenter is not healthy')],
      stages: [{ name: 'karpenter', state: 'Checking', healthy: { status: 'False', since: AT, evidence: [message] } }],
    },
  }) as unknown as AddonDelivery

/** Cause, next step, and a page that says how to put it right. */
function assertExplained(text: string, cause: string, code: string): void {
  assert.ok(text.includes(cause), `${cause}\n${text}`)
  assert.match(text, /^What to do {7}\S/m)
  assert.ok(text.includes(`capt explain ${code}`), `capt explain ${code}\n${text}`)
  assert.ok(pages[code as keyof typeof pages].fix.length > 10, `the page of ${code} says how to put it right`)
}

describe('A documented failure in capt describe', () => {
  const table = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8')
  const texts = [...table.matchAll(/^\| `(.+?)` \| \[(CAPT_\w+)\]/gm)].map(([, text, code]) => [text!, code!] as const)
  it('is read from the table of the page', () => assert.ok(texts.length >= 20, String(texts.length)))
  for (const [text, code] of texts) {
    it(`names cause and page when Terraform printed: ${text}`, () => {
      const fault = toFault([{ summary: text, detail: '', address: '', at: '' }], 'apply')!
      assertExplained(render(applyBranch(failedApply(fault))), text, code)
    })
    it(`names cause and page when an add-on reports: ${text}`, () =>
      assertExplained(render(deliveryBranch(failedStage(text))), text, code))
  }

  const codes = Object.keys(pages).filter((code) => /^CAPT_(TF|RUN|DISK|STATE|CREDENTIALS)_/.test(code))
  for (const code of codes)
    it(`names cause and page of a run that failed with ${code}`, () => {
      const fault = { kind: 'internal', code, message: 'It failed', hint: 'look at the cause' } as RunFault
      assertExplained(render(applyBranch(failedApply(fault))), 'It failed', code)
    })
})

describe('A hint', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  it('names a command or a field, never a page that only the repository has', () => {
    const lines = files.flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .map((line) => `${file}: ${line}`),
    )
    assert.ok(lines.length > 10_000)
    assert.deepEqual(
      lines.filter((line) => /\bhint\b.*docs\/[\w-]+\.md/.test(line)),
      [],
    )
  })
})

describe('Every reason for which a controller waits', () => {
  const sources = globSync('src/{controllers,core}/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  const reasons = sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bwaiting\(\s*'([A-Za-z]+)'/g)].map(([, reason]) => reason!),
  )
  const unknown = adviceFor('NobodyKnows')
  it('is found in the sources', () => assert.ok(new Set(reasons).size > 40, String(new Set(reasons).size)))
  for (const reason of [...new Set(reasons)].sort())
    it(`ends by itself or has advice: ${reason}`, () => {
      const object = {
        apiVersion: CAPTControlPlane.apiVersion,
        kind: CAPTControlPlane.kind,
        metadata: { name: 'demo', generation: 1 },
        status: { conditions: [condition('Ready', 'False', reason, 'The message')] },
      } as unknown as AnyObject
      const stop = stopOf(object, stateOf(object))
      if (isOrdinary(reason)) return assert.equal(stop, undefined)
      assert.notEqual(adviceFor(reason), unknown, `${reason} has neither an end of its own nor advice`)
      assert.equal(stop?.what, 'The message')
      assert.ok(stop.todo !== unknown.todo)
    })
})
