// The service-linked role for Spot is asked for once per account, and again a minute after a refusal.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CaptError } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { spotRoles } from './spot-role.ts'

const place = { namespace: 'default', region: 'eu-west-1', identity: undefined }

function rolesAnswering(...answers: readonly ('created' | 'present' | CaptError)[]) {
  const clock = manualClock()
  const asked: string[] = []
  const aws = {
    async ensureSpotRole(_identity: unknown, region: string) {
      const answer = answers[asked.push(region) - 1]!
      if (answer instanceof CaptError) throw answer
      return answer
    },
  }
  return { roles: spotRoles(aws as never, clock), clock, asked, objects: memoryCluster().objects }
}

describe('the service-linked role for Spot', () => {
  it('is unknown until it was asked for, then present', async () => {
    const { roles, objects } = rolesAnswering('created')
    assert.deepEqual(roles.read(place), { is: 'unknown' })
    assert.equal(await roles.ensure(objects, place), true)
    assert.deepEqual(roles.read(place), { is: 'present' })
  })

  it('was found, not made, where the account has it', async () => {
    const { roles, objects } = rolesAnswering('present')
    assert.equal(await roles.ensure(objects, place), false)
    assert.deepEqual(roles.read(place), { is: 'present' })
  })

  it('is refused with the cause for a minute, and asked for again', async () => {
    const denied = new CaptError('CAPT_AWS_ACCESS_DENIED', 'not allowed', { hint: 'allow it' })
    const { roles, objects, clock } = rolesAnswering(denied)
    assert.equal(await roles.ensure(objects, place), false)
    assert.deepEqual(roles.read(place), {
      is: 'refused',
      message: 'not allowed',
      hint: 'allow it',
      retryAfterSeconds: 60,
    })
    await clock.advance(60_000)
    assert.deepEqual(roles.read(place), { is: 'unknown' })
  })

  it('is one for all namespaces, but for identities of a Secret', async () => {
    const { roles, objects } = rolesAnswering('present')
    await roles.ensure(objects, place)
    assert.deepEqual(roles.read({ ...place, namespace: 'other' }), { is: 'present' })
    const identity = { secretRef: { name: 'aws' } }
    assert.deepEqual(roles.read({ ...place, identity }), { is: 'unknown' })
  })
})
