// The alerts and the dashboard of config/prometheus as data, and a case for every alert: the series of a broken thing.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Alert {
  readonly alert: string
  readonly expr: string
  /** How long the expression holds before the alert fires. */
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

export const rules = (parse(read('config/prometheus/rules.yaml')) as { spec: { groups: { rules: Alert[] }[] } }).spec
export const alerts: readonly Alert[] = rules.groups.flatMap((group) => group.rules)

const dashboard = JSON.parse(read('config/prometheus/dashboard.json')) as {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}
export const dashboardQueries: readonly string[] = dashboard.panels.flatMap(({ targets }) =>
  targets.map(({ expr }) => expr),
)

const METRIC = /\b(?:capt|workqueue|controller_runtime)_[a-z_]+\b/g
export const metricsIn = (query: string): string[] =>
  (query.match(METRIC) ?? []).map((name) => name.replace(/_(bucket|sum|count)$/, ''))

/** Names that the program registers: every literal in src that looks like one. */
export function registeredMetrics(): ReadonlySet<string> {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  return new Set(
    sources.flatMap((path) =>
      [...read(`src/${path}`).matchAll(/'((?:capt|workqueue|controller_runtime)_[a-z_]+)'/g)].map((match) => match[1]!),
    ),
  )
}

interface AlertCase {
  /** One value a minute, in promtool's notation. */
  readonly series: Readonly<Record<string, string>>
  readonly firesAt: string
  /** Labels beside those of the rule; undefined means that any will do. */
  readonly labels?: Readonly<Record<string, string>>
}

/** What each alert sees when the thing is broken. The healthy series beside it fire nothing. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  CaptAbsent: { series: { 'capt_build_info{version="1.2.3"}': '1 _x20' }, firesAt: '20m' },
  CaptRunsFail: { series: { 'capt_runs_total{verb="apply",result="failed"}': '0+1x30' }, firesAt: '25m' },
  CaptWorkspaceStalled: {
    series: { 'capt_workspaces{phase="Stalled"}': '0 1x30' },
    firesAt: '20m',
    labels: { phase: 'Stalled' },
  },
  CaptRunTooLong: { series: { capt_run_oldest_seconds: '7100+60x30' }, firesAt: '15m' },
  CaptRunQueueStuck: { series: { capt_run_queue_oldest_seconds: '1700+60x30' }, firesAt: '15m' },
  CaptRunnerUnreachable: { series: { capt_runs_unreachable: '0 1x30' }, firesAt: '15m' },
  CaptLockAwaited: { series: { capt_locks_awaited: '0 1x60' }, firesAt: '40m' },
  CaptDrift: {
    series: { 'capt_drift_workspaces{result="Drifted"}': '0 1x60' },
    firesAt: '40m',
    labels: { result: 'Drifted' },
  },
  CaptKubeconfigExpired: {
    // Time begins at zero in promtool: the token ends after ten minutes.
    series: { 'capt_kubeconfig_expiry_timestamp_seconds{namespace="default",cluster="demo"}': '600x40' },
    firesAt: '20m',
    labels: { namespace: 'default', cluster: 'demo' },
  },
  CaptDeletionTooLong: {
    series: { 'capt_deletion_oldest_seconds{kind="AddonDelivery"}': '7100+60x40' },
    firesAt: '20m',
    labels: { kind: 'AddonDelivery' },
  },
  CaptAddonStageFailed: {
    series: { 'capt_addon_stages{state="Failed"}': '0 2x30' },
    firesAt: '20m',
    labels: { state: 'Failed' },
  },
  CaptReconcileTooLong: {
    series: { 'workqueue_longest_running_processor_seconds{name="captcluster",controller="captcluster"}': '0+60x30' },
    firesAt: '15m',
    labels: { controller: 'captcluster' },
  },
  CaptReconcilesFail: {
    series: { 'controller_runtime_reconcile_errors_total{controller="captcluster"}': '0+30x60' },
    firesAt: '40m',
    labels: { controller: 'captcluster' },
  },
}
