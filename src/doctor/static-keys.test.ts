import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject, Secret, WorkspaceTemplateApply } from '#api'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import { changedAt, credentialSecretsOf, examineStaticKey, observeStaticKeys } from './static-keys.ts'

const DAY_MS = 86_400_000
const NOW = Date.parse('2026-06-01T00:00:00Z')
const encode = (text: string) => Buffer.from(text).toString('base64')
const KEY = { namespace: 'team', name: 'aws' }

function secretOf(data: Readonly<Record<string, string>>, metadata: object = {}): Secret {
  const encoded = Object.fromEntries(Object.entries(data).map(([name, text]) => [name, encode(text)]))
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...KEY, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    data: encoded,
  } as unknown as Secret
}
const KEYS = { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE1234', AWS_SECRET_ACCESS_KEY: 'hush' }
const holding = (secret: Secret | undefined) => ({ get: async () => secret }) as unknown as Objects

describe('Access keys in Secrets', () => {
  it('are those that applies and identities name, each once', () => {
    const apply = { metadata: { namespace: 'team', name: 'a' }, spec: { credentialsRef: { name: 'aws' } } }
    const plane = {
      metadata: { namespace: 'team', name: 'b' },
      spec: { identity: { secretRef: { name: 'shared', namespace: 'platform' } } },
    }
    const none = { metadata: { namespace: 'team', name: 'c' }, spec: {} }
    assert.deepEqual(
      credentialSecretsOf(
        [apply, apply, none] as unknown as WorkspaceTemplateApply[],
        [plane, none] as unknown as AnyObject[],
      ),
      [KEY, { namespace: 'platform', name: 'shared' }],
    )
  })

  const asked = Date.parse('2025-12-01T00:00:00Z')
  const refused = async () => {
    throw new CaptError('CAPT_AWS_REFUSED', 'no')
  }
  for (const [what, secret, ask, expected] of [
    ['are as old as IAM says', secretOf(KEYS), async () => asked, [asked, 'IAM']],
    ['are as old as the Secret where IAM refuses', secretOf(KEYS), refused, [Date.parse('2026-01-01'), 'Secret']],
    ['are as old as the Secret without AWS', secretOf(KEYS), undefined, [Date.parse('2026-01-01'), 'Secret']],
    [
      'that IAM does not know are as old as the Secret',
      secretOf(KEYS),
      async () => undefined,
      [Date.parse('2026-01-01'), 'Secret'],
    ],
    ['of a session are left out', secretOf({ ...KEYS, AWS_SESSION_TOKEN: 'x' }), undefined, undefined],
    ['with the id of a session are left out', secretOf({ ...KEYS, AWS_ACCESS_KEY_ID: 'ASIA1' }), undefined, undefined],
    ['that are not there are left out', secretOf({ credentials: '[default]' }), undefined, undefined],
    ['of a missing Secret are left out', undefined, undefined, undefined],
  ] as const)
    it(what, async () => {
      const [found] = await observeStaticKeys(holding(secret), [KEY], ask)
      assert.deepEqual(found && [found.madeAtMs, found.source], expected)
    })

  it('count from the last change of the data, not of a label', () => {
    const managedFields = [
      { time: '2026-03-01T00:00:00Z', fieldsV1: { 'f:data': {} } },
      { time: '2026-05-01T00:00:00Z', fieldsV1: { 'f:metadata': {} } },
    ]
    assert.equal(changedAt(secretOf(KEYS, { managedFields })), Date.parse('2026-03-01T00:00:00Z'))
  })

  it('are reported after 90 days, with the source of the age and without the key', () => {
    const key = { secret: KEY, accessKeyId: KEYS.AWS_ACCESS_KEY_ID, source: 'IAM' } as const
    assert.deepEqual(examineStaticKey({ ...key, madeAtMs: NOW - 90 * DAY_MS }, NOW), [])
    const [old] = examineStaticKey({ ...key, madeAtMs: NOW - 91 * DAY_MS }, NOW)
    assert.equal(old?.name, 'Secret/team/aws')
    assert.match(old?.findings[0]?.what ?? '', /^the access key …1234 was made 91 days ago, says IAM/)
    const [guess] = examineStaticKey({ ...key, source: 'Secret', madeAtMs: NOW - 100 * DAY_MS }, NOW)
    assert.match(guess?.findings[0]?.what ?? '', /is in the Secret for 100 days \(IAM was not asked or refused/)
    assert.ok(!JSON.stringify([old, guess]).includes('AKIA'))
  })
})
