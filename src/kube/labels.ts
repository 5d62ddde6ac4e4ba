// Label selectors of the client and the cache, refused with a hint. Pure.
import { matchesSelector, parseSelector } from '#lib'
import { KubeError } from './port.ts'

export function matchesLabels(labels: Readonly<Record<string, string>> | undefined, selector = ''): boolean {
  const refuse = (part: string) =>
    new KubeError('Invalid', `labelSelector: "${part}" is not a requirement`, {
      hint: 'write requirements like app=web, tier!=db, env in (a,b), ready or !ready, joined by commas',
    })
  return matchesSelector({ matchExpressions: parseSelector(selector, refuse) }, labels)
}
