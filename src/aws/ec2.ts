// What EC2 says about machines and disks that carry given tags, and the one thing we do to them: terminate machines by
// id. What the answers mean is pure and tested on recorded XML.
import { type Call, queryCall } from './call.ts'
import { AwsError, type TagFilter, type TaggedMachine, type TaggedVolume } from './port.ts'
import { nodesAt, parseXml, textAt, type XmlNode } from './xml.ts'

const VERSION = '2016-11-15'
/** A machine takes up to 10 KiB of XML; a page must stay below the limit of one answer. */
const PAGE_SIZE = 200
/** Machines that cost money or may come back; those that are shutting down are on their way out. */
const LIVING = ['pending', 'running', 'stopping', 'stopped']
const MOST_IDS = 100

type Base = Pick<Call, 'region' | 'keys'>
/** Sends one call and answers with its text. */
export type Ask = (call: Call) => Promise<string>

export async function listMachines(ask: Ask, base: Base, tags: TagFilter): Promise<readonly TaggedMachine[]> {
  const filters: readonly Filter[] = [...tagFilters(tags), ['instance-state-name', LIVING]]
  const pages = await readPages(ask, base, 'DescribeInstances', filters)
  return pages.flatMap((page) => nodesAt(page, 'reservationSet', 'item', 'instancesSet', 'item')).flatMap(toMachine)
}

export async function listVolumes(ask: Ask, base: Base, tags: TagFilter): Promise<readonly TaggedVolume[]> {
  const pages = await readPages(ask, base, 'DescribeVolumes', tagFilters(tags))
  return pages.flatMap((page) => nodesAt(page, 'volumeSet', 'item')).flatMap(toVolume)
}

export async function terminateMachines(ask: Ask, base: Base, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += MOST_IDS) {
    const some = ids.slice(at, at + MOST_IDS)
    await ask(call(base, 'TerminateInstances', Object.fromEntries(some.map((id, i) => [`InstanceId.${i + 1}`, id]))))
  }
}

type Filter = readonly [name: string, values: readonly string[]]

/** Filters must all hold, the values of one are alternatives: so each tag is a filter of its own. */
function tagFilters(tags: TagFilter): readonly Filter[] {
  return Object.entries(tags).map(([key, value]) => (value === true ? ['tag-key', [key]] : [`tag:${key}`, [value]]))
}

async function readPages(
  ask: Ask,
  base: Base,
  action: string,
  filters: readonly Filter[],
): Promise<readonly XmlNode[]> {
  const fixed = Object.fromEntries(
    filters.flatMap(([name, values], i) => [
      [`Filter.${i + 1}.Name`, name],
      ...values.map((value, j) => [`Filter.${i + 1}.Value.${j + 1}`, value]),
    ]),
  ) as Record<string, string>
  const pages: XmlNode[] = []
  let NextToken: string | undefined
  do {
    const text = await ask(call(base, action, { ...fixed, MaxResults: String(PAGE_SIZE), NextToken }))
    const page = read(text, action)
    pages.push(page)
    NextToken = textAt(page, 'nextToken') || undefined
  } while (NextToken !== undefined)
  return pages
}

function call(base: Base, action: string, parameters: Readonly<Record<string, string | undefined>>): Call {
  return queryCall({ service: 'ec2', ...base }, action, VERSION, parameters)
}

function read(text: string, action: string): XmlNode {
  try {
    return parseXml(text)
  } catch (cause) {
    throw new AwsError('Refused', `ec2:${action} gave an answer that cannot be read`, {
      hint: 'something between capt and AWS may have changed it; it is asked again',
      cause,
    })
  }
}

function toMachine(item: XmlNode): readonly TaggedMachine[] {
  const id = textAt(item, 'instanceId')
  return id ? [{ id, state: textAt(item, 'instanceState', 'name') ?? '', tags: tagsOf(item) }] : []
}

function toVolume(item: XmlNode): readonly TaggedVolume[] {
  const id = textAt(item, 'volumeId')
  if (!id) return []
  const attachments = nodesAt(item, 'attachmentSet', 'item')
  const goesWithMachine =
    attachments.length > 0 && attachments.every((one) => textAt(one, 'deleteOnTermination') === 'true')
  return [{ id, goesWithMachine, tags: tagsOf(item) }]
}

function tagsOf(item: XmlNode): Readonly<Record<string, string>> {
  return Object.fromEntries(
    nodesAt(item, 'tagSet', 'item').map((tag) => [textAt(tag, 'key') ?? '', textAt(tag, 'value') ?? '']),
  )
}
