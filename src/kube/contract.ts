// What Objects and Informers promise, as cases that run over the memory cluster and over real servers alike.
// Each case works in a namespace of its own.
import { randomBytes } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { NamespaceKind } from '#api'
import { informerCases, type Opened } from './contract/informers.ts'
import { type InNamespace, objectCases } from './contract/objects.ts'
import { serveWidgets } from './contract/widgets.ts'

export function objectsContract(name: string, open: () => Promise<Opened>): void {
  describe(`objects and informers over ${name}`, () => {
    let home: Opened
    before(async () => {
      home = await open()
      await serveWidgets(home.objects)
    })
    after(() => home.close())

    const inNamespace: InNamespace = async (work) => {
      const namespace = `contract-${randomBytes(4).toString('hex')}`
      await home.objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      try {
        await work(namespace, home.objects)
      } finally {
        await home.objects.delete(NamespaceKind, { name: namespace })
      }
    }
    objectCases(inNamespace)
    informerCases(inNamespace, open)
  })
}
