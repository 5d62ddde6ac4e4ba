// Reads the fenced blocks of a page as steps that a reader would take. A comment before a block says what a reader would
// know from the text:
//   <!-- docs: not run: REASON -->   it cannot run here
//   <!-- docs: keeps running -->     the command stays in its terminal, and the following blocks are typed in another one
//   <!-- docs: applied -->           manifests that become Ready here; others are only checked by the server
//   <!-- docs: in AWS -->            for somebody with an AWS account: manifests become Ready in it, and commands use it
//   <!-- docs: in AWS, with the EKS cluster NAME -->   the same, and capt did not make the cluster
import { parseAllDocuments } from 'yaml'

export interface Step {
  readonly page: string
  /** Line of the opening fence. */
  readonly line: number
  readonly language: string
  readonly text: string
  readonly notRun?: string
  readonly mark?: 'keeps running' | 'applied' | 'in AWS'
  /** An EKS cluster that the reader has. */
  readonly eksCluster?: string
}

const MARK = /^\s*<!-- docs: (?:not run: (.+?)|(keeps running|applied|in AWS)(?:, with the EKS cluster (\S+))?) -->$/

export function readSteps(page: string, text: string): readonly Step[] {
  const lines = text.split('\n')
  const steps: Step[] = []
  for (let at = 0; at < lines.length; at++) {
    const fence = /^(\s*)```(\S*)$/.exec(lines[at]!)
    if (!fence) continue
    const end = lines.findIndex((line, i) => i > at && /^\s*```$/.test(line))
    if (end < 0) throw new Error(`${page}:${at + 1}: the block has no end`)
    const comment = lines[at - 1] ?? ''
    const [known, notRun, mark, eksCluster] = MARK.exec(comment) ?? []
    if (comment.includes('<!-- docs:') && known === undefined) throw new Error(`${page}:${at}: ${comment} is not known`)
    const indent = fence[1]!.length
    steps.push({
      page,
      line: at + 1,
      language: fence[2]!,
      text: lines
        .slice(at + 1, end)
        .map((line) => line.slice(indent))
        .join('\n'),
      ...(notRun === undefined ? {} : { notRun }),
      ...(eksCluster === undefined ? {} : { eksCluster }),
      ...(mark === undefined ? {} : { mark: mark as NonNullable<Step['mark']> }),
    })
    at = end
  }
  return steps
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
}

const KINDS = {
  Cluster: 'cluster.x-k8s.io',
  CAPTCluster: 'infrastructure.cluster.x-k8s.io',
  CAPTControlPlane: 'controlplane.cluster.x-k8s.io',
} as const

/** What a page leaves out where it shows one part of a cluster: the other two of its three objects. */
export function missingParts(text: string): readonly object[] {
  const shown = parseAllDocuments(text).map((one) => one.toJS() as Manifest)
  const parts = shown.filter(({ kind }) => Object.hasOwn(KINDS, kind))
  const names = [...new Set(parts.map(({ metadata }) => metadata.name))]
  return names.flatMap((name) =>
    (Object.keys(KINDS) as (keyof typeof KINDS)[])
      .filter((kind) => !parts.some((one) => one.kind === kind && one.metadata.name === name))
      .map((kind) => ({ kind, metadata: { name }, ...PART[kind](name) })),
  )
}

const ref = (kind: 'CAPTCluster' | 'CAPTControlPlane', name: string) => ({ apiGroup: KINDS[kind], kind, name })

const PART = {
  Cluster: (name: string) => ({
    apiVersion: `${KINDS.Cluster}/v1beta2`,
    spec: { infrastructureRef: ref('CAPTCluster', name), controlPlaneRef: ref('CAPTControlPlane', name) },
  }),
  CAPTCluster: () => ({
    apiVersion: `${KINDS.CAPTCluster}/v1beta1`,
    spec: { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' } },
  }),
  CAPTControlPlane: () => ({
    apiVersion: `${KINDS.CAPTControlPlane}/v1beta1`,
    spec: { version: '1.35', workspaceTemplateRef: { name: 'eks-controlplane' } },
  }),
} as const
