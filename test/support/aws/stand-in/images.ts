// The public SSM parameters of EKS-optimised images, below /aws/service/eks/optimized-ami. Ids are made from the name, so
// that they stay the same; moto answers for every other parameter.
import { createHash } from 'node:crypto'
import type { Json } from './call.ts'

const PREFIX = '/aws/service/eks/optimized-ami/'
const KUBERNETES = ['1.36', '1.35', '1.34', '1.33', '1.32', '1.31']
const DATE = '20261102'

/** By variant: the beginning of its image's name, and the newest Kubernetes version that has it. */
const VARIANTS: Readonly<Record<string, { readonly image: string; readonly until?: string }>> = {
  'amazon-linux-2023/x86_64/standard': { image: 'amazon-eks-node-al2023-x86_64-standard' },
  'amazon-linux-2023/arm64/standard': { image: 'amazon-eks-node-al2023-arm64-standard' },
  'amazon-linux-2023/x86_64/nvidia': { image: 'amazon-eks-node-al2023-x86_64-nvidia' },
  'amazon-linux-2023/arm64/nvidia': { image: 'amazon-eks-node-al2023-arm64-nvidia' },
  'amazon-linux-2023/x86_64/neuron': { image: 'amazon-eks-node-al2023-x86_64-neuron' },
  'amazon-linux-2': { image: 'amazon-eks-node', until: '1.32' },
  'amazon-linux-2-arm64': { image: 'amazon-eks-arm64-node', until: '1.32' },
  'amazon-linux-2-gpu': { image: 'amazon-eks-gpu-node', until: '1.32' },
}

export interface Parameter {
  readonly Name: string
  readonly Type: 'String'
  readonly Value: string
  readonly Version: number
  readonly LastModifiedDate: number
  readonly ARN: string
  readonly DataType: string
}

export const isImageParameter = (name: string): boolean => name.startsWith(PREFIX)

/** Every parameter of a region, by name. */
export function imageParameters(region: string, partition = 'aws'): ReadonlyMap<string, Parameter> {
  const all = new Map<string, Parameter>()
  const add = (name: string, value: string) =>
    all.set(name, {
      Name: name,
      Type: 'String',
      Value: value,
      Version: 1,
      LastModifiedDate: Date.UTC(2026, 10, 2) / 1000,
      // Public parameters belong to no account.
      ARN: `arn:${partition}:ssm:${region}::parameter${name}`,
      DataType: name.endsWith('/image_id') ? 'aws:ec2:image' : 'text',
    })
  for (const version of KUBERNETES)
    for (const [variant, { image, until }] of Object.entries(VARIANTS)) {
      if (until !== undefined && KUBERNETES.indexOf(version) < KUBERNETES.indexOf(until)) continue
      const image_name = `${image}-${version}-v${DATE}`
      const image_id = `ami-0${createHash('sha256').update(`${region}/${image_name}`).digest('hex').slice(0, 16)}`
      const release_version = `${version}.2-${DATE}`
      const described = { schema_version: '2', image_id, image_name, release_version }
      // The recommended image, and the same image under its own name.
      for (const folder of ['recommended', image_name]) {
        add(`${PREFIX}${version}/${variant}/${folder}`, JSON.stringify(described))
        for (const [field, value] of Object.entries({ image_id, image_name, release_version }))
          add(`${PREFIX}${version}/${variant}/${folder}/${field}`, value)
      }
    }
  return all
}

/** GetParametersByPath: parameters right below a path, or at any depth. */
export function parametersBelow(all: ReadonlyMap<string, Parameter>, body: Json): Json {
  const path = `${String(body['Path']).replace(/\/$/, '')}/`
  const found = [...all.values()].filter(
    ({ Name }) => Name.startsWith(path) && (body['Recursive'] === true || !Name.slice(path.length).includes('/')),
  )
  const start = Number(body['NextToken'] ?? 0)
  const end = start + Number(body['MaxResults'] ?? 10)
  return { Parameters: found.slice(start, end), ...(end < found.length ? { NextToken: String(end) } : {}) }
}
