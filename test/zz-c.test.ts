import { engineContract } from '../src/engine/contract.ts'
import { engineWorld } from './engine-world.ts'
for (let i = 0; i < 12; i++)
    engineContract(`terraform ${i}`, async () => {
      const world = await engineWorld()
      const engine = await world.engine({ log: { debug() {}, info: (...a) => console.log('I', ...a), warn: (...a) => console.log('W', ...a), error: (...a) => console.log('E', ...a), with() { return this as any } } })
      return { objects: world.connection.objects, engine, close: () => world.close() }
    })
