// What `capt demo` must show, chapter by chapter, and the structure of its picture: what does not change from run to run.
import assert from 'node:assert/strict'

/** Each chapter, with facts that come in this order. Facts of different lists may come in any order. */
const CHAPTERS: readonly { readonly title: RegExp; readonly lists: readonly (readonly RegExp[])[] }[] = [
  {
    title: /^A cluster from manifests$/,
    lists: [
      [
        / VPC +\S+ apply +9 of 9 resources$/,
        / control plane +\S+ apply +24 of 24 resources$/,
        / flux +delivered /,
        / flux +healthy /,
        / gate +opened +karpenter\.sh\/enabled=true$/,
        / karpenter +delivered /,
        / karpenter +healthy /,
        / node-pool +healthy /,
        /^Cluster\/demo +ready /,
        /^├─ CAPTMachinePool\/demo-workers +ready +2 nodes/,
      ],
      [/ pool +ready +demo-workers: 2 nodes/],
      [
        / machines +available +demo-machines: 2 machines/,
        /^├─ CAPTMachineDeployment\/demo-machines +ready +2 machines, m7i\.large/,
      ],
    ],
  },
  {
    title: /^Nodes: /,
    lists: [
      [/ pod +pending /, / karpenter +node added +pod web-0 was pending → node \S+ \(m7i\.2xlarge, .*simulated\)$/],
      [/ pool +scaled +demo-workers: 3 of 3 nodes are ready$/],
      [/ machines +updated +2 of 2 machines are m7i\.xlarge; at least 2 were available all the time$/],
    ],
  },
  {
    title: /^A failure, explained$/,
    lists: [
      [
        /^Cluster\/demo +not ready +because of karpenter/,
        /^What happened +karpenter: .*CrashLoopBackOff/,
        /^Why +what was delivered does not work/,
        /^What to do +.*kubectl logs --previous/,
        /^Nothing is lost /,
        / fault +removed /,
        / karpenter +healthy +Deployment karpenter: 2 of 2 available/,
      ],
    ],
  },
  {
    title: /^An upgrade to Kubernetes 1\.\d+/,
    lists: [
      [
        /^Cluster demo, Kubernetes 1\.\d+ -> 1\.\d+$/,
        / control plane +upgraded +runs v1\.\d+\.0$/,
        / pool +upgraded +demo-workers: 3 nodes replaced/,
      ],
    ],
  },
  {
    title: /^A clean deletion$/,
    lists: [
      [/ add-ons +removed +in this order: node-pool, karpenter, flux$/, / control plane +destroyed .* 24 resources$/],
      [/ pool +destroyed .* 7 resources$/, / control plane +destroyed /],
      [/ machine +destroyed .* 3 resources$/, / control plane +destroyed /],
      [
        / VPC +destroyed .* 9 resources$/,
        / cluster +gone +Cluster\/demo; \d+ resources destroyed, left: 0 Terraform states, 0 applies$/,
        /^Left behind: 0 files, 0 processes\.$/,
      ],
    ],
  },
]

/** What only real Terraform shows, in order. */
const WITH_TERRAFORM: readonly RegExp[] = [
  / control plane +plan waits +[0-9a-f]{16}: 0 to add, 9 to change, 0 to destroy$/,
  /^ +~ version = "1\.\d+" -> "1\.\d+"$/,
  /^ +\$ capt approve demo-eks-controlplane-apply --plan [0-9a-f]{16} /,
  / control plane +plan approved +by /,
]

export function assertStory(code: number | string | null, out: string, err: string, isSimulated = false): void {
  const text = `${out}\n${err}`
  assert.equal(code, 0, text)
  const lines = out.split('\n')
  const starts = CHAPTERS.map(({ title }) => lines.findIndex((line) => title.test(line)))
  for (const [i, { title, lists }] of CHAPTERS.entries()) {
    const from = starts[i]!
    const to = starts[i + 1] ?? lines.length
    assert.ok(from >= 0 && from < to, `${title} is missing or out of order\n${text}`)
    for (const list of lists) assertInOrder(lines.slice(from, to), list, text)
  }
  if (!isSimulated) assertInOrder(lines, WITH_TERRAFORM, text)
  assert.doesNotMatch(out, /\u001b/, 'no colour and no redrawn line off a terminal')
}

function assertInOrder(lines: readonly string[], patterns: readonly RegExp[], text: string): void {
  let at = -1
  for (const pattern of patterns) {
    const found = lines.findIndex((line, i) => i > at && pattern.test(line))
    assert.ok(found > at, `${pattern} is missing or out of order\n${text}`)
    at = found
  }
}

/** A picture reduced to what every run has. */
export const structureOf = (svg: string): readonly string[] =>
  structureOfLines([...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, row]) => toText(row!)))

/**
 * What was printed, reduced to what every run has: chapters in order and, sorted, what each one shows. Times, hashes, names
 * that are made up, and the evidence of facts are left out; so are states in a tree and lines that only a slow run prints.
 */
export function structureOfLines(lines: readonly string[]): readonly string[] {
  const chapters: string[][] = [[]]
  for (const line of lines.filter((one) => one !== '' && !/^ {10}/.test(one))) {
    if (CHAPTERS.some(({ title }) => title.test(line))) chapters.push([])
    const key = keyOf(line)
    if (!/^machines updating$/.test(key)) chapters.at(-1)!.push(key)
  }
  return chapters.flatMap(([title = '', ...rest]) => [title, ...new Set(rest.toSorted())])
}

const FACT = /^ {2}\d\S* +(\S.{14}) (\S.{0,15})/

function keyOf(line: string): string {
  const fact = FACT.exec(line)
  if (fact) return `${fact[1]!.trim()} ${fact[2]!.trim()}`
  return line
    .trim()
    .split(/ {2,}/)[0]!
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'HASH')
    .replaceAll(/\d+\.\d+\.\d+/g, 'VERSION')
}

const toText = (row: string) =>
  row
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .trimEnd()
