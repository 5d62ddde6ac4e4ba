// For the tests of the API server: one in a temporary folder, and the CRDs that they use.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiServer, type ApiServerOptions, startApiServer } from './server.ts'

export interface Started {
  readonly server: ApiServer
  readonly dataDir: string
  /** Stops the server and opens the same folder again. */
  restart(options?: Partial<ApiServerOptions>): Promise<ApiServer>
  end(): Promise<void>
}

export async function startInTempFolder(options: Partial<ApiServerOptions> = {}): Promise<Started> {
  const dataDir = mkdtempSync(join(tmpdir(), 'capt-apiserver-'))
  let server = await startApiServer({ dataDir, ...options })
  return {
    get server() {
      return server
    },
    dataDir,
    async restart(changed = {}) {
      await server.close()
      server = await startApiServer({ dataDir, ...options, ...changed })
      return server
    },
    async end() {
      await server.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A namespaced kind of example.com/v1 with this schema of its spec, and nothing else. */
export const specCrd = (kind: string, spec: object) => {
  const singular = kind.toLowerCase()
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: `${singular}s`, singular, kind, listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', ...spec } } } },
        },
      ],
    },
  }
}

/** A small kind with most of what a CRD can say. */
export const widgetCrd = (over: object = {}, version: object = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'], categories: ['all'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Colour', type: 'string', jsonPath: '.spec.colour', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A widget is a thing to test with.',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                description: 'What the widget should be.',
                required: ['size'],
                'x-kubernetes-validations': [{ rule: 'self.size <= 10', message: 'size must not be more than ten' }],
                properties: {
                  size: { type: 'integer', description: 'How big it is.' },
                  colour: { type: 'string', default: 'red', enum: ['red', 'green'], description: 'Its colour.' },
                  replicas: { type: 'integer' },
                  parts: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, weight: { type: 'integer' } },
                    },
                  },
                },
              },
              status: {
                type: 'object',
                properties: {
                  replicas: { type: 'integer' },
                  conditions: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                    items: {
                      type: 'object',
                      required: ['type', 'status'],
                      properties: { type: { type: 'string' }, status: { type: 'string' }, reason: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
        ...version,
      },
    ],
    ...over,
  },
})

export const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets'

export const widget = (name: string, spec: object = { size: 1 }, metadata: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, ...metadata },
  spec,
})
