// What EC2 was recorded to answer (shortened, ids changed), and what we make of it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call } from './call.ts'
import { listMachines, listVolumes, terminateMachines } from './ec2.ts'
import { isAwsError } from './port.ts'
import { parseXml } from './xml.ts'

const base = { region: 'eu-west-1', keys: { accessKeyId: 'a', secretAccessKey: 'b' } }
const TAGS = { 'kubernetes.io/cluster/demo': 'owned', 'karpenter.sh/nodepool': true } as const

const instance = (id: string, pool: string) => `<item>
  <instanceId>${id}</instanceId><imageId>ami-1</imageId>
  <instanceState><code>16</code><name>running</name></instanceState>
  <networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId><tagSet/></item></networkInterfaceSet>
  <blockDeviceMapping><item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-1</volumeId></ebs></item></blockDeviceMapping>
  <tagSet>
    <item><key>karpenter.sh/nodepool</key><value>${pool}</value></item>
    <item><key>kubernetes.io/cluster/demo</key><value>owned</value></item>
    <item><key>note</key><value>a &lt;b&gt; &amp; c</value></item>
    <item><key>empty</key><value/></item>
  </tagSet>
</item>`
const machines = (items: string, next = '') => `<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
  <requestId>1</requestId>
  <reservationSet><item><reservationId>r-1</reservationId><groupSet/><instancesSet>${items}</instancesSet></item></reservationSet>
  ${next && `<nextToken>${next}</nextToken>`}
</DescribeInstancesResponse>`

function recording(...answers: readonly string[]) {
  const asked: URLSearchParams[] = []
  const ask = async (call: Call) => {
    asked.push(new URLSearchParams(call.body))
    return answers[asked.length - 1] ?? '<TerminateInstancesResponse/>'
  }
  return { ask, asked }
}

/** Filters by name; those of the same name beside each other. */
function filtersOf(body: URLSearchParams): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const [name, value] of body) {
    const [, index] = /^Filter\.(\d+)\.Value\.\d+$/.exec(name) ?? []
    if (index === undefined) continue
    const filter = body.get(`Filter.${index}.Name`)!
    found[filter] = [...(found[filter] ?? []), value]
  }
  return found
}

describe('machines by tag', () => {
  it('are asked for by every tag, and only while they live', async () => {
    const { ask, asked } = recording(machines(''))
    assert.deepEqual(await listMachines(ask, base, TAGS), [])
    assert.deepEqual(filtersOf(asked[0]!), {
      'tag:kubernetes.io/cluster/demo': ['owned'],
      'tag-key': ['karpenter.sh/nodepool'],
      'instance-state-name': ['pending', 'running', 'stopping', 'stopped'],
    })
  })

  it('are read from every page, with their tags and not those of their parts', async () => {
    const { ask, asked } = recording(
      machines(instance('i-1', 'default') + instance('i-2', 'spot'), 'page-2'),
      machines(instance('i-3', 'default')),
    )
    const found = await listMachines(ask, base, TAGS)
    assert.deepEqual(
      found.map(({ id, tags }) => [id, tags['karpenter.sh/nodepool']]),
      [
        ['i-1', 'default'],
        ['i-2', 'spot'],
        ['i-3', 'default'],
      ],
    )
    assert.equal(found[0]!.state, 'running')
    assert.equal(found[0]!.tags['note'], 'a <b> & c')
    assert.equal(found[0]!.tags['empty'], '')
    assert.equal(asked[1]!.get('NextToken'), 'page-2')
  })

  it('leave out those that EKS Auto Mode manages: nobody else may terminate them', async () => {
    const operator = '<operator><managed>true</managed><principal>eks.amazonaws.com</principal></operator>'
    const managed = instance('i-2', 'general-purpose').replace('<imageId>', `${operator}<imageId>`)
    const { ask } = recording(machines(instance('i-1', 'default') + managed))
    assert.deepEqual(
      (await listMachines(ask, base, TAGS)).map(({ id }) => id),
      ['i-1'],
    )
  })

  it('are not guessed from an answer that was cut off', async () => {
    const whole = machines(instance('i-1', 'default'))
    const { ask } = recording(whole.slice(0, whole.length - 40))
    await assert.rejects(listMachines(ask, base, TAGS), (error) => isAwsError(error, 'Refused'))
  })

  it('are terminated by id, a hundred at a time', async () => {
    const { ask, asked } = recording()
    const ids = Array.from({ length: 101 }, (_, i) => `i-${i}`)
    await terminateMachines(ask, base, ids)
    const sent = asked.map((body) => [...body].filter(([name]) => name.startsWith('InstanceId.')).map(([, id]) => id))
    assert.deepEqual(
      sent.map((some) => some.length),
      [100, 1],
    )
    assert.deepEqual(sent.flat(), ids)
  })
})

describe('disks by tag', () => {
  it('are distinguished: those that go with their machine, and those that stay', async () => {
    const volume = (id: string, attachments: string) =>
      `<item><volumeId>${id}</volumeId><status>x</status><attachmentSet>${attachments}</attachmentSet><tagSet><item><key>k</key><value>v</value></item></tagSet></item>`
    const attachment = (goes: boolean) => `<item><deleteOnTermination>${goes}</deleteOnTermination></item>`
    const { ask } = recording(
      `<DescribeVolumesResponse><volumeSet>${volume('vol-root', attachment(true))}${volume('vol-claim', attachment(false))}${volume('vol-free', '')}</volumeSet></DescribeVolumesResponse>`,
    )
    const found = await listVolumes(ask, base, { k: 'v' })
    assert.deepEqual(
      found.map(({ id, goesWithMachine, tags }) => [id, goesWithMachine, tags['k']]),
      [
        ['vol-root', true, 'v'],
        ['vol-claim', false, 'v'],
        ['vol-free', false, 'v'],
      ],
    )
  })
})

describe('XML from AWS', () => {
  for (const [what, text] of [
    ['nothing', ''],
    ['an element that is not closed', '<a><b></b>'],
    ['elements closed in the wrong order', '<a><b></a></b>'],
    ['a page of a proxy', '<!DOCTYPE html><html></html>'],
    ['two documents', '<a></a><b></b>'],
  ] as const)
    it(`is refused when it is ${what}`, () => assert.throws(() => parseXml(text), SyntaxError))
})
