// Plays helm-controller: a release becomes Ready when its source is fetched and what the chart brings is available.
import {
  type AnyObject,
  ConfigMapKind,
  CustomResourceDefinitionKind,
  DeploymentKind,
  isTrue,
  type KindRef,
  keyOf,
  ServiceAccountKind,
  type UnknownObject,
} from '#api'
import { ignore, isKubeError, type Objects, type Projected } from '#kube'
import { hashOf, messageOf } from '#lib'
import {
  act,
  addFinalizer,
  type Controller,
  type Decision,
  done,
  hasFinalizer,
  removeFinalizer,
  type World,
  waiting,
} from '#runtime'
import { isRunning, type Stage, wakeAll } from '../actor.ts'
import { faultOf, parseFault, wakeOnFaults } from '../faults.ts'
import { FAULTS, HelmReleaseKind, HelmRepositoryKind, OCIRepositoryKind } from '../names.ts'
import { renderSimulatedChart, simulatedChart } from './charts.ts'
import {
  type Action,
  type Chart,
  DIGEST_ANNOTATION,
  isAvailable,
  isInstalled,
  nameOf,
  type Observed,
  type Release,
  report,
  timeoutIn,
} from './helm-release-status.ts'
import { FLUX_FINALIZER, type Source } from './sources.ts'

export function helmReleaseActor(stage: Stage): Controller<Release, Observed, Action> {
  return {
    name: 'simulated-helmrelease',
    kind: HelmReleaseKind,
    summary: false,
    wakes: [
      ...[DeploymentKind, OCIRepositoryKind, HelmRepositoryKind].map((kind) => wakeAll(HelmReleaseKind, kind)),
      wakeOnFaults(HelmReleaseKind),
    ],
    observe: (world, release) => observe(world, release, stage),
    decide,
    act: actOn,
    status: report,
  }
}

async function observe({ cache }: World, release: Projected<Release>, stage: Stage): Promise<Observed> {
  const chart = chartOf(release, (kind, name, namespace) => cache.get<Source>(kind, { namespace, name }))
  const values = release.spec?.values ?? {}
  const name = simulatedChart(chart?.name ?? '').deployment({ release: nameOf(release), values })
  return {
    release,
    isAlive: isRunning(cache, 'helm-controller'),
    chart,
    digest: hashOf({ values, chart: chart?.version }).slice(0, 16),
    deployment: cache.get(DeploymentKind, { namespace: release.metadata.namespace!, name }),
    fault: faultOf(cache, release),
    problem: {},
    nowMs: stage.clock.now(),
  }
}

function chartOf(
  { spec, metadata }: Release,
  find: (kind: KindRef, name: string, namespace: string) => Source | undefined,
): Chart | undefined {
  const namespace = metadata.namespace!
  if (spec?.chartRef) {
    const source = find(OCIRepositoryKind, spec.chartRef.name, spec.chartRef.namespace ?? namespace)
    return {
      name: source?.spec?.url?.split('/').at(-1) ?? '',
      version: source?.spec?.ref?.tag ?? '',
      isReady: source !== undefined && isTrue(source, 'Ready'),
      problem: `${spec.chartRef.kind} '${spec.chartRef.name}' ${source ? 'is not ready' : 'not found'}`,
    }
  }
  if (!spec?.chart) return undefined
  const { chart, version = '', sourceRef } = spec.chart.spec
  const source = find(HelmRepositoryKind, sourceRef.name, sourceRef.namespace ?? namespace)
  const isReady = source !== undefined && (source.spec?.type === 'oci' || isTrue(source, 'Ready'))
  return {
    name: chart,
    version,
    isReady,
    problem: `HelmRepository '${sourceRef.name}' ${source ? 'is not ready' : 'not found'}`,
  }
}

function decide(observed: Observed): Decision<Action> {
  const { release, chart } = observed
  if (!observed.isAlive) return waiting('NoController', 'helm-controller does not run')
  const isHeld = hasFinalizer(release, FLUX_FINALIZER)
  if (release.metadata.deletionTimestamp) {
    if (!isHeld) return done
    return release.spec?.suspend ? act<Action>({ do: 'let-go' }) : act<Action>({ do: 'uninstall' }, { do: 'let-go' })
  }
  if (release.spec?.suspend) return done
  if (!isHeld) return act<Action>({ do: 'hold' })
  if (!chart?.isReady) return waiting('SourceNotReady', chart?.problem ?? 'No chart')
  if (!isInstalled(observed)) return act<Action>({ do: 'install' })
  const left = isAvailable(observed) ? 0 : timeoutIn(observed)
  return left > 0 ? waiting('Progressing', 'Waiting for what was installed', left) : done
}

async function actOn({ objects }: World, observed: Observed, action: Action): Promise<void> {
  const { release } = observed
  if (action.do === 'hold') return await addFinalizer(objects, HelmReleaseKind, release, FLUX_FINALIZER)
  if (action.do === 'let-go') return await removeFinalizer(objects, HelmReleaseKind, release, FLUX_FINALIZER)
  if (action.do === 'uninstall') return await uninstall(objects, observed)
  try {
    await install(objects, observed)
  } catch (error) {
    if (isKubeError(error)) throw error
    observed.problem.message = messageOf(error)
  }
}

async function install(objects: Objects, { release, chart, digest }: Observed): Promise<void> {
  const rendered = renderSimulatedChart({
    chart: chart!.name,
    namespace: release.metadata.namespace!,
    release: nameOf(release),
    version: chart!.version,
    values: release.spec?.values ?? {},
  })
  const faults = (await objects.get<AnyObject & { data?: Record<string, string> }>(ConfigMapKind, FAULTS))?.data ?? {}
  for (const definition of simulatedChart(chart!.name).definitions(chart!.version)) {
    if (parseFault(faults[definition.metadata.name]).is !== 'missing')
      await ensure(objects, CustomResourceDefinitionKind, definition)
  }
  for (const object of rendered) {
    const kind = object.kind === 'Deployment' ? DeploymentKind : ServiceAccountKind
    await ensure(objects, kind, {
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [DIGEST_ANNOTATION]: digest } },
    } as UnknownObject)
  }
}

/** By the marks of Helm: values may have changed since the release was installed. */
async function uninstall(objects: Objects, { release }: Observed): Promise<void> {
  const options = {
    namespace: release.metadata.namespace!,
    labelSelector: `app.kubernetes.io/managed-by=Helm,app.kubernetes.io/instance=${nameOf(release)}`,
  }
  for (const kind of [ServiceAccountKind, DeploymentKind])
    for await (const object of objects.list<AnyObject>(kind, options))
      await objects.delete(kind, keyOf(object)).catch(ignore('NotFound'))
}

async function ensure(objects: Objects, kind: KindRef, object: UnknownObject): Promise<void> {
  try {
    await objects.create(kind, object)
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
    const { apiVersion: _version, kind: _kind, ...body } = object
    await objects.patch(kind, keyOf(object), { type: 'merge', body })
  }
}
