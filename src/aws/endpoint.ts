// Where calls go when the environment names other endpoints than AWS's own, by the variables that every AWS SDK reads.
import type { Service } from './partition.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** How the variables spell each service. */
const SERVICE_NAMES: Partial<Record<Service, string>> = {
  tagging: 'RESOURCE_GROUPS_TAGGING_API',
  elasticloadbalancing: 'ELASTIC_LOAD_BALANCING',
  events: 'EVENTBRIDGE',
}

/** The endpoint of one service, else that of all services; undefined for AWS itself. */
export function endpointOf(env: Environment, service: Service): string | undefined {
  if (env['AWS_IGNORE_CONFIGURED_ENDPOINT_URLS']?.toLowerCase() === 'true') return undefined
  const name = SERVICE_NAMES[service] ?? service.toUpperCase()
  return env[`AWS_ENDPOINT_URL_${name}`] || env['AWS_ENDPOINT_URL'] || undefined
}
