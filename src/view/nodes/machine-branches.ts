// Machines in the tree of a cluster: one line per deployment, set or single machine. Machines of a deployment or a set
// have a line of their own only while they are not ready.
import { type AnyObject, type CAPTMachine, type CAPTMachineDeployment, type CAPTMachineSet, conditionOf } from '#api'
import { counted } from '#lib'
import { type Branch, type State, stateOf } from '../branch.ts'

export interface ClusterMachines {
  readonly deployments: readonly CAPTMachineDeployment[]
  readonly sets: readonly CAPTMachineSet[]
  readonly machines: readonly CAPTMachine[]
}

interface TreePorts {
  branchOf(object: AnyObject, state: State, fact: string, children: readonly Branch[]): Branch
  /** The applies of an owner as branches. */
  ownedBy(owner: AnyObject): readonly Branch[]
}

export function machineBranches(
  { deployments, sets, machines }: ClusterMachines,
  { branchOf, ownedBy }: TreePorts,
): readonly Branch[] {
  const single = (machine: CAPTMachine): Branch => {
    const state = stateOf(machine)
    const fact = [machine.spec.instanceType, machine.status?.instanceId].filter(Boolean).join(', ')
    return branchOf(machine, state, factOr(machine, state, fact), state === 'ready' ? [] : ownedBy(machine))
  }
  const group = (object: CAPTMachineDeployment | CAPTMachineSet, members: readonly CAPTMachine[]): Branch => {
    const state = stateOf(object)
    const fact = [counted(object.spec.replicas ?? 1, 'machine'), object.spec.template.spec.instanceType].join(', ')
    const open = members.filter((machine) => stateOf(machine) !== 'ready' && !isLeaving(machine))
    return branchOf(object, state, factOr(object, state, fact), open.map(single))
  }
  return [
    ...deployments.map((deployment) => group(deployment, membersOf(deployment, sets, machines))),
    ...withoutOwner(sets, deployments).map((set) => group(set, ownedOf(set, machines))),
    ...withoutOwner(machines, sets).map(single),
  ]
}

export const ownedOf = <T extends AnyObject>({ metadata }: AnyObject, all: readonly T[]): readonly T[] =>
  all.filter((one) => one.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))

export const withoutOwner = <T extends AnyObject>(all: readonly T[], owners: readonly AnyObject[]): readonly T[] =>
  all.filter((one) => !owners.some((owner) => ownedOf(owner, [one]).length > 0))

const membersOf = (
  deployment: CAPTMachineDeployment,
  sets: readonly CAPTMachineSet[],
  machines: readonly CAPTMachine[],
): readonly CAPTMachine[] => ownedOf(deployment, sets).flatMap((set) => ownedOf(set, machines))

/** A machine that is replaced goes without holding anything up; one that cannot go is stalled. */
const isLeaving = (machine: CAPTMachine): boolean => stateOf(machine) === 'deleting'

const factOr = (object: AnyObject, state: State, fact: string): string =>
  state === 'ready' ? fact : conditionOf(object, 'Ready')?.message.split('\n')[0] || fact
