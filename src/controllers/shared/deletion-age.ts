// How long the oldest deletion of a kind has been under way, from what the informers hold.
import type { Clock, Metrics } from '#lib'

interface Deleted {
  readonly deletedAt: string | undefined
}

export function deletionAge(metrics: Metrics, clock: Clock, kind: string, all: () => readonly Deleted[]): void {
  const seconds = ({ deletedAt }: Deleted) =>
    deletedAt === undefined ? 0 : (clock.now() - Date.parse(deletedAt)) / 1000
  metrics
    .gauge({
      name: 'capt_deletion_oldest_seconds',
      about: 'How long the oldest deletion that has not ended is under way, by kind.',
      labels: ['kind'],
    })
    .sample({ kind }, () => Math.max(0, ...all().map(seconds)))
}
