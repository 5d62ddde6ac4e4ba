// Lists in pages of any size, from any backend: the whole list is asked for, and one page of it is handed out. The
// token is a number to us and opaque to clients.
import type { Json } from './call.ts'

/** The element or field that holds the list, by permission. Everything that capt lists and AWS pages. */
const LISTS: Readonly<Record<string, string>> = {
  'eks:GET ': 'clusters',
  'eks:GET node-groups': 'nodegroups',
  'eks:GET addons': 'addons',
  'eks:GET access-entries': 'accessEntries',
  'eks:GET pod-identity-associations': 'associations',
  'events:ListTargetsByRule': 'Targets',
  'iam:ListAttachedRolePolicies': 'AttachedPolicies',
  'iam:ListRolePolicies': 'PolicyNames',
  'ec2:DescribeSubnets': 'subnetSet',
  'ec2:DescribeSecurityGroups': 'securityGroupInfo',
  'ec2:DescribeInstances': 'reservationSet',
  'ec2:DescribeLaunchTemplateVersions': 'launchTemplateVersionSet',
}

export const listOf = (action: string): string | undefined => LISTS[action]

const tokenAt = (start: number) => `from-${start}`
const startOf = (token: string | null | undefined) => Number(token?.replace('from-', '') ?? 0)

/** The token of a call, and the call without it. */
export function withoutToken(url: URL, body: Buffer): { readonly start: number; readonly body: Buffer } {
  const inQuery = url.searchParams.get('nextToken')
  url.searchParams.delete('nextToken')
  url.searchParams.delete('maxResults')
  const text = body.toString()
  if (text.startsWith('{')) {
    const { NextToken, ...rest } = JSON.parse(text) as { NextToken?: string }
    return { start: startOf(NextToken), body: Buffer.from(JSON.stringify(rest)) }
  }
  const form = new URLSearchParams(text)
  const start = startOf(inQuery ?? form.get('NextToken') ?? form.get('Marker'))
  for (const name of ['NextToken', 'Marker', 'MaxResults', 'MaxItems']) form.delete(name)
  return { start, body: Buffer.from(text === '' ? '' : String(form)) }
}

/** One page of an answer that holds the whole list. */
export function pageOfAnswer(text: string, list: string, start: number, size: number): string {
  const end = start + size
  if (text.trimStart().startsWith('{')) {
    const answer = JSON.parse(text) as Json
    const all = (answer[list] ?? []) as readonly unknown[]
    const token = list === 'Targets' ? 'NextToken' : 'nextToken'
    const more = end < all.length ? { [token]: tokenAt(end) } : {}
    return JSON.stringify({ ...answer, [list]: all.slice(start, end), ...more })
  }
  const found = new RegExp(`<${list}>([\\s\\S]*)</${list}>`).exec(text)
  if (!found) return text
  const all = elementsOf(found[1]!)
  const paged = text.replace(found[0], `<${list}>${all.slice(start, end).join('')}</${list}>`)
  if (end >= all.length) return paged
  return /<IsTruncated>/.test(paged)
    ? paged.replace(
        /<IsTruncated>\w+<\/IsTruncated>/,
        `<IsTruncated>true</IsTruncated><Marker>${tokenAt(end)}</Marker>`,
      )
    : paged.replace(/<\/\w+>\s*$/, (root) => `<nextToken>${tokenAt(end)}</nextToken>${root}`)
}

/** The elements right below; those of the same name may be nested. */
function elementsOf(xml: string): readonly string[] {
  const all: string[] = []
  let depth = 0
  let start = 0
  for (const { 0: tag, index } of xml.matchAll(/<(\/?)(item|member)>/g)) {
    if (tag.startsWith('</')) depth -= 1
    else if (depth++ === 0) start = index
    if (depth === 0) all.push(xml.slice(start, index + tag.length))
  }
  return all
}
