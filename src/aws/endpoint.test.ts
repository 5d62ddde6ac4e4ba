import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Environment, endpointOf } from './endpoint.ts'
import type { Service } from './partition.ts'

const ALL = 'http://127.0.0.1:5000'

describe('the endpoint of a service', () => {
  for (const [what, env, service, expected] of [
    ['is AWS when nothing is set', {}, 'sts', undefined],
    ['is AWS when the variable is empty', { AWS_ENDPOINT_URL: '' }, 'sts', undefined],
    ['is the one of all services', { AWS_ENDPOINT_URL: ALL }, 'ec2', ALL],
    ['is its own before that', { AWS_ENDPOINT_URL: ALL, AWS_ENDPOINT_URL_STS: 'http://sts' }, 'sts', 'http://sts'],
    ['is not that of another service', { AWS_ENDPOINT_URL_STS: 'http://sts' }, 'iam', undefined],
    [
      'has the name the SDKs give it',
      { AWS_ENDPOINT_URL_RESOURCE_GROUPS_TAGGING_API: 'http://tags' },
      'tagging',
      'http://tags',
    ],
    [
      'is AWS when configured endpoints are ignored',
      { AWS_ENDPOINT_URL: ALL, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
      'sts',
      undefined,
    ],
  ] as const satisfies readonly (readonly [string, Environment, Service, string | undefined])[])
    it(what, () => assert.equal(endpointOf(env, service), expected))
})
