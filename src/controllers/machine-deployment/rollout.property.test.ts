// A rollout over random sequences of changes and failures: whatever happens in which order, no available machine goes
// before its replacement is available, beyond maxUnavailable, nor are machines given up because their cluster does not
// answer; and when the failures end, so does the rollout.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decideReplicas, type MachineFacts } from '../machine-set/replicas.ts'
import { decideRollout, minAvailable, resolveStrategy, type Strategy } from './rollout.ts'

const SEQUENCES = 5_000
const TEMPLATES = 3

interface Machine {
  name: string
  is: 'booting' | 'available' | 'failed' | 'deleting'
}
interface MachineSet {
  template: number
  revision: number
  replicas: number
  machines: Machine[]
}

type Step =
  | { readonly do: 'deployment' }
  | { readonly do: 'set' | 'boot' | 'fail' | 'gone'; readonly pick: number }
  | { readonly do: 'scale'; readonly replicas: number }
  | { readonly do: 'template'; readonly template: number }
  | { readonly do: 'strategy'; readonly type: Strategy['type']; readonly surge: string; readonly unavailable: string }
  | { readonly do: 'pause'; readonly paused: boolean }
  /** The workload cluster stops or begins to answer: without it no machine counts as available. */
  | { readonly do: 'answer'; readonly answers: boolean }

class World {
  replicas = 3
  template = 0
  paused = false
  answers = true
  rule: { type: Strategy['type']; maxSurge: number | string; maxUnavailable: number | string } = {
    type: 'RollingUpdate',
    maxSurge: 1,
    maxUnavailable: 0,
  }
  sets: MachineSet[] = []
  private made = 0
  private revisions = 0

  get strategy(): Strategy {
    const { type, ...rollingUpdate } = this.rule
    return resolveStrategy({ type, rollingUpdate }, this.replicas)
  }
  get all(): Machine[] {
    return this.sets.flatMap(({ machines }) => machines)
  }
  get available(): number {
    return this.all.filter(this.isAvailable).length
  }
  private readonly isAvailable = ({ is }: Machine): boolean => this.answers && is === 'available'

  take(step: Step): void {
    if (step.do === 'deployment') this.reconcileDeployment()
    if (step.do === 'set' && this.sets.length > 0) this.reconcileSet(this.sets[step.pick % this.sets.length]!)
    if (step.do === 'boot') this.become('booting', 'available', step.pick)
    if (step.do === 'fail') this.become(step.pick % 2 ? 'available' : 'booting', 'failed', step.pick)
    if (step.do === 'gone') this.forget(step.pick)
    if (step.do === 'scale') this.replicas = step.replicas
    if (step.do === 'template') this.template = step.template
    if (step.do === 'strategy') this.rule = { type: step.type, maxSurge: step.surge, maxUnavailable: step.unavailable }
    if (step.do === 'pause') this.paused = step.paused
    if (step.do === 'answer') this.answers = step.answers
  }

  reconcileDeployment(): void {
    const { create, scale } = decideRollout({
      replicas: this.replicas,
      strategy: this.strategy,
      paused: this.paused,
      sets: this.sets.map(({ template, revision, replicas, machines }) => ({
        name: String(template),
        isCurrent: template === this.template,
        revision,
        replicas,
        machines: machines.filter(({ is }) => is !== 'deleting').length,
        available: machines.filter(this.isAvailable).length,
        deleting: machines.filter(({ is }) => is === 'deleting').length,
      })),
    })
    const before = this.size()
    if (!this.paused && this.strategy.type === 'RollingUpdate') this.assertEnoughStay(scale)
    for (const { name, to } of scale) {
      const set = this.sets.find(({ template }) => String(template) === name)!
      assert.ok(to >= 0, `${name} is scaled to ${to}`)
      set.replicas = to
    }
    if (create !== undefined)
      this.sets.push({ template: this.template, revision: ++this.revisions, replicas: create, machines: [] })
    const { type, maxSurge } = this.strategy
    const bound = this.replicas + (type === 'Recreate' ? 0 : maxSurge)
    if (!this.paused) assert.ok(this.size() <= Math.max(before, bound), 'more machines than maxSurge allows')
  }

  /** What the deployment itself takes from its old sets; a set then holds back what is still needed. */
  private assertEnoughStay(scale: readonly { readonly name: string; readonly to: number }[]): void {
    const least = minAvailable(this.replicas, this.strategy)
    const after = this.sets.map((set) => {
      const { to = set.replicas } = scale.find(({ name }) => name === String(set.template)) ?? {}
      return { set, to, available: set.machines.filter(this.isAvailable).length }
    })
    const old = after.filter(({ set }) => set.template !== this.template)
    if (!old.some(({ set, to }) => to < set.replicas)) return
    const total = (of: readonly (typeof after)[number][], count: (one: (typeof after)[number]) => number) =>
      of.reduce((sum, one) => sum + count(one), 0)
    const current = after.filter((one) => !old.includes(one))
    const availableBefore = total(after, ({ set, available }) => Math.min(available, set.replicas))
    const availableAfter = total(after, ({ to, available }) => Math.min(available, to))
    assert.ok(
      availableAfter >= Math.min(least, availableBefore),
      `${availableAfter} available machines are left of ${availableBefore}, at least ${least} must stay`,
    )
    const left = total(old, ({ to }) => to) + total(current, ({ to, available }) => Math.min(available, to))
    assert.ok(left >= least, `${left} machines are left that are not new, at least ${least} must stay`)
  }

  private size(): number {
    return this.sets.reduce(
      (total, { replicas, machines }) =>
        total + Math.max(replicas, machines.filter(({ is }) => is !== 'deleting').length),
      0,
    )
  }

  reconcileSet(set: MachineSet): void {
    const least = minAvailable(this.replicas, this.strategy)
    const { create, remove } = decideReplicas({
      wanted: set.replicas,
      machines: set.machines.map((machine) => toFacts(machine, this.isAvailable(machine))),
      policy: 'Oldest',
      spare: this.strategy.type === 'Recreate' ? undefined : this.available - least,
    })
    for (let i = 0; i < create; i++) set.machines.push({ name: `m${++this.made}`, is: 'booting' })
    const going = set.machines.filter(({ name }) => remove.some((one) => one.name === name))
    const lost = going.filter(this.isAvailable).length
    for (const machine of going) machine.is = 'deleting'
    if (lost > 0)
      assert.ok(this.available >= least, `${this.available} available machines, at least ${least} must stay`)
  }

  private become(from: Machine['is'], to: Machine['is'], pick: number): void {
    const candidates = this.all.filter(({ is }) => is === from)
    const machine = candidates[pick % Math.max(1, candidates.length)]
    if (machine) machine.is = to
  }

  private forget(pick: number): void {
    const candidates = this.all.filter(({ is }) => is === 'deleting')
    const machine = candidates[pick % Math.max(1, candidates.length)]
    for (const set of this.sets) set.machines = set.machines.filter((one) => one !== machine)
  }

  /** Failures end, and everybody is asked again until nothing changes. */
  settle(): void {
    this.paused = false
    this.answers = true
    for (let round = 0, before = ''; round < 200 && before !== JSON.stringify(this.sets); round++) {
      before = JSON.stringify(this.sets)
      for (const machine of this.all) if (machine.is === 'booting' || machine.is === 'failed') machine.is = 'available'
      for (const set of this.sets) set.machines = set.machines.filter(({ is }) => is !== 'deleting')
      this.reconcileDeployment()
      for (const set of this.sets) this.reconcileSet(set)
    }
    const left = this.sets.filter(({ machines }) => machines.length > 0)
    const current = this.sets.find(({ template }) => template === this.template)
    assert.equal(current?.machines.length ?? 0, this.replicas, 'the current template has every replica')
    assert.ok(
      left.every((set) => set === current),
      'no machine of an earlier template is left',
    )
  }
}

const toFacts = ({ name, is }: Machine, isAvailable: boolean): MachineFacts => ({
  name,
  uid: name,
  createdAt: name.padStart(8, '0'),
  isDeleting: is === 'deleting',
  isFailed: is === 'failed',
  isProvisioned: is === 'available',
  isReady: isAvailable,
  isAvailable,
  isMarked: false,
})

const pick = fc.nat({ max: 50 })
const bound = fc.constantFrom('0%', '10%', '25%', '50%', '100%')
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Step>({ do: 'deployment' }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('set', 'boot'), pick }) as fc.Arbitrary<Step> },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('fail', 'gone'), pick }) as fc.Arbitrary<Step> },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({ do: fc.constant('scale'), replicas: fc.nat({ max: 8 }) }) as fc.Arbitrary<Step>,
      fc.record({ do: fc.constant('template'), template: fc.nat({ max: TEMPLATES - 1 }) }) as fc.Arbitrary<Step>,
      fc.record({
        do: fc.constant('strategy'),
        type: fc.constantFrom('RollingUpdate', 'RollingUpdate', 'Recreate'),
        surge: bound,
        unavailable: bound,
      }) as fc.Arbitrary<Step>,
      fc.record({ do: fc.constant('pause'), paused: fc.boolean() }) as fc.Arbitrary<Step>,
      fc.record({ do: fc.constant('answer'), answers: fc.boolean() }) as fc.Arbitrary<Step>,
    ),
  },
)

describe('A rollout', () => {
  it(`never removes an available machine too early, and ends, in ${SEQUENCES} random sequences`, () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
        const world = new World()
        for (const one of steps) world.take(one)
        world.settle()
      }),
      { numRuns: SEQUENCES },
    )
  })
})
