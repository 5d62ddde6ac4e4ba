// Sizes of instance types as the simulation knows them, and the smallest type of a pool that has room for a pod. Pure.
import { parseCpu } from '../kubernetes/placement.ts'
import type { NodeClaim, NodePool, Requirement } from './objects.ts'

interface Size {
  readonly cpu: number
  readonly memoryGi: number
}

const SMALL: Readonly<Record<string, number>> = { nano: 2, micro: 2, small: 2, medium: 2, large: 2, metal: 96 }
/** GiB per CPU, by the first letter of the family; 4 for all others. */
const MEMORY: Readonly<Record<string, number>> = { c: 2, r: 8, x: 16 }
/** What the kubelet and the system keep for themselves. */
const RESERVED_MILLICPU = 100
const SIZES = ['large', 'xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge', '24xlarge', '48xlarge']

export const TYPE_LABEL = 'node.kubernetes.io/instance-type'
const SIZE_LABEL = 'karpenter.k8s.aws/instance-size'
const CPU_LABEL = 'karpenter.k8s.aws/instance-cpu'
const FAMILY_LABEL = 'karpenter.k8s.aws/instance-family'

/** `m7i.2xlarge` has 8 CPUs; a size that is not known counts as large. */
export function sizeOf(type: string): Size {
  const [family = '', size = ''] = type.split('.')
  const cpu = SMALL[size] ?? 4 * Number(/^(\d*)xlarge$/.exec(size)?.[1] || (size === 'xlarge' ? 1 : 0.5))
  return { cpu, memoryGi: cpu * (MEMORY[family[0] ?? ''] ?? 4) }
}

export function resourcesOf(type: string) {
  const { cpu, memoryGi } = sizeOf(type)
  return {
    capacity: { cpu: String(cpu), memory: `${memoryGi}Gi`, pods: '58' },
    allocatable: { cpu: `${cpu * 1000 - RESERVED_MILLICPU}m`, memory: `${memoryGi - 1}Gi`, pods: '58' },
  }
}

function allows(requirement: Requirement, value: string): boolean {
  const { operator, values = [] } = requirement
  if (operator === 'In') return values.includes(value)
  if (operator === 'NotIn') return !values.includes(value)
  if (operator === 'Gt') return Number(value) > Number(values[0])
  if (operator === 'Lt') return Number(value) < Number(values[0])
  return true
}

const valuesOf = (requirements: readonly Requirement[], key: string): readonly string[] | undefined =>
  requirements.find((one) => one.key === key && one.operator === 'In')?.values

function candidates(requirements: readonly Requirement[]): readonly string[] {
  const named = valuesOf(requirements, TYPE_LABEL)
  const isArm = valuesOf(requirements, 'kubernetes.io/arch')?.[0] === 'arm64'
  const family = valuesOf(requirements, FAMILY_LABEL)?.[0] ?? (isArm ? 'm7g' : 'm7i')
  const all = named ?? SIZES.map((size) => `${family}.${size}`)
  return all
    .filter((type) =>
      requirements.every((one) => {
        if (one.key === SIZE_LABEL) return allows(one, type.split('.')[1] ?? '')
        return one.key === CPU_LABEL ? allows(one, String(sizeOf(type).cpu)) : true
      }),
    )
    .toSorted((a, b) => sizeOf(a).cpu - sizeOf(b).cpu)
}

export function typeOfClaim({ spec }: NodeClaim): string {
  return candidates(spec?.requirements ?? [])[0] ?? 'm7i.large'
}

/** Undefined when no type of the pool is large enough, or when the limits of the pool forbid another machine. */
export function chooseType(pool: NodePool, podMillicpu: number, claims: readonly NodeClaim[]): string | undefined {
  const { cpu = Number.POSITIVE_INFINITY, memory = Number.POSITIVE_INFINITY } = pool.spec?.limits ?? {}
  const used = claims.map((claim) => sizeOf(typeOfClaim(claim)))
  const freeMillicpu = parseCpu(cpu) - used.reduce((sum, size) => sum + size.cpu * 1000, 0)
  const freeGi = parseGi(memory) - used.reduce((sum, size) => sum + size.memoryGi, 0)
  return candidates(pool.spec?.template?.spec?.requirements ?? []).find((type) => {
    const size = sizeOf(type)
    const hasRoom = size.cpu * 1000 - RESERVED_MILLICPU >= podMillicpu
    return hasRoom && size.cpu * 1000 <= freeMillicpu && size.memoryGi <= freeGi
  })
}

const GI = 2 ** 30
const UNITS: Readonly<Record<string, number>> = {
  ...{ '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: GI, Ti: 2 ** 40 },
  ...{ k: 1e3, M: 1e6, G: 1e9, T: 1e12 },
}

function parseGi(quantity: string | number): number {
  if (typeof quantity === 'number') return quantity / GI
  const [, digits, unit = ''] = /^([0-9.]+)([A-Za-z]*)$/.exec(quantity) ?? []
  return (Number(digits) * (UNITS[unit] ?? Number.NaN)) / GI
}
