// Takes an installation away: pools drained, nodes gone, release and definitions, then only what the journal says capt
// made, in reverse order, and the journal last. Interrupted at any point, the next run continues.
import { DeploymentKind, NodeKind } from '#api'
import { listKarpenterMachines } from '#aws'
import { KARPENTER_RELEASE } from '#catalog'
import { CaptError } from '#lib'
import {
  deleteJournal,
  hasBroughtFlux,
  isGivenBack,
  type Journal,
  type KeptJournal,
  type ResourceRef,
  writeJournal,
} from '../journal.ts'
import { EC2NodeClassKind, getOne, isSelfManaged, listAll, NodeClaimKind, NodePoolKind, POOL_LABEL } from '../kinds.ts'
import { attempt } from './attempt.ts'
import { describe } from './describe.ts'
import { fluxUsers } from './flux.ts'
import { takeBack } from './hand-over.ts'
import { takeRelease } from './release.ts'
import { remove } from './remove.ts'
import { type Site, waitFor } from './site.ts'

interface Removal {
  readonly pools: readonly string[]
  readonly claims: readonly string[]
  readonly classes: readonly string[]
  /** The controller that has to end the machines runs. */
  readonly isControllerAlive: boolean
  /** Machines in EC2 that carry the tags of Karpenter and of this cluster. */
  readonly machines: readonly string[]
  /** Who else uses the Flux that capt brought: then it stays. */
  readonly fluxUsers: readonly string[]
  /** What capt made, in the order in which it goes. */
  readonly made: readonly ResourceRef[]
}

export async function surveyRemoval({ journal }: { readonly journal: Journal }, site: Site): Promise<Removal> {
  const hasRelease = releaseOf(journal) !== undefined
  const names = async (kind: typeof NodePoolKind) =>
    hasRelease ? (await listAll(site.objects, kind)).filter(isSelfManaged).map(({ metadata }) => metadata.name) : []
  const deployment = (await getOne(site.objects, DeploymentKind, {
    namespace: journal.namespace,
    name: KARPENTER_RELEASE,
  })) as { status?: { availableReplicas?: number } } | undefined
  return {
    pools: await names(NodePoolKind),
    claims: await names(NodeClaimKind),
    classes: await names(EC2NodeClassKind),
    isControllerAlive: (deployment?.status?.availableReplicas ?? 0) > 0,
    machines: hasRelease ? await listKarpenterMachines(site.aws, site.cluster.name) : [],
    fluxUsers: hasBroughtFlux(journal) ? await fluxUsers(site) : [],
    made: [...journal.made].reverse(),
  }
}

/** Without it the Karpenter that runs is not capt's: its nodes stay with it. */
const releaseOf = ({ made }: Journal): ResourceRef | undefined => made.find(({ type }) => type === 'release')

/** What stays behind when nobody ends it, as one line each. */
export const orphansOf = ({ claims, machines }: Removal): readonly string[] => [
  ...claims.map((name) => `NodeClaim ${name}`),
  ...machines.map((id) => `EC2 instance ${id}`),
]

const NEXT = 'run the same command again to continue'

export async function uninstall(kept: KeptJournal, removal: Removal, isForced: boolean, site: Site): Promise<void> {
  const { journal } = kept
  if (!removal.isControllerAlive && orphansOf(removal).length > 0 && !isForced)
    throw new CaptError(
      'CAPT_KARPENTER_NOT_DRAINED',
      `Karpenter does not run, so nobody would end ${orphansOf(removal).join(', ')}`,
      {
        hint: `bring it back (capt karpenter install ${journal.cluster}), or --force to leave them behind`,
      },
    )
  await writeJournal(site.objects, { ...journal, phase: 'removing' }, kept.object)
  await attempt('restore what the Cluster Autoscaler scales', NEXT, () => takeBack(journal, site))
  const release = releaseOf(journal)
  if (release) {
    await attempt('remove the nodes of Karpenter', NEXT, () => removeNodes(removal, site))
    const what = `remove ${describe(release)}`
    site.report(what)
    await attempt(what, NEXT, () => takeRelease(release.of ?? journal.namespace, release.value, site))
  }
  for (const ref of removal.made) {
    if (!isRemovedByName(ref)) continue
    const what = `remove ${describe(ref)}`
    site.report(what)
    await attempt(what, NEXT, () => remove(ref, site))
  }
  await deleteJournal(site.objects)
}

/** Pools, classes and the release go before in an order of their own; some things are given back, and the Spot role stays. */
const isRemovedByName = (ref: ResourceRef): boolean =>
  !isGivenBack(ref) && !['release', 'node-pool', 'node-class', 'spot-role'].includes(ref.type)

const DRAIN_HINT =
  'look for PodDisruptionBudgets and pods with karpenter.sh/do-not-disrupt: kubectl describe nodeclaims'

/**
 * Pools first, so that no node comes back; their controller ends the machines. Without a controller nobody takes its finalizers
 * off: capt does, those of the Nodes included, which would otherwise outlive their machines.
 */
async function removeNodes({ pools, classes, isControllerAlive }: Removal, site: Site): Promise<void> {
  const { objects } = site
  const deleteAll = async (kind: typeof NodePoolKind, names: readonly string[]) => {
    for (const name of names) {
      site.report(`remove ${kind.kind} ${name}`)
      if (!isControllerAlive) await dropFinalizers(site, kind, name)
      await objects.delete(kind, { name }, { propagation: 'Background' })
    }
  }
  const left = async (kind: typeof NodePoolKind) => {
    const names = (await listAll(objects, kind)).filter(isSelfManaged).map(({ metadata }) => metadata.name)
    return names.length === 0 ? undefined : names.join(', ')
  }
  await deleteAll(NodePoolKind, pools)
  if (!isControllerAlive) {
    const claims = (await listAll(objects, NodeClaimKind)).filter(isSelfManaged)
    await deleteAll(
      NodeClaimKind,
      claims.map(({ metadata }) => metadata.name),
    )
    for (const { metadata } of await listAll(objects, NodeKind, { labelSelector: POOL_LABEL }))
      await dropFinalizers(site, NodeKind, metadata.name)
  }
  // A claim goes with its pool; one that outlives it is deleted by name.
  for (const claim of await listAll(objects, NodeClaimKind))
    if (isSelfManaged(claim) && !claim.metadata.deletionTimestamp && claim.metadata.labels?.[POOL_LABEL] !== undefined)
      await objects.delete(NodeClaimKind, { name: claim.metadata.name })
  await waitFor(site, 'the end of every node of Karpenter', 'CAPT_KARPENTER_NOT_DRAINED', DRAIN_HINT, () =>
    left(NodeClaimKind),
  )
  await waitFor(site, 'the end of the NodePools', 'CAPT_KARPENTER_NOT_DRAINED', DRAIN_HINT, () => left(NodePoolKind))
  await deleteAll(EC2NodeClassKind, classes)
  await waitFor(site, 'the end of the EC2NodeClasses', 'CAPT_KARPENTER_NOT_DRAINED', DRAIN_HINT, () =>
    left(EC2NodeClassKind),
  )
}

/** Those of Karpenter; what others wait for stays. */
async function dropFinalizers({ objects }: Site, kind: typeof NodePoolKind, name: string): Promise<void> {
  const { finalizers = [] } = (await getOne(objects, kind, { name }))?.metadata ?? {}
  const kept = finalizers.filter((one) => !/^karpenter\.(sh|k8s\.aws)\//.test(one))
  if (kept.length < finalizers.length)
    await objects.patch(kind, { name }, { type: 'merge', body: { metadata: { finalizers: kept } } })
}
