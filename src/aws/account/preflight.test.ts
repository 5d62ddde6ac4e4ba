import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { neededActions } from '#catalog'
import { parseXml } from '../xml.ts'
import { simulateActions } from './preflight.ts'
import type { AwsRequests } from './requests.ts'

type Parameters = Readonly<Record<string, string | undefined>>

/** An IAM that denies some actions, two results to a page. */
function iamThatDenies(denied: readonly string[]) {
  const asked: Parameters[] = []
  const aws = {
    region: 'eu-west-1',
    async query(_service: string, _action: string, parameters: Parameters) {
      asked.push(parameters)
      const names = Object.entries(parameters).filter(([key]) => key.startsWith('ActionNames.'))
      const from = Number(parameters['Marker'] ?? 0)
      const members = names
        .slice(from, from + 2)
        .map(
          ([, name]) =>
            `<member><EvalActionName>${name}</EvalActionName><EvalDecision>${
              denied.includes(name!) ? 'implicitDeny' : 'allowed'
            }</EvalDecision></member>`,
        )
      const isLast = from + 2 >= names.length
      return parseXml(
        `<R><SimulatePrincipalPolicyResult><IsTruncated>${!isLast}</IsTruncated>${
          isLast ? '' : `<Marker>${from + 2}</Marker>`
        }<EvaluationResults>${members.join('')}</EvaluationResults></SimulatePrincipalPolicyResult></R>`,
      )
    },
  }
  return { asked, aws: aws as unknown as AwsRequests }
}

const SESSION = 'arn:aws-us-gov:sts::123456789012:assumed-role/capt/session'

describe('The simulation of policies', () => {
  it('finds denied actions on every page and in every scope', async () => {
    const denied = ['ec2:CreateVpc', 'eks:UpdateNodegroupVersion', 'iam:PassRole', 'sqs:CreateQueue']
    const { aws, asked } = iamThatDenies(denied)
    assert.deepEqual(await simulateActions(aws, SESSION, neededActions(['network', 'cluster'])), denied)
    assert.ok(asked.every(({ PolicySourceArn }) => PolicySourceArn === 'arn:aws-us-gov:iam::123456789012:role/capt'))
    const most = asked.map((one) => Object.keys(one).filter((key) => key.startsWith('ActionNames.')).length)
    assert.ok(Math.max(...most) <= 50)
  })

  it('gives what the conditions ask about, and resources of this account', async () => {
    const { aws, asked } = iamThatDenies([])
    await simulateActions(aws, SESSION, neededActions(['cluster']))
    const texts = asked.map((one) => JSON.stringify(one))
    const of = (action: string) => texts.find((text) => text.includes(`"${action}"`)) ?? assert.fail(action)
    assert.match(of('iam:PassRole'), /"iam:PassedToService".*"eks\.amazonaws\.com"/)
    assert.match(
      of('iam:AttachRolePolicy'),
      /"iam:PolicyARN".*"arn:aws-us-gov:iam::aws:policy\/AmazonEKSClusterPolicy"/,
    )
    assert.match(of('sqs:CreateQueue'), /"arn:aws-us-gov:sqs:eu-west-1:123456789012:Karpenter-capt"/)
  })
})
