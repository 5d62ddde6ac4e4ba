// What a workspace has in AWS is counted with its own credentials, in its own regions, and never guessed.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WorkspaceTemplateApply } from '#api'
import { AwsError, type AwsIdentity } from '#aws'
import { WORKSPACE_TAG } from '#engine'
import type { Objects } from '#kube'
import { silentLog } from '#lib'
import { anApply } from '#testing'
import { tagCounter } from './tagged.ts'

const OWNER = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: '', kind: '' }
const KEYS = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'secret' }
const encoded = Object.entries(KEYS).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
const credentials = { metadata: { name: 'aws', namespace: 'default' }, data: Object.fromEntries(encoded) }

function counting(spec: object | undefined, answer: (region: string) => readonly string[]) {
  const asked: { identity: AwsIdentity; region: string; tags: Readonly<Record<string, string>> }[] = []
  const apply = spec && anApply({ templateRef: { name: 'demo' }, ...spec }, { name: 'demo' })
  const get = async ({ kind }: { kind: string }) => (kind === WorkspaceTemplateApply.kind ? apply : credentials)
  const objects = { get } as unknown as Objects
  const count = tagCounter(
    objects,
    {
      async findTagged(identity, region, tags) {
        asked.push({ identity, region, tags })
        return answer(region).map((arn) => ({ arn, tags }))
      },
    },
    silentLog,
  )
  return { count: () => count(OWNER, 'id-1'), asked }
}

describe('resources counted by their tag', () => {
  it('are those of the region and of the home region, each once, with the credentials of the apply', async () => {
    const spec = { values: { region: 'eu-west-1' }, credentialsRef: { name: 'aws' } }
    const { count, asked } = counting(spec, (region) =>
      region === 'eu-west-1' ? ['arn:a', 'arn:b'] : ['arn:b', 'arn:c'],
    )
    assert.equal(await count(), 3)
    assert.deepEqual(
      asked.map(({ region, tags }) => [region, tags[WORKSPACE_TAG]]),
      [
        ['eu-west-1', 'id-1'],
        ['us-east-1', 'id-1'],
      ],
    )
    assert.equal(asked[0]?.identity.keys?.accessKeyId, 'AKIA')
  })

  it('are unavailable without a region, and AWS is not asked', async () => {
    const { count, asked } = counting({}, () => ['arn:a'])
    assert.equal(await count(), 'unavailable')
    assert.deepEqual(asked, [])
  })

  it('are unavailable when the apply is gone', async () => {
    const { count } = counting(undefined, () => ['arn:a'])
    assert.equal(await count(), 'unavailable')
  })

  it('are unavailable when AWS refuses', async () => {
    const { count } = counting({ values: { region: 'eu-west-1' } }, () => {
      throw new AwsError('AccessDenied', 'no')
    })
    assert.equal(await count(), 'unavailable')
  })
})
