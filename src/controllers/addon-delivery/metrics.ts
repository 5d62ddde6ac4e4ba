// Numbers about the stages of add-ons, taken from what the informers hold: nothing is asked of the API for them.
import { AddonDelivery } from '#api'
import type { Informers } from '#kube'
import type { Clock, Metrics } from '#lib'
import { deletionAge } from '../shared/deletion-age.ts'
import { summarizeDelivery } from './summaries.ts'

const STATES = ['NotWanted', 'Waiting', 'Delivering', 'Checking', 'Healthy', 'Failed', 'Removing'] as const

/** An informer of AddonDelivery must be registered already. */
export function measureStages(informers: Informers, metrics: Metrics, clock: Clock): void {
  const deliveries = () => informers.summaries(AddonDelivery, summarizeDelivery)
  const stages = metrics.gauge({
    name: 'capt_addon_stages',
    about: 'Stages of add-on deliveries by state.',
    labels: ['state'],
  })
  for (const state of STATES)
    stages.sample(
      { state },
      () =>
        deliveries()
          .flatMap(({ stageStates }) => stageStates)
          .filter((one) => one === state).length,
    )
  deletionAge(metrics, clock, 'AddonDelivery', deliveries)
}
