// The page in the browser. Other modules import its messages alone; the page itself is bundled by scripts/build.ts.
export type {
  ClusterSections,
  FleetRow,
  Hello,
  Messages,
  NamedStop,
  PlanMessage,
  PlanSummary,
  RunView,
  StageView,
  TimelineEntry,
} from './messages.ts'
