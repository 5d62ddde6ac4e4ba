// The acceptance run without AWS: the same story and the same report over the simulated cloud.
import { type AnyObject, CAPTControlPlane, clusterKind, type Manifest, WorkspaceTemplateApply } from '#api'
import { lineOf } from '#catalog'
import { dollarsAnHour, simulatedLimitOf } from '../../acceptance/estimate.ts'
import { ACCEPTANCE_OPTIONS, budgetOf, runAcceptance, timeoutOf } from '../../acceptance/run.ts'
import type { Command } from '../../command.ts'
import { examplePath } from '../../demo/examples.ts'
import { loadManifests } from '../../sources.ts'

const { yes: _yes, ...options } = ACCEPTANCE_OPTIONS

export const command: Command = {
  name: 'acceptance simulation',
  summary: 'Prove the whole story on this machine: create, Flux, Karpenter, a node for a pod, delete',
  examples: {
    'acceptance simulation': 'Transcript and report in ./capt-acceptance',
    'acceptance simulation --data ./proof --timeout 5m': 'Elsewhere, and not for long',
  },
  options,
  onSignal: 'stops',
  /** 0: passed. 1: failed. 3: not within budget or time. */
  async run(args, io) {
    const today = new Date(io.clock.now()).toISOString().slice(0, 10)
    const manifests = await loadManifests([examplePath('simulation.yaml')], io)
    const version = versionIn(manifests)
    const rate = dollarsAnHour({ region: 'us-east-1', version, today })
    return await runAcceptance(
      {
        where: 'simulation',
        version,
        isPaid: false,
        dollarsAnHour: rate,
        limit: simulatedLimitOf(budgetOf(args), timeoutOf(args), rate),
        cluster: 'demo',
        manifests,
        simulateWithoutTerraform: true,
        preflight: async () => true,
        async leftovers({ objects }) {
          const found: string[] = []
          for (const kind of [clusterKind('v1beta2'), WorkspaceTemplateApply])
            for await (const { metadata } of objects.list<AnyObject>(kind)) found.push(`${kind.kind}/${metadata.name}`)
          return found
        },
      },
      args,
      io,
    )
  },
}

function versionIn(manifests: readonly Manifest[]): string {
  const plane = manifests.find(({ object }) => object.kind === CAPTControlPlane.kind)?.object
  return lineOf((plane as unknown as CAPTControlPlane).spec.version)
}
