// Which form the client wants: plain JSON, a Table for people, metadata alone, or aggregated discovery.
export type Form =
  | { readonly is: 'json' }
  | { readonly is: 'yaml' }
  | { readonly is: 'table'; readonly version: string }
  | { readonly is: 'metadata'; readonly list: boolean; readonly version: string }
  | { readonly is: 'discovery'; readonly version: 'v2' | 'v2beta1' }

interface Offer {
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
  readonly weight: number
}

/** Undefined when nothing that we speak is acceptable. */
export function negotiate(accept: string | undefined): Form | undefined {
  if (accept === undefined || accept.trim() === '') return { is: 'json' }
  const offers = accept.split(',').map(parseOffer)
  offers.sort((a, b) => b.weight - a.weight)
  for (const offer of offers) {
    const form = toForm(offer)
    if (form) return form
  }
  return undefined
}

function parseOffer(text: string): Offer {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim())
  const parameters = Object.fromEntries(rest.map((part) => part.split('=', 2) as [string, string]))
  return { type: type.toLowerCase(), parameters, weight: Number(parameters['q'] ?? 1) }
}

function toForm({ type, parameters }: Offer): Form | undefined {
  if (type === 'application/yaml') return { is: 'yaml' }
  if (!['application/json', 'application/*', '*/*'].includes(type)) return undefined
  const { as, g, v = 'v1' } = parameters
  if (as === undefined) return { is: 'json' }
  if (as === 'APIGroupDiscoveryList' && g === 'apidiscovery.k8s.io') {
    return v === 'v2' || v === 'v2beta1' ? { is: 'discovery', version: v } : undefined
  }
  if (g !== 'meta.k8s.io') return undefined
  if (v !== 'v1' && v !== 'v1beta1') return undefined
  if (as === 'Table') return { is: 'table', version: v }
  if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') {
    return { is: 'metadata', list: as === 'PartialObjectMetadataList', version: v }
  }
  return undefined
}
