// Where the embedded API answers otherwise than a kube-apiserver, and why that is right. The page
// docs/compatibility-embedded.md is made from this list, and the comparison on the real server is held to it: a difference
// that is not here fails, and so does one that is here and has gone.
import { SEEN } from './seen.ts'

export interface Difference {
  readonly name: DifferenceName
  readonly title: string
  readonly ours: string
  readonly real: string
  readonly why: string
  /** Lines of a comparison that it explains. */
  readonly lines: RegExp
  /** Steps in which it shows. */
  readonly seen: readonly string[]
}

export type DifferenceName = keyof typeof SEEN

const known = (
  name: DifferenceName,
  title: string,
  lines: RegExp,
  texts: Pick<Difference, 'ours' | 'real' | 'why'>,
): Difference => ({ name, title, lines, ...texts, seen: SEEN[name] })

export const DIFFERENCES: readonly Difference[] = [
  known('wording', 'The words of a refusal', /^body\.(message|details)/, {
    ours: 'says what is wrong with the field, without the inner types of a Go program, and often only the first fault',
    real: 'prints Go values and the errors of Go decoders, and lists follow-up faults',
    why: 'Clients go by code and reason, which are the same; the words are for people.',
  }),
  known('owners', 'Owners of fields that the server fills in', /managedFields/, {
    ours: 'names no owner for most of what the server fills in, and none for what it writes later by itself',
    real: 'names its own controllers as owners of what they write, and marks some structures of built-in kinds as owned whole',
    why: 'Ownership decides conflicts of server-side apply; what the server fills in is not applied by anybody. For what people and controllers write, owners are compared and equal.',
  }),
  known('defaults', 'Defaults of built-in kinds', /^body\.(?!message|reason|code)[^ ]*: ours undefined, real /, {
    ours: 'fills the defaults that capt and the controllers it plays rely on',
    real: 'fills every default, also those for schedulers, kubelets, network and storage, and writes empty values out',
    why: 'Built-in kinds are data here: nobody schedules, routes or mounts. An absent field means its default to every client.',
  }),
  known('null-lists', 'Empty lists of built-in kinds', /ours \[\], real null/, {
    ours: 'keeps an empty list that was sent',
    real: 'turns it into null',
    why: 'Both are read as an empty list.',
  }),
  known('few-checks', 'Checks of built-in kinds beyond their types', /^(code|body)/, {
    ours: 'checks names, types, what is immutable in Secrets and ConfigMaps, selectors, Leases and Events',
    real: 'checks every field of every kind, for instance that a Service has ports',
    why: 'capt writes none of the objects that only the real server refuses. Custom kinds are checked in full.',
  }),
  known('pods', 'Pods', /^(code|body)/, {
    ours: 'lets the spec of a Pod be changed, and deletes a Pod without a grace period at once',
    real: 'allows only a few fields of a Pod to change, and answers its deletion with the Pod itself',
    why: 'Pods are data here: the simulation plays their nodes.',
  }),
  known('deprecation', 'Warnings about old kinds', /^warning/, {
    ours: 'gives the deprecation warnings of custom kinds',
    real: 'also warns about built-in kinds such as Endpoints',
    why: 'Nothing in capt uses them.',
  }),
  known('columns', 'Columns of kinds that are seldom listed', /^columns\./, {
    ours: 'shows name and age, or fewer columns',
    real: 'has columns for every kind',
    why: 'They are only for people; kinds that capt writes show the same columns.',
  }),
  known('column-help', 'Help texts of columns', /columnDefinitions\.\d+\.description/, {
    ours: 'one short sentence of its own',
    real: 'the documentation of the field',
    why: 'No client shows them.',
  }),
  known('initial-events', 'Watches that begin with what there is', /./, {
    ours: 'serves `sendInitialEvents`, with the bookmark at the end',
    real: 'refuses it in 1.33 unless the feature gate WatchList is on',
    why: 'Newer servers serve it, and clients ask the old way when it is refused.',
  }),
  known('watch-from-nonsense', 'A watch from a version that is no number', /^(code|body)/, {
    ours: 'refuses with 400 BadRequest',
    real: 'answers 500 without a reason',
    why: 'It is the fault of the client, and a list with the same fault is answered with 400 by both.',
  }),
  known('old-watch-address', 'Watches under /watch/', /^(code|body)/, {
    ours: 'not served',
    real: 'still served, deprecated since 1.11',
    why: 'No supported client uses them.',
  }),
  known('definition-status', 'The status of a definition', /^body\.status/, {
    ours: 'decides about names within the write, and leaves out names that were not accepted',
    real: 'decides a moment later, one name after the other',
    why: 'A definition is served from the moment its write is acknowledged; who waits for Established sees the same.',
  }),
  known('anonymous', 'Requests without a token', /^(code|body)/, {
    ours: 'refuses with 401',
    real: 'takes them for system:anonymous and refuses with 403',
    why: 'There is no anonymous access to a server on a laptop. Health and version are answered without a token by both.',
  }),
  known('reviews', 'Who may do what', /^(warning|body)/, {
    ours: 'knows one token, which may do everything, and says so in every review; never gives a token back',
    real: 'asks its authorizers',
    why: 'Roles and bindings are data here: what a service account may do is proven on a real server.',
  }),
  known('parts', 'Parts of objects that need a node', /parts\.\w+: ours undefined/, {
    ours: 'serves status, scale, finalize, eviction and binding',
    real: 'also serves logs, exec, attach, port-forward, proxies, resize, ephemeral containers and service account tokens',
    why: 'There are no nodes and no containers behind it.',
  }),
  known('discovery-methods', 'Other methods than GET on discovery', /^(code|type|body)/, {
    ours: 'answers HEAD like GET, and everything else with 404',
    real: 'answers some documents whatever the method, and others with 405',
    why: 'No client sends them.',
  }),
  known('protobuf', 'Answers in protobuf', /^(code|type|body)/, {
    ours: 'reads protobuf and answers in JSON or YAML; asked for protobuf alone, it says 406',
    real: 'answers in protobuf too',
    why: 'Every client that prefers protobuf also accepts JSON.',
  }),
  known('openapi-v2', 'OpenAPI v2', /^(type|body)/, {
    ours: 'an empty document',
    real: 'every kind',
    why: 'kubectl and client-go use v3, which has every kind; v2 is asked for when a kind is in neither.',
  }),
  known('no-effect', 'Kinds that are stored without effect', /^warning/, {
    ours: 'warns clients that write an admission webhook, a quota, a limit range or an API service that it has no effect',
    real: 'acts on them',
    why: 'A policy that is believed to hold and does not is worse than none. Conversion webhooks are not called either: requests in another than the storage version are refused.',
  }),
  known('unserved-group', 'Groups that are not served', /^(type|body)/, {
    ours: 'answers 404 with a Status',
    real: 'answers 404 with plain text',
    why: 'Clients read a Status, and say that the resource is missing instead of failing on the form.',
  }),
  known('metrics', 'Metrics of the API server', /ours 404/, {
    ours: 'not served',
    real: 'served',
    why: 'The manager has its own metrics.',
  }),
  known('outside', 'Paths that lead nowhere', /^(type|body)/, {
    ours: 'answers a broken path with a Status, and an unknown description with a line of text',
    real: 'answers the first with text and the second with nothing',
    why: 'The codes are the same.',
  }),
]

/** The differences that are known to show in a step. */
export const differencesIn = (step: string): readonly Difference[] =>
  DIFFERENCES.filter(({ seen }) => seen.includes(step))
