// Objects of a real server as tests poke at them: every field may be there.
// biome-ignore lint/suspicious/noExplicitAny: tests read foreign objects of many kinds and versions
export type Loose = Record<string, any>
