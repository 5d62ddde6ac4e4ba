// Adopts a cluster with its Terraform state and the template that made it. Template, state and a paused apply are written first; a
// plan upon them must be empty. Only then do the objects of the cluster follow; otherwise everything is withdrawn.
import {
  type AnyObject,
  CAPTControlPlane,
  keyOf,
  PAUSED_ANNOTATION,
  readManifests,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { speculate } from '#app'
import {
  checkTarget,
  type ManagedAdoption,
  place,
  planManagedAdoption,
  refuseFirstPlan,
  resume,
  withdraw,
} from '#import'
import type { Connected } from '#kube'
import { CaptError, parseDuration } from '#lib'
import { renderPlan } from '#view'
import type { Arguments, Io } from '../command.ts'
import { applyManifests } from '../commands/clusters/apply.ts'
import type { Applied } from '../progress/wait.ts'
import { loadManifests, readSource } from '../sources.ts'
import { planSpeculatively } from '../speculative-plan.ts'

export const MANAGED_OPTIONS = {
  state: {
    type: 'string',
    value: 'FILE',
    about:
      'Terraform state that made the cluster (terraform state pull): capt then manages it as a whole. Needs --template.',
  },
  template: {
    type: 'string',
    value: 'FILE',
    about: 'The configuration that made it, as a WorkspaceTemplate. Its first plan must be empty.',
  },
  'plan-wait': { type: 'string', value: 'DURATION', default: '15m', about: 'How long the first plan may take.' },
} as const

/** Undefined for a cluster that is only read. */
export async function readManaged(
  args: Arguments,
  io: Io,
  at: Pick<Parameters<typeof planManagedAdoption>[0], 'name' | 'namespace' | 'eks'>,
): Promise<ManagedAdoption | undefined> {
  const { state, template } = args.values
  if (typeof state !== 'string' || typeof template !== 'string') return undefined
  const manifests = (await loadManifests([template], io)).map(({ object }) => object)
  return planManagedAdoption({ ...at, manifests, state: { text: (await readSource(state, io)).text, file: state } })
}

export function checkManagedOptions({ values }: Arguments): void {
  if ((values['state'] === undefined) === (values['template'] === undefined)) return
  throw new CaptError('CAPT_USAGE', '--state and --template belong together', {
    hint: 'without both of them the cluster is only read: capt adopt shop --region eu-west-1',
  })
}

/** `manifest`: the objects of the cluster. */
export async function adoptManaged(
  adoption: ManagedAdoption,
  manifest: string,
  connected: Connected,
  args: Arguments,
  io: Io,
): Promise<readonly Applied[]> {
  const { mapped, assignment } = adoption
  const landing = { to: connected, clock: io.clock, report: (text: string) => io.stderr.write(`  ${text}\n`) }
  const manifests = readManifests(manifest, 'the adopted cluster')
  await refuseOther(
    connected,
    manifests.map(({ object }) => object as AnyObject),
  )
  if (await isManaged(adoption, connected)) {
    io.stderr.write(`${assignment.apply.object.metadata.name} has its state already: nothing to do\n`)
    return []
  }
  await checkTarget(mapped, [assignment], landing)
  const isNew = await isTemplateNew(adoption, connected)
  await place(mapped, [assignment], landing)
  const refusal = await planFirst(
    adoption,
    manifests.map(({ object }) => object as AnyObject),
    connected,
    args,
    io,
  ).catch((error: unknown) => {
    if (!(error instanceof CaptError)) throw error
    return error
  })
  if (refusal) {
    await withdraw(assignment, landing)
    if (isNew) await connected.objects.delete(WorkspaceTemplate, keyOf(adoption.template))
    throw refusal
  }
  const applied = await applyManifests(manifests, { ...connected, io })
  await release(adoption, connected)
  await resume(mapped, [assignment], landing)
  return applied
}

/** A cluster that is only read cannot change its policy, and one with another template is managed already. */
async function refuseOther({ objects, namespace }: Connected, manifests: readonly AnyObject[]): Promise<void> {
  const wanted = manifests.find(({ kind }) => kind === CAPTControlPlane.kind) as CAPTControlPlane
  const name = wanted.metadata.name
  const there = await objects.get<CAPTControlPlane>(CAPTControlPlane, { namespace, name })
  if (!there || there.spec.workspaceTemplateRef?.name === wanted.spec.workspaceTemplateRef?.name) return
  const adopted = there.spec.policy === 'Adopted' ? 'it is adopted and only read' : 'it has another template'
  throw new CaptError('CAPT_ADOPT_STATE', `Cluster ${name} is there already: ${adopted}`, {
    hint: `delete it first (an adopted one is only detached): capt delete cluster ${name}; nothing was changed`,
  })
}

async function planFirst(
  { assignment }: ManagedAdoption,
  manifests: readonly AnyObject[],
  connected: Connected,
  args: Arguments,
  io: Io,
): Promise<CaptError | undefined> {
  const { objects, namespace } = connected
  const target = assignment.apply.object.metadata.name
  const found = (await speculate(objects, namespace, manifests)).find((one) => one.target === target)!
  io.stderr.write('planning upon the state; nothing is applied\n')
  const plan = await planSpeculatively(connected, found, parseDuration(String(args.values['plan-wait'])), io)
  const refusal = refuseFirstPlan(plan)
  if (refusal) io.stderr.write(renderPlan(plan, (_symbol, text) => text))
  return refusal
}

/** An earlier run of the command came to its end. */
async function isManaged({ assignment }: ManagedAdoption, { objects }: Connected): Promise<boolean> {
  const key = keyOf(assignment.apply.object)
  const there = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
  return there !== undefined && !(PAUSED_ANNOTATION in (there.metadata.annotations ?? {}))
}

async function isTemplateNew({ template }: ManagedAdoption, connected: Connected): Promise<boolean> {
  return (await connected.objects.get(WorkspaceTemplate, keyOf(template))) === undefined
}

/** The first plan is empty: from here on a deletion destroys, as it does for every cluster that capt manages. */
async function release({ assignment }: ManagedAdoption, { objects }: Connected): Promise<void> {
  const body = { spec: { retainWorkspaceOnDelete: null } }
  await objects.patch(WorkspaceTemplateApply, keyOf(assignment.apply.object), { type: 'merge', body })
}
