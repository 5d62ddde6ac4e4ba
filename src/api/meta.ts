// Schema parts that several kinds share.
import type { Column, Kind } from './define-kind.ts'
import * as s from './schema/build.ts'

const condition = s.object(
  {
    type: s.string({ about: 'Kind of condition, in CamelCase.', maxLength: 316 }),
    status: s.string({ enum: ['True', 'False', 'Unknown'], about: 'Whether the condition holds.' }),
    reason: s.string({
      about: 'Why, as one CamelCase word that programs may match.',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: s.string({ about: 'Why, for people.', maxLength: 32768 }),
    lastTransitionTime: s.time({ about: 'When the status last changed.' }),
    observedGeneration: s.integer({
      format: 'int64',
      minimum: 0,
      about: 'Generation of the object that the condition speaks of.',
    }),
  },
  { required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'] },
)

export const conditions = s.list(condition, {
  about: 'What is true about the object now. Ready is the summary.',
  listType: 'map',
  mapKeys: ['type'],
})

/** Reference to an object of a known kind; without a namespace it means the namespace of the referring object. */
export function objectRef(about: string) {
  return s.object(
    {
      name: s.string({ about: 'Name of the object.', minLength: 1, maxLength: 253 }),
      namespace: s.string({ about: 'Namespace of the object; the own namespace when left out.', maxLength: 63 }),
    },
    { required: ['name'], about },
  )
}

/** Labels and annotations of objects made from a template. */
export const templateMetadata = s.object(
  {
    labels: s.map(s.string(), { about: 'Labels of every object made from this template.' }),
    annotations: s.map(s.string(), { about: 'Annotations of every object made from this template.' }),
  },
  { about: 'Metadata that reaches every object made from this template.' },
)

interface TemplateOptions<S> {
  readonly about: string
  /** Of the objects that are made. */
  readonly spec: S
  readonly columns?: readonly Column[]
}

/** The definition of the kind that objects of a kind are made from. */
export function templateKindOf<S extends s.Node<unknown, boolean>>(
  { group, version, kind }: Pick<Kind, 'group' | 'version' | 'kind'>,
  { about, spec, columns = [{ name: 'Age', path: '.metadata.creationTimestamp', type: 'date' }] }: TemplateOptions<S>,
) {
  const template = s.object({ metadata: templateMetadata, spec }, { required: ['spec'], about: `The ${kind} to make.` })
  return {
    ...{ group, version, about, columns },
    kind: `${kind}Template`,
    categories: ['cluster-api'],
    spec: s.object({ template }, { required: ['template'], about: 'Desired state.' }),
  }
}
