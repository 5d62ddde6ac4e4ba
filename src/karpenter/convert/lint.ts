// Mistakes in v1 objects that the CRDs accept: they pass every check and then nothing is ever provisioned.

import type { NodePoolObject } from '#catalog'
import { isPlainObject } from '#lib'
import type { Fields } from './fields.ts'
import type { Note } from './finding.ts'
import { contradictingKeys, type Requirement, wrongInstanceTypes } from './requirements.ts'
import { PLACEHOLDER } from './variables.ts'

const IDS = {
  subnetSelectorTerms: /^subnet-[0-9a-z]+$/,
  securityGroupSelectorTerms: /^sg-[0-9a-z]+$/,
  amiSelectorTerms: /^ami-[0-9a-z]+$/,
} as const

export function lintObject(object: NodePoolObject, note: Note): void {
  if (object.kind === 'EC2NodeClass') lintClass(object.spec, note)
  else lintPool(object.spec, note)
}

function lintClass(spec: Fields, note: Note): void {
  for (const [field, form] of Object.entries(IDS)) {
    for (const [i, term] of list(spec[field]).entries()) {
      const at = `spec.${field}[${i}]`
      const id = term['id']
      if (typeof id === 'string' && !form.test(id) && !id.includes(PLACEHOLDER))
        note(
          'refused',
          'CAPT_CONVERT_SELECTOR',
          `${at}.id`,
          `"${id}" is not one id and would match nothing`,
          'one term per id',
        )
      if (id !== undefined && Object.keys(term).length > 1)
        note(
          'refused',
          'CAPT_CONVERT_CONTRADICTION',
          at,
          'an id stands alone: the other fields of this term would be ignored',
          'keep the id or the other fields',
        )
    }
  }
  if (spec['launchTemplate'] !== undefined)
    note('person', 'CAPT_CONVERT_FIELD_DROPPED', 'spec.launchTemplate', 'is removed by the API server without an error')
}

function lintPool(spec: Fields, note: Note): void {
  const template = isPlainObject(spec['template']) ? spec['template'] : {}
  const inner = isPlainObject(template['spec']) ? template['spec'] : {}
  const path = 'spec.template.spec.requirements'
  const requirements = list(inner['requirements']).map(asRequirement)
  for (const [i, requirement] of requirements.entries()) {
    const wrong = wrongInstanceTypes(requirement)
    if (wrong.length === 0) continue
    const message = `${wrong.join(', ')} can never be an instance type, so nothing would match`
    const hint = 'use karpenter.k8s.aws/instance-category or instance-family, or types like m5.large'
    note('refused', 'CAPT_CONVERT_INSTANCE_TYPE', `${path}[${i}]`, message, hint)
  }
  for (const key of contradictingKeys(requirements))
    note(
      'refused',
      'CAPT_CONVERT_CONTRADICTION',
      path,
      `${key}: no node can satisfy all of its requirements`,
      'make the value lists overlap',
    )
  if (inner['kubelet'] !== undefined)
    note(
      'person',
      'CAPT_CONVERT_FIELD_DROPPED',
      'spec.template.spec.kubelet',
      'is removed by the API server without an error',
      'move it to EC2NodeClass spec.kubelet',
    )
}

const asRequirement = (item: Fields): Requirement => ({
  key: String(item['key']),
  operator: String(item['operator']),
  ...(Array.isArray(item['values']) ? { values: item['values'].map(String) } : {}),
})

const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isPlainObject) : [])
