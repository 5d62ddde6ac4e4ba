// Which Flux a release of the community chart `flux2` really is: chart 2.1.0 is Flux 0.37, not Flux 2.1.
import { lineOf, parseVersion } from '../version.ts'

const CHART_TO_FLUX: Readonly<Record<string, string>> = {
  '2.1': '0.37',
  '2.10': '2.1',
  '2.12': '2.2',
  '2.13': '2.3',
  '2.14': '2.4',
  '2.15': '2.5',
  '2.16': '2.6',
  '2.17': '2.7',
  '2.18': '2.8',
}

/** The Flux line inside a chart version; undefined when capt does not know that chart. */
export function fluxLineOfChart(chartVersion: string): string | undefined {
  return parseVersion(chartVersion) ? CHART_TO_FLUX[lineOf(chartVersion)] : undefined
}
