// A chart that Flux installs: what every stage type with one reads, renders and checks.
import { fluxChart, mergeValues, type Values } from '#catalog'
import type { JsonObject } from '#lib'
import type { Check } from '../health/read.ts'
import { expand } from '../manifests/expand.ts'
import { MANAGED_LABEL } from '../names.ts'
import { renderPart } from '../resource-set/render-part.ts'
import {
  accessFields,
  type ChartStage,
  chartSourceOf,
  namespaceFor,
  readAccess,
  renderAccess,
} from './registry-access.ts'
import { type Rendered, ready, type StageInput, textOf } from './render/rendered.ts'
import type { InputSources } from './stage-type.ts'

interface StageChart {
  /** Of the release and of its source in the workload cluster. */
  readonly name: string
  readonly namespace: string
  /** `oci://REGISTRY/PATH/CHART`; an override of the delivery wins. */
  readonly url: string
  readonly version: string
  /** The version as the registry spells it, where that differs. */
  readonly tag?: string
  /** Of one install or upgrade. */
  readonly timeout: string
  readonly values: Values
  /** The values contain a variable that came out of a Secret. */
  readonly isSecret: boolean
  /** Beside the checks that source and release are ready. */
  readonly checks?: readonly Check[]
}

/** How the registry of the chart is reached. */
export async function readChart(spec: ChartStage, from: InputSources): Promise<Pick<StageInput, 'access'>> {
  return { access: await readAccess(chartSourceOf(spec, from.override), from) }
}

type Missing = Extract<Rendered, { is: 'missing' }>
type Filled = Pick<StageChart, 'values' | 'isSecret'> & { readonly is: 'filled' }

/** Values of the stage with those of the delivery merged over them. `needed`: variables that must be known as well. */
export function fillValues(
  input: StageInput,
  values: Values | undefined,
  needed: readonly string[] = [],
): Missing | Filled {
  const { variables, override, access, secretVariables } = input
  const filled = expand({ spec: (values ?? {}) as JsonObject, own: (override?.values ?? {}) as JsonObject }, variables)
  const unknown = needed.filter((name) => textOf(variables, name) === undefined)
  const missing = [...new Set([...filled.missing, ...unknown])].sort()
  const absent = access?.missing ?? []
  if (missing.length > 0 || absent.length > 0) return { is: 'missing', variables: missing, sources: absent }
  const isSecret = [...filled.used].some((name) => secretVariables.has(name))
  return { is: 'filled', values: mergeValues(filled.value.spec, filled.value.own), isSecret }
}

/** Secrets of the registry, then the chart. It is healthy when Flux has fetched and released this version. */
export function renderChart(input: StageInput, chart: StageChart): Rendered {
  const { name, namespace, version, isSecret } = chart
  const [source, release] = fluxChart({
    ...chart,
    url: input.override?.chart ?? chart.url,
    tag: chart.tag ?? version,
    fluxVersion: input.versions.flux,
    access: accessFields(input.access, name),
    labels: { [MANAGED_LABEL]: 'true' },
  })
  const checks: readonly Check[] = [
    source.kind === 'OCIRepository'
      ? { type: 'SourceReady', kind: 'OCIRepository', name, namespace }
      : { type: 'SourceReady', kind: 'HelmChart', name: `${namespace}-${name}`, namespace },
    { type: 'HelmReleaseReady', name, namespace, version },
    ...(chart.checks ?? []),
    ...input.stage.checks,
  ]
  return ready(version, [
    ...renderAccess(input, input.access, { name, namespace }),
    renderPart(input, '', [...namespaceFor(namespace), source, release], checks, { secret: isSecret }),
  ])
}
