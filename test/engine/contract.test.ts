// The engine's case file over the real programs: Terraform, and OpenTofu where there is one.
import { findTerraform } from '#engine'
import { engineContract } from '../../src/engine/contract.ts'
import { engineWorld } from '../support/engine/world.ts'
import { reportMissing } from '../support/tools.ts'

for (const binary of ['terraform', 'tofu']) {
  const found = await findTerraform({ binary }).catch(() => undefined)
  if (!found) reportMissing(binary)
  else
    engineContract(`${found.name} ${found.version}`, async () => {
      const world = await engineWorld()
      const engine = await world.engine({ terraform: { binary } })
      return { objects: world.connection.objects, engine, close: () => world.close() }
    })
}
