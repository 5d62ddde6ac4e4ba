// Every action in the generated policies is an operation of AWS, as its own model of the API has it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { NEEDED_POLICIES } from '#catalog'
import { findMoto } from '../../../support/aws/moto.ts'

/** IAM spells two services differently from the API. */
const CLIENTS: Readonly<Record<string, string>> = { elasticloadbalancing: 'elbv2', tag: 'resourcegroupstaggingapi' }
/** Permissions without an operation of their own. */
const BARE = ['iam:PassRole']

const SCRIPT = `
import json, sys, botocore.session
session = botocore.session.get_session()
print(json.dumps({name: session.get_service_model(name).operation_names for name in sys.argv[1:]}))
`

describe('Generated policies', () => {
  const moto = findMoto()
  it("name operations that AWS's model of its API has", { skip: moto ? false : 'not installed: moto' }, () => {
    const actions = [...new Set(NEEDED_POLICIES.flatMap(({ needs }) => needs.flatMap((need) => need.actions)))]
    const split = actions
      .filter((action) => !BARE.includes(action))
      .map((action) => ({ action, service: action.split(':')[0]!, operation: action.split(':')[1]! }))
    const services = [...new Set(split.map(({ service }) => CLIENTS[service] ?? service))]
    const printed = execFileSync(moto!.python, ['-c', SCRIPT, ...services], { encoding: 'utf8', timeout: 60_000 })
    const known = JSON.parse(printed) as Readonly<Record<string, readonly string[]>>
    assert.ok(split.length > 150)
    assert.deepEqual(
      split.filter(({ service, operation }) => !known[CLIENTS[service] ?? service]!.includes(operation)),
      [],
    )
  })
})
