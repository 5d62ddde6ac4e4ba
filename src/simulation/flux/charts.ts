// What the stand-in helm-controller installs, by the name of the chart. A chart that is not listed is one Deployment with
// the name of the release.
import type { AnyObject, UnknownObject } from '#api'
import { isPlainObject } from '#lib'
import { karpenterDefinitions, renderKarpenterChart } from '../karpenter/chart.ts'
import { simulated } from '../names.ts'

export interface ChartInput {
  readonly chart: string
  readonly namespace: string
  readonly release: string
  readonly version: string
  readonly values: Readonly<Record<string, unknown>>
}

interface SimulatedChart {
  /** CustomResourceDefinitions, which stay when the release is uninstalled. */
  readonly definitions: (version: string) => readonly UnknownObject[]
  /** Name of the Deployment that the release waits for. */
  readonly deployment: (input: Pick<ChartInput, 'release' | 'values'>) => string
  /** Deployments and ServiceAccounts. Throws when a value is missing that the chart requires. */
  readonly render: (input: ChartInput) => readonly AnyObject[]
}

const CHARTS: ReadonlyMap<string, SimulatedChart> = new Map([
  [
    'karpenter',
    { definitions: karpenterDefinitions, deployment: ({ release }) => release, render: renderKarpenterChart },
  ],
])

const anyChart: SimulatedChart = {
  definitions: () => [],
  deployment: ({ release, values }) => textIn(values, 'fullnameOverride') ?? release,
  render: (input) => [renderDeployment(input)],
}

export const simulatedChart = (name: string): SimulatedChart => CHARTS.get(name) ?? anyChart

/** The objects of a release, with the marks of Helm. */
export function renderSimulatedChart(input: ChartInput): readonly AnyObject[] {
  return simulatedChart(input.chart)
    .render(input)
    .map((object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        labels: {
          ...object.metadata.labels,
          ...simulated,
          'app.kubernetes.io/managed-by': 'Helm',
          'app.kubernetes.io/version': input.version,
        },
        annotations: {
          ...object.metadata.annotations,
          'meta.helm.sh/release-name': input.release,
          'meta.helm.sh/release-namespace': input.namespace,
        },
      },
    }))
}

function renderDeployment(input: ChartInput): AnyObject {
  const { chart, release, namespace, version, values } = input
  const labels = { 'app.kubernetes.io/name': chart, 'app.kubernetes.io/instance': release }
  const replicas = values['replicaCount'] ?? values['replicas']
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace, name: anyChart.deployment(input), labels },
    spec: {
      replicas: typeof replicas === 'number' ? replicas : 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          ...(isPlainObject(values['nodeSelector']) ? { nodeSelector: values['nodeSelector'] } : {}),
          ...(Array.isArray(values['tolerations']) ? { tolerations: values['tolerations'] } : {}),
          containers: [{ name: chart, image: `simulated/${chart}:${version}` }],
        },
      },
    },
  }
  return deployment
}

function textIn(values: ChartInput['values'], name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
