// Access reviews. The holder of the token may do everything, and the answers say so; they are never stored.
import { type KindRef, kindRef } from '#api'
import { isPlainObject } from '#lib'
import { recordAt } from '../object.ts'

interface Review extends KindRef {
  answer(body: unknown, world: ReviewWorld): object
}

interface ReviewWorld {
  isToken(token: string): boolean
}

export const ADMIN = { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] } as const
const allowed = (body: unknown) => ({
  ...asObject(body),
  status: { allowed: true, reason: 'the bearer token may do everything' },
})
const AUTHORIZATION = 'authorization.k8s.io/v1'
const AUTHENTICATION = 'authentication.k8s.io/v1'

export const REVIEWS: readonly Review[] = [
  { ...kindRef(AUTHORIZATION, 'SelfSubjectAccessReview', false), answer: allowed },
  { ...kindRef(AUTHORIZATION, 'SubjectAccessReview', false), answer: allowed },
  { ...kindRef(AUTHORIZATION, 'LocalSubjectAccessReview'), answer: allowed },
  {
    ...kindRef(AUTHORIZATION, 'SelfSubjectRulesReview', false),
    answer: (body) => ({
      ...asObject(body),
      status: {
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        incomplete: false,
      },
    }),
  },
  {
    ...kindRef(AUTHENTICATION, 'TokenReview', false),
    answer(body, world) {
      const token = recordAt(body, 'spec')['token']
      const authenticated = typeof token === 'string' && world.isToken(token)
      const { spec: _, ...rest } = asObject(body)
      return {
        ...rest,
        spec: {},
        status: authenticated ? { authenticated, user: ADMIN } : { user: {}, error: 'invalid bearer token' },
      }
    },
  },
  {
    ...kindRef(AUTHENTICATION, 'SelfSubjectReview', false),
    answer: (body) => ({ ...asObject(body), status: { userInfo: ADMIN } }),
  },
]

function asObject(body: unknown): Record<string, unknown> {
  return isPlainObject(body) ? { ...body, metadata: { creationTimestamp: null } } : { metadata: {} }
}
