// Access reviews. The holder of the token may do everything, and the answers say so; they are never stored.
import { isPlainObject } from '#lib'
import { recordAt } from '../object.ts'

interface Review {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
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
const AUTHORIZATION = { group: 'authorization.k8s.io', version: 'v1', answer: allowed } as const
const AUTHENTICATION = { group: 'authentication.k8s.io', version: 'v1', namespaced: false } as const

export const REVIEWS: readonly Review[] = [
  { ...AUTHORIZATION, kind: 'SelfSubjectAccessReview', plural: 'selfsubjectaccessreviews', namespaced: false },
  { ...AUTHORIZATION, kind: 'SubjectAccessReview', plural: 'subjectaccessreviews', namespaced: false },
  { ...AUTHORIZATION, kind: 'LocalSubjectAccessReview', plural: 'localsubjectaccessreviews', namespaced: true },
  {
    ...AUTHORIZATION,
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
    namespaced: false,
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
    ...AUTHENTICATION,
    kind: 'TokenReview',
    plural: 'tokenreviews',
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
    ...AUTHENTICATION,
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
    answer: (body) => ({ ...asObject(body), status: { userInfo: ADMIN } }),
  },
]

function asObject(body: unknown): Record<string, unknown> {
  return isPlainObject(body) ? { ...body, metadata: { creationTimestamp: null } } : { metadata: {} }
}
