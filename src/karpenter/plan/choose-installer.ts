// Decides what brings the chart into the cluster: the Flux that runs there, the helm of the person, or, when they ask for it,
// a Flux that capt brings along. Pure.
import { defaultVersionsFor, fluxVersions } from '#catalog'
import { CaptError } from '#lib'
import { hasBroughtFlux } from '../journal.ts'
import type { Survey } from '../survey/survey.ts'
import { foundRelease } from './controller-role.ts'
import type { Chosen, Options, Refuse } from './options.ts'

export interface InstallerChoice {
  readonly installer: Chosen<'flux' | 'helm'>
  /** Version of the Flux that capt brings or has brought; undefined when it is somebody else's, or helm installs. */
  readonly ownFlux: string | undefined
}

const CODE = 'CAPT_KARPENTER_NO_INSTALLER'
const FLAG = '--with-flux'

export function chooseInstaller(survey: Survey, options: Options, refuse: Refuse): InstallerChoice {
  const { kubernetes, helm } = survey
  const { flux, journal } = kubernetes
  const by = (value: 'flux' | 'helm', reason: string, ownFlux?: string): InstallerChoice => ({
    installer: { value, reason },
    ownFlux,
  })
  const isOurs = journal !== undefined && hasBroughtFlux(journal)
  const installed = journal?.made.find(({ type }) => type === 'release')?.value
  // A release that helm brought stays with helm, whatever comes into the cluster later.
  if (installed === 'helm') {
    if (helm === undefined) refuse(CODE, 'helm', 'helm installed Karpenter here, and is not on the PATH', INSTALL_HELM)
    if (options.withFlux) refuse(CODE, FLAG, 'helm installed Karpenter here', `leave ${FLAG} out, or uninstall first`)
    return by('helm', 'installed by capt with helm')
  }
  if (foundRelease(survey)) return by('helm', 'the release that runs stays with what installed it')
  if (isOurs) return by('flux', 'Flux was brought by capt', ownVersion(survey, options, refuse))
  if (flux?.isRunning) return by('flux', `Flux ${flux.version} runs in the cluster`)
  if (options.withFlux) {
    refuseTraces(kubernetes.fluxTraces, refuse)
    return by('flux', `brought by capt, chosen by ${FLAG}`, ownVersion(survey, options, refuse))
  }
  if (helm !== undefined) return by('helm', 'helm is on the PATH, and no Flux runs in the cluster')
  refuse(
    CODE,
    'helm',
    'no Flux runs in the cluster, and there is no helm on the PATH',
    `either ${INSTALL_HELM}, or let capt bring Flux into the cluster: ${FLAG}`,
  )
  return by('helm', 'refused')
}

const INSTALL_HELM = 'install helm 3.8 or newer'

/** Capt never writes over a Flux of somebody else, also when it is broken or half removed. */
function refuseTraces(traces: readonly string[], refuse: Refuse): void {
  if (traces.length > 0)
    refuse(
      'CAPT_KARPENTER_FOREIGN',
      FLAG,
      `a Flux that capt did not bring left ${traces.join(', ')}`,
      'bring that Flux in order (flux check), or remove it (flux uninstall), then run the command again',
    )
}

function ownVersion({ cluster, kubernetes }: Survey, { isUpgrade }: Options, refuse: Refuse): string {
  const running = kubernetes.flux?.version
  if (running !== undefined && !isUpgrade && fluxVersions.includes(running)) return running
  try {
    return defaultVersionsFor(cluster.version, { fluxBundles: fluxVersions }).flux
  } catch (error) {
    if (!(error instanceof CaptError)) throw error
    refuse(error.code, FLAG, error.message, `${INSTALL_HELM}, and leave ${FLAG} out`)
    return fluxVersions[0]!
  }
}
